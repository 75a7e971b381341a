import { createHmac, timingSafeEqual } from "node:crypto";
import { ProviderError, type WebhookRequest } from "./port.ts";

/** Seconds that a webhook may be old, or early. */
const toleranceS = 300;

/**
 * Verifies a webhook after the Standard Webhooks specification: one of the `v1` signatures must be the HMAC-SHA256 of
 * `<id>.<timestamp>.<body>`. Throws class `auth`.
 */
export function verifyStandardWebhook(
  secret: string,
  { rawBody, headers }: WebhookRequest,
  nowMs: number = Date.now(),
): void {
  const [id, timestamp, signatures] = ["webhook-id", "webhook-timestamp", "webhook-signature"].map(
    (name) => headers[name] ?? "",
  );
  if (!id || !timestamp || !signatures) throw new ProviderError("auth", "The webhook is not signed.");
  checkTimestamp(timestamp, nowMs);
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const expected = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(rawBody).digest();
  const isSigned = signatures.split(" ").some((signature) => {
    const given = Buffer.from(signature.replace(/^v1,/, ""), "base64");
    return (
      signature.startsWith("v1,") && given.length === expected.length && timingSafeEqual(given, expected)
    );
  });
  if (!isSigned) throw new ProviderError("auth", "The signature of the webhook is wrong.");
}

/** Refuses a time (seconds since 1970) that is too far away: a recorded webhook cannot be sent again later. */
export function checkTimestamp(timestamp: string, nowMs: number = Date.now()): void {
  const distance = Math.abs(nowMs / 1_000 - Number(timestamp));
  if (!(distance <= toleranceS)) throw new ProviderError("auth", "The time of the webhook is too far away.");
}
