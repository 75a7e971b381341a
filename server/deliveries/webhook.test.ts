import { createHmac } from "node:crypto";
import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { schema } from "@atelier/server/db";
import {
  addEndpoint,
  oweCompleted,
  readDelivery,
  startWebhookReceiver,
  type WebhookFault,
  type WebhookReceiver,
} from "@atelier/testing/deliveries";
import { addJob, addNode, addOwner, localOffers, type TestOwner } from "@atelier/testing/jobs";
import { captureLog, createTestServices, type TestServices } from "@atelier/testing/services";
import { claim, fail, retry, submit } from "../jobs/index.ts";
import { AppError, newId } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { deliver } from "./deliver.ts";
import {
  createEndpoint,
  deleteEndpoint,
  enableEndpoint,
  listEndpoints,
  rotateSecret,
  testEndpoint,
} from "./endpoints.ts";
import { findOwedOf } from "./ledger.ts";
import { listDeliveries, listDeliveriesSchema } from "./log.ts";
import { openSecret } from "./sealed-secret.ts";
import { signatureOf, webhookChannel } from "./webhook.ts";

const { deliveries, webhookEndpoints } = schema;
const { log, lines } = captureLog();

let opened: TestServices;
let services: Services;
let receiver: WebhookReceiver;
beforeAll(async () => {
  opened = await createTestServices({
    log,
    env: { ALLOWED_PRIVATE_HOSTS: "127.0.0.1", APP_URL: "https://studio.example.test" },
  });
  ({ services } = opened);
  receiver = await startWebhookReceiver();
});
afterAll(async () => {
  await receiver.close();
  await opened.close();
});

const send = (id: string, from = services) =>
  deliver(from, { id, via: "callback", channels: [webhookChannel], signal: new AbortController().signal });

let made = 0;

/** An owner with an endpoint of its own at the receiver. */
async function openEndpoint(faults: readonly WebhookFault[] = []) {
  const owner = await addOwner(services);
  const path = `/hook-${(made += 1)}`;
  receiver.inject(path, faults);
  const endpoint = await addEndpoint(services, owner, `${receiver.url}${path}`);
  return { owner, path, ...endpoint };
}

/** Sends the delivery of a completed job, and returns its row and what became of it. */
async function complete(owner: TestOwner, from = services) {
  const jobId = await oweCompleted(services, owner);
  const { id } = await readDelivery(services, jobId);
  const answer = await send(id, from);
  return { id, jobId, answer, row: await readDelivery(services, jobId) };
}

const sent = (id: string) => receiver.received.filter((one) => one.id === id);

function expectSigned(one: (typeof receiver.received)[number] | undefined, secrets: readonly string[]) {
  const timestamp = String(one?.headers["webhook-timestamp"]);
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.replace("whsec_", ""), "base64");
    return `v1,${createHmac("sha256", key).update(`${one?.id}.${timestamp}.${one?.body}`).digest("base64")}`;
  });
  expect(one?.headers["webhook-signature"]).toBe(signatures.join(" "));
}

test("C2 signatures are those of Standard Webhooks", () => {
  const content = {
    id: "msg_2KWPBgLlAfxdpT2AI54pPJ85f4W",
    timestamp: 1_795_300_000,
    body: '{"type":"job.completed","timestamp":"2026-11-21T00:00:00Z","data":{"id":"j_1"}}',
  };
  expect(signatureOf(content, ["whsec_ABEiM0RVZneImaq7zN3u/wARIjNEVWZ3iJmqu8zd7v8="])).toBe(
    "v1,SW1LsmiEJv0zU0dLe7DeXzqZJWd3MxmyTjVnJdR+IEw=",
  );
});

test("C2 a completed job is posted to the owner's endpoints, signed, with links instead of pictures", async () => {
  const { owner, secret } = await openEndpoint();
  const { id, jobId, answer, row } = await complete(owner);
  expect(answer).toBe("delivered");
  expect(row.deliveredAt).not.toBeNull();
  const [one, ...more] = sent(id);
  expect(more).toEqual([]);
  expectSigned(one, [secret]);
  expect(JSON.parse(one?.body ?? "")).toMatchObject({
    type: "job.completed",
    data: {
      id: jobId,
      kind: "upscale",
      status: "completed",
      error: null,
      url: `https://studio.example.test/jobs/${jobId}`,
      outputs: [],
    },
  });
});

test("C2 a failed job is posted as well, an attempt that is repeated is not", async () => {
  const { owner } = await openEndpoint();
  const queue = newId();
  const nodeId = await addNode(services, { queue });
  const jobId = await addJob(services, { owner, queue });
  const claimed = async () => {
    const job = await claim(services, { nodeId, queue, offers: localOffers });
    return { jobId, attempt: job?.attempt ?? 0, nodeId };
  };
  await fail(services, await claimed(), new AppError("engine_failed"));
  expect(await services.db.$count(deliveries, eq(deliveries.jobId, jobId))).toBe(0);
  await services.db
    .update(schema.jobs)
    .set({ notBefore: null, status: "queued" })
    .where(eq(schema.jobs.id, jobId));
  await fail(services, await claimed(), new AppError("bad_request"));
  const row = await readDelivery(services, jobId);
  expect(row.event).toBe("job.failed");
  expect(await send(row.id)).toBe("delivered");
  expect(JSON.parse(sent(row.id)[0]?.body ?? "")).toMatchObject({
    type: "job.failed",
    data: { id: jobId, status: "failed", error: { code: "bad_request" } },
  });
});

describe("F24 C2 what a receiver answers", () => {
  const status = (code: number, headers?: Record<string, string>): WebhookFault[] => [
    { kind: "status", status: code, ...(headers ? { headers } : {}) },
  ];
  test.each([
    ["500", status(500), "The receiver answered with status 500."],
    [
      "a redirect",
      status(302, { location: "/other" }),
      "The receiver answered with a redirect, which is not followed.",
    ],
    ["a cut connection after it has read the request", [{ kind: "reset" }] as WebhookFault[], null],
  ])("%s is tried again with the same id", async (_name, faults, lastError) => {
    const { owner } = await openEndpoint(faults);
    const { id, jobId, answer, row } = await complete(owner);
    expect(answer).toBe("retry");
    expect(row).toMatchObject({ deliveredAt: null, deliveringAt: null, ...(lastError ? { lastError } : {}) });
    await services.db
      .update(deliveries)
      .set({ nextAttemptAt: sql`clock_timestamp() - interval '1 second'` })
      .where(eq(deliveries.id, id));
    expect(await send(id)).toBe("delivered");
    expect(sent(id)).toHaveLength(2);
    expect((await readDelivery(services, jobId)).attempts).toBe(2);
  });

  test("429 with Retry-After waits at least so long", async () => {
    const { owner } = await openEndpoint(status(429, { "retry-after": "120" }));
    const { answer, row } = await complete(owner);
    expect(answer).toBe("retry");
    const [left] = await services.db.execute<{ waits: boolean }>(
      sql`select next_attempt_at > clock_timestamp() + interval '60 seconds' as waits from ${deliveries} where id = ${row.id}`,
    );
    expect(left?.waits).toBe(true);
  });

  test("410 disables the endpoint and ends what is owed to it", async () => {
    const { owner, id: endpointId } = await openEndpoint(status(410));
    const waitingJob = await oweCompleted(services, owner);
    const { answer, row } = await complete(owner);
    expect(answer).toBe("failed");
    expect(row.failedAt).not.toBeNull();
    expect((await readDelivery(services, waitingJob)).failedAt).not.toBeNull();
    expect(await listEndpoints(services, owner.userId)).toMatchObject([
      { id: endpointId, isEnabled: false, disabledReason: "The receiver answered that it is gone." },
    ]);
    const after = await oweCompleted(services, owner);
    expect(await services.db.$count(deliveries, eq(deliveries.jobId, after))).toBe(0);
    await enableEndpoint(services, { ownerId: owner.userId, id: endpointId, isEnabled: true });
    expect((await complete(owner)).answer).toBe("delivered");
  });

  test.each(["slow", "hang"] as const)("an answer that is %s is given up and tried again", async (kind) => {
    const timing = { ...services.config.timing, deliverySendMs: 300 };
    const { owner } = await openEndpoint([{ kind }]);
    const { answer, row } = await complete(owner, { ...services, config: { ...services.config, timing } });
    expect(answer).toBe("retry");
    expect(row).toMatchObject({ deliveringAt: null, lastError: "The receiver did not answer in time." });
  });
});

test("C2 after a rotation both secrets sign for 24 hours", async () => {
  const { owner, id, secret: old } = await openEndpoint();
  const { secret } = await rotateSecret(services, { ownerId: owner.userId, id });
  expect(secret).not.toBe(old);
  expectSigned(sent((await complete(owner)).id)[0], [secret, old]);
  await services.db
    .update(webhookEndpoints)
    .set({ previousUntil: sql`now() - interval '1 second'` })
    .where(eq(webhookEndpoints.id, id));
  expectSigned(sent((await complete(owner)).id)[0], [secret]);
});

test("C2 a test of an endpoint is a delivery like others, taken with a 2xx of any body; a deleted endpoint gets nothing", async () => {
  const packed = { kind: "status", status: 200, headers: { "content-encoding": "zstd" } } as const;
  const { owner, id: endpointId } = await openEndpoint([packed]);
  const own = { ownerId: owner.userId, id: endpointId };
  const { deliveryId } = await testEndpoint(services, own);
  expect(await send(deliveryId)).toBe("delivered");
  expect(JSON.parse(sent(deliveryId)[0]?.body ?? "")).toMatchObject({
    type: "endpoint.test",
    data: { endpointId },
  });
  const { deliveryId: late } = await testEndpoint(services, own);
  await deleteEndpoint(services, own);
  expect(await send(late)).toBe("ended");
  await expect(testEndpoint(services, own)).rejects.toMatchObject({ code: "not_found" });
});

test("C2 a job's own address gets its webhook, signed with the owner's secret for jobs", async () => {
  const owner = await addOwner(services);
  await addNode(services);
  const { secret } = await createEndpoint(services, { ownerId: owner.userId, url: null });
  const webhookUrl = `${receiver.url}/job?token=canary-of-a-job`;
  const request = { kind: "upscale", inputs: { image: owner.imageId }, webhookUrl };
  const { id: jobId } = await submit(services, request, { submitter: owner });
  const queue = newId();
  await services.db.update(schema.jobs).set({ queue, status: "queued" }).where(eq(schema.jobs.id, jobId));
  const nodeId = await addNode(services, { queue });
  const job = await claim(services, { nodeId, queue, offers: localOffers });
  expect(job?.id).toBe(jobId);
  await fail(services, { jobId, attempt: job?.attempt ?? 0, nodeId }, new AppError("bad_request"));
  const [due] = await findOwedOf(services, jobId);
  expect(await send(due?.id ?? "")).toBe("delivered");
  const [one] = sent(due?.id ?? "");
  expect(one?.path).toBe("/job?token=canary-of-a-job");
  expectSigned(one, [secret]);
  const again = await retry(services, { submitter: owner, id: jobId });
  const [kept] = await services.db
    .select()
    .from(schema.jobWebhooks)
    .where(eq(schema.jobWebhooks.jobId, again.id));
  expect(kept?.url).toBe(webhookUrl);
  const query = { ...listDeliveriesSchema.parse({ jobId }), ownerId: owner.userId };
  expect((await listDeliveries(services, query)).items).toMatchObject([
    { receiver: `${receiver.url}/job`, state: "delivered", attempts: 1 },
  ]);
});

test("S9 private addresses are refused when they are registered, named by a job, and met by a name at the send", async () => {
  const strict = { ...services, env: { ...services.env, ALLOWED_PRIVATE_HOSTS: [] } };
  const { owner, id } = await openEndpoint();
  for (const url of [
    "http://127.0.0.1/",
    "https://10.0.0.1/",
    "https://localhost/",
    "https://user:pass@example.org/",
  ]) {
    const refused = { code: "url_refused" };
    await expect(createEndpoint(strict, { ownerId: owner.userId, url })).rejects.toMatchObject(refused);
    const request = { kind: "upscale", inputs: { image: owner.imageId }, webhookUrl: url };
    await expect(submit(strict, request, { submitter: owner })).rejects.toMatchObject(refused);
  }
  const { deliveryId } = await testEndpoint(services, { ownerId: owner.userId, id });
  expect(await send(deliveryId, strict)).toBe("failed");
  expect(receiver.countOf(deliveryId)).toBe(0);
});

test("S9 no secret and no answer of a receiver is in logs and views", async () => {
  const rows = await services.db.select().from(webhookEndpoints);
  const stored = rows.flatMap(({ id, secret, previousSecret }) =>
    [secret, ...(previousSecret ? [previousSecret] : [])].map(
      (one) => openSecret(services.env, id, one) ?? "",
    ),
  );
  const owners = [...new Set(rows.map(({ ownerId }) => ownerId))];
  const views = await Promise.all(
    owners.map(async (ownerId) => [
      await listEndpoints(services, ownerId),
      await listDeliveries(services, { ...listDeliveriesSchema.parse({}), ownerId }),
    ]),
  );
  const seen = `${lines.join("\n")}${JSON.stringify(views)}`;
  expect(stored.length).toBeGreaterThan(5);
  expect(stored.every((secret) => secret.startsWith("whsec_"))).toBe(true);
  for (const canary of [...stored, "canary-of-a-job", "not for the sender's eyes"])
    expect(seen).not.toContain(canary);
});
