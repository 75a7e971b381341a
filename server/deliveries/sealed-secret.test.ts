import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { schema } from "@atelier/server/db";
import {
  oweCompleted,
  readDelivery,
  startWebhookReceiver,
  type WebhookReceiver,
} from "@atelier/testing/deliveries";
import { addOwner, type TestOwner } from "@atelier/testing/jobs";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { newId } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { deliver } from "./deliver.ts";
import { createEndpoint, listEndpoints, rotateSecret } from "./endpoints.ts";
import { findDue, findOwedOf } from "./ledger.ts";
import { openSecret, sealSecret, sealSecrets } from "./sealed-secret.ts";
import { signatureOf, toSecret, webhookChannel } from "./webhook.ts";

const { webhookEndpoints } = schema;

let opened: TestServices;
let services: Services;
/** A worker elsewhere, with an `AUTH_SECRET` of its own. */
let elsewhere: Services;
let receiver: WebhookReceiver;
beforeAll(async () => {
  opened = await createTestServices({ env: { ALLOWED_PRIVATE_HOSTS: "127.0.0.1" } });
  ({ services } = opened);
  const AUTH_SECRET = "a-worker-elsewhere-has-made-this-one-for-itself";
  elsewhere = { ...services, env: { ...services.env, AUTH_SECRET } };
  receiver = await startWebhookReceiver();
});
afterAll(async () => {
  await receiver.close();
  await opened.close();
});

let made = 0;
const nextUrl = () => `${receiver.url}/sealed-${(made += 1)}`;

/** An endpoint as an older version stored it. */
async function addPlain(owner: TestOwner, previousSecret: string | null = null) {
  const id = newId();
  const secret = toSecret(Buffer.alloc(32, made + 1));
  const previousUntil = previousSecret === null ? null : sql`now() + interval '1 hour'`;
  const row = { id, ownerId: owner.userId, url: nextUrl(), secret, previousSecret };
  await services.db.insert(webhookEndpoints).values({ ...row, ...(previousUntil ? { previousUntil } : {}) });
  return row;
}

async function readRow(id: string) {
  const [row] = await services.db.select().from(webhookEndpoints).where(eq(webhookEndpoints.id, id));
  if (!row) throw new Error("no such endpoint");
  return row;
}

const send = (id: string, from: Services) =>
  deliver(from, { id, via: "poll", channels: [webhookChannel], signal: new AbortController().signal });

test("S9 a sealed secret opens with its key, in its row and unchanged, and never looks the same twice", () => {
  const { env } = services;
  const id = newId();
  const secret = "whsec_canary";
  const sealed = sealSecret(env, id, secret);
  expect(openSecret(env, id, sealed)).toBe(secret);
  expect(sealSecret(env, id, secret)).not.toBe(sealed);
  expect(openSecret(env, newId(), sealed)).toBeNull();
  expect(openSecret(elsewhere.env, id, sealed)).toBeNull();
  expect(openSecret({ AUTH_SECRET: undefined }, id, sealed)).toBeNull();
  expect(() => sealSecret({ AUTH_SECRET: undefined }, id, secret)).toThrow(/AUTH_SECRET/);
  const bytes = Buffer.from(sealed.slice("sealed:".length), "base64url");
  expect(bytes[0]).toBe(1);
  expect(bytes.includes("canary")).toBe(false);
  const opening = Array.from(bytes, (_, at) => at).filter((at) => {
    const changed = Buffer.from(bytes);
    changed[at] = (changed[at] ?? 0) ^ 1;
    return openSecret(env, id, `sealed:${changed.toString("base64url")}`) !== null;
  });
  expect(opening).toEqual([]);
  for (const text of ["sealed:", "sealed:AQ", sealed.slice(0, -2), "sealed:%%%"])
    expect(openSecret(env, id, text)).toBeNull();
});

test("S9 new and rotated secrets are in no row as they are", async () => {
  const owner = await addOwner(services);
  const { id, secret } = await createEndpoint(services, { ownerId: owner.userId, url: nextUrl() });
  const { secret: newer } = await rotateSecret(services, { ownerId: owner.userId, id });
  const row = await readRow(id);
  expect(JSON.stringify(row)).not.toContain("whsec_");
  expect([row.secret, row.previousSecret ?? ""].map((one) => openSecret(services.env, id, one))).toEqual([
    newer,
    secret,
  ]);
});

test("S9 secrets that an older version stored as they are sign as before, and are sealed at the next start", async () => {
  const owner = await addOwner(services);
  const before = toSecret(Buffer.alloc(32, 200));
  const plain = await addPlain(owner, before);
  const { id: deliveryId } = await readDelivery(services, await oweCompleted(services, owner));
  expect(await send(deliveryId, services)).toBe("delivered");
  const one = receiver.received.find(({ id }) => id === deliveryId);
  const timestamp = Number(one?.headers["webhook-timestamp"]);
  const content = { id: deliveryId, timestamp, body: one?.body ?? "" };
  expect(one?.headers["webhook-signature"]).toBe(signatureOf(content, [plain.secret, before]));

  expect(await sealSecrets(services)).toBeGreaterThanOrEqual(1);
  expect(await sealSecrets(services)).toBe(0);
  const row = await readRow(plain.id);
  expect([row.secret, row.previousSecret].every((stored) => stored?.startsWith("sealed:"))).toBe(true);
  expect(openSecret(services.env, plain.id, row.secret)).toBe(plain.secret);
  expect(openSecret(services.env, plain.id, row.previousSecret ?? "")).toBe(before);
});

test("S9 a rotation seals what was stored as it is, also before the next start", async () => {
  const owner = await addOwner(services);
  const { id, secret } = await addPlain(owner);
  await rotateSecret(services, { ownerId: owner.userId, id });
  const row = await readRow(id);
  expect(JSON.stringify(row)).not.toContain("whsec_");
  expect(openSecret(services.env, id, row.previousSecret ?? "")).toBe(secret);
});

test("C3 a worker with another AUTH_SECRET leaves webhooks to those that can sign them, and sends none unsigned", async () => {
  const owner = await addOwner(services);
  const { id } = await createEndpoint(services, { ownerId: owner.userId, url: nextUrl() });
  const jobId = await oweCompleted(services, owner);
  const { id: deliveryId } = await readDelivery(services, jobId);
  const due = async (from: Services) => {
    const found = await findDue(from, { limit: 100, perTarget: 9, perOwner: 9, busy: new Map() });
    return [...found, ...(await findOwedOf(from, jobId))].filter((one) => one.id === deliveryId).length;
  };
  expect([await due(elsewhere), await due(services)]).toEqual([0, 2]);
  expect(await listEndpoints(elsewhere, owner.userId)).toMatchObject([{ id, needsNewSecret: true }]);
  expect(await listEndpoints(services, owner.userId)).toMatchObject([{ id, needsNewSecret: false }]);

  expect(await send(deliveryId, elsewhere)).toBe("retry");
  expect(receiver.countOf(deliveryId)).toBe(0);
  expect((await readDelivery(services, jobId)).lastError).toMatch(/AUTH_SECRET/);

  // The studio itself has the other one now: the owner makes a new secret, and what waited is sent.
  const { secret } = await rotateSecret(elsewhere, { ownerId: owner.userId, id });
  expect(await readRow(id)).toMatchObject({ previousSecret: null, previousUntil: null });
  await services.db
    .update(schema.deliveries)
    .set({ nextAttemptAt: sql`now()` })
    .where(eq(schema.deliveries.id, deliveryId));
  expect([await due(elsewhere), await due(services)]).toEqual([2, 0]);
  expect(await send(deliveryId, elsewhere)).toBe("delivered");
  const [one] = receiver.received.filter((received) => received.id === deliveryId);
  const content = {
    id: deliveryId,
    timestamp: Number(one?.headers["webhook-timestamp"]),
    body: one?.body ?? "",
  };
  expect(one?.headers["webhook-signature"]).toBe(signatureOf(content, [secret]));
});
