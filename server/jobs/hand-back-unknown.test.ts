import { addJob, addNode, addOwner, localOffers, readJob, testQueue } from "@atelier/testing/jobs";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { schema } from "../db/index.ts";
import { claim } from "./run.ts";
import { handBackUnknown } from "./hand-back-unknown.ts";

const { jobs } = schema;
let opened: TestServices;
beforeAll(async () => {
  opened = await createTestServices();
});
afterAll(() => opened.close());

async function claimAt(attempt: number, changes: Partial<typeof jobs.$inferInsert> = {}) {
  const { services } = opened;
  const nodeId = await addNode(services);
  await addJob(services, { owner: await addOwner(services) });
  const job = await claim(services, { nodeId, queue: testQueue, offers: localOffers });
  if (!job) throw new Error("no job was claimed");
  await services.db
    .update(jobs)
    .set({ attempt, ...changes })
    .where(eq(jobs.id, job.id));
  return { id: job.id, nodeId };
}

test("A6 a job whose end can never be stored fails after its last try, one before it goes back to the line", async () => {
  const { services } = opened;
  const { maxAttempts } = services.config.limits;
  const last = await claimAt(maxAttempts);
  expect(await handBackUnknown(services, { nodeId: last.nodeId, running: [last.id] })).toBe(0);
  expect(await handBackUnknown(services, { nodeId: last.nodeId, running: [] })).toBe(1);
  expect(await readJob(services, last.id)).toMatchObject({ status: "failed", errorCode: "internal" });
  const earlier = await claimAt(maxAttempts - 1);
  expect(await handBackUnknown(services, { nodeId: earlier.nodeId, running: [] })).toBe(1);
  expect(await readJob(services, earlier.id)).toMatchObject({ status: "pending", nodeId: null });
});

test("A6 a cancel request is honoured after the last try too", async () => {
  const { services } = opened;
  const { id, nodeId } = await claimAt(services.config.limits.maxAttempts, { cancelRequestedAt: new Date() });
  await handBackUnknown(services, { nodeId, running: [] });
  expect((await readJob(services, id)).status).toBe("cancelled");
});
