import { createHash, createHmac, generateKeyPairSync, randomUUID, sign } from "node:crypto";

/** Secrets that the simulators sign with. */
export const replicateSecret = "whsec_ABEiM0RVZneImaq7zN3u/wARIjNEVWZ3iJmqu8zd7v8=";
export const kieSecret = "kie-test-hmac-key";

/** The key of the simulated fal; a new one takes its place at a rotation. */
export const falKeys = { current: generateKeyPairSync("ed25519") };

/** As the Standard Webhooks specification says: HMAC over id, time and body. */
export function standardHeaders(secret: string, body: string): Record<string, string> {
  const id = `msg_${randomUUID()}`;
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const key = Buffer.from(secret.replace("whsec_", ""), "base64");
  const signature = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": `v1,${signature}` };
}

/** Ed25519 over the ids, the time and the hash of the body. */
export function falHeaders(id: string, body: string): Record<string, string> {
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const digest = createHash("sha256").update(body).digest("hex");
  const message = Buffer.from([id, "github|1", timestamp, digest].join("\n"));
  return {
    "x-fal-webhook-request-id": id,
    "x-fal-webhook-user-id": "github|1",
    "x-fal-webhook-timestamp": timestamp,
    "x-fal-webhook-signature": sign(null, message, falKeys.current.privateKey).toString("hex"),
  };
}

/** HMAC over the id and the time; the body is not signed. */
export function kieHeaders(id: string): Record<string, string> {
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const signature = createHmac("sha256", kieSecret).update(`${id}.${timestamp}`).digest("base64");
  return { "x-webhook-timestamp": timestamp, "x-webhook-signature": signature };
}
