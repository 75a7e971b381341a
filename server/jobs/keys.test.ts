import { addOwner, readJob } from "@atelier/testing/jobs";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { and, eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ask } from "../assistant/index.ts";
import { submitBatch } from "../batches/index.ts";
import { schema } from "../db/index.ts";
import { cancel, cancelSession, isSessionCancelled } from "./cancel.ts";
import { retry } from "./retry.ts";
import { submit } from "./submit.ts";

const { idempotencyKeys: keys, jobs } = schema;
const { signal } = new AbortController();

let opened: TestServices;
beforeAll(async () => {
  opened = await createTestServices();
});
afterAll(() => opened.close());

async function openOwner() {
  const { services } = opened;
  const submitter = await addOwner(services);
  const { userId: ownerId, imageId } = submitter;
  const request = { kind: "upscale", inputs: { image: imageId } };
  return {
    ownerId,
    request,
    submitter,
    send: (idempotencyKey: string, body: object = request) =>
      submit(services, body, { submitter, idempotencyKey }),
    countJobs: () => services.db.$count(jobs, eq(jobs.ownerId, ownerId)),
  };
}

test("A4 a client's own key of a job meets no key of a batch, a question, a cancelled session or a retry", async () => {
  const { services } = opened;
  const { ownerId, request, submitter, send } = await openOwner();
  const batch = await submitBatch(
    services,
    { jobs: [request] },
    { submitter, signal, idempotencyKey: "one" },
  );
  const beside = await send("batch:one");
  expect(batch.jobIds).not.toContain(beside.id);
  expect(await send("batch:one")).toMatchObject({ id: beside.id });

  const asking = () => ask(services, { ownerId, text: "Hello?", idempotencyKey: "two" });
  const first = await send("ask:two");
  const { runId } = await asking();
  expect(await asking()).toMatchObject({ runId });
  expect(await send("ask:two")).toMatchObject({ id: first.id });

  const sessions = { ownerId, sessionIds: ["three"], withinMs: 60_000 };
  await send("cancelled:three");
  expect(await isSessionCancelled(services, sessions)).toBe(false);
  await cancelSession(services, { ownerId, sessionId: "three" });
  expect(await isSessionCancelled(services, sessions)).toBe(true);

  await cancel(services, { ownerId, id: beside.id });
  await send(`retry:${beside.id}:1`, { ...request, retention: "ephemeral" });
  const again = await retry(services, { submitter, id: beside.id });
  expect(await readJob(services, again.id)).toMatchObject({ retryOf: beside.id, retryNumber: 1 });

  const failed = await send("four");
  await cancel(services, { ownerId, id: failed.id });
  const own = await send(`retry:${failed.id}:1`);
  await retry(services, { submitter, id: failed.id });
  expect(await send(`retry:${failed.id}:1`)).toMatchObject({ id: own.id });
});

test("A4 a key that was stored as the client sent it still answers, however it begins", async () => {
  const { services } = opened;
  const { ownerId, send, countJobs } = await openOwner();
  for (const before of ["plain", "batch:before", "step:before", "client before"]) {
    const { id } = await send("now");
    const own = and(eq(keys.ownerId, ownerId), eq(keys.key, "now"));
    await services.db.update(keys).set({ key: before }).where(own);
    const count = await countJobs();
    expect(await send(before)).toMatchObject({ id });
    expect(await countJobs()).toBe(count);
  }
});
