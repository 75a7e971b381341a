import { sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  addJob,
  addNode,
  addOwner,
  localOffers,
  readJob,
  testQueue,
  type TestOwner,
} from "@atelier/testing/jobs";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { schema } from "../db/index.ts";
import { newId } from "../platform/index.ts";
import { claim } from "./claim.ts";
import { complete } from "./complete.ts";
import { start } from "./start.ts";

let opened: TestServices;
let owner: TestOwner;

beforeAll(async () => {
  opened = await createTestServices();
  owner = await addOwner(opened.services);
});
afterAll(() => opened.close());

test("E7 twenty racers claim one job: exactly one gets it", async () => {
  const { services } = opened;
  const nodes = await Promise.all(Array.from({ length: 20 }, () => addNode(services)));
  const id = await addJob(services, { owner });
  const claims = await Promise.all(
    nodes.map((nodeId) => claim(services, { nodeId, queue: testQueue, offers: localOffers })),
  );
  const won = claims.flatMap((job, at) => (job ? [nodes[at]] : []));
  expect(won).toHaveLength(1);
  expect(await readJob(services, id)).toMatchObject({
    status: "waiting_for_engine",
    attempt: 1,
    nodeId: won[0],
  });
});

test("E7 twenty racers claim ten jobs: each job once, no racer fails", async () => {
  const { services } = opened;
  const nodes = await Promise.all(Array.from({ length: 20 }, () => addNode(services)));
  const ids = await Promise.all(Array.from({ length: 10 }, () => addJob(services, { owner })));
  const claims = await Promise.all(
    nodes.map((nodeId) => claim(services, { nodeId, queue: testQueue, offers: localOffers })),
  );
  const claimed = claims.flatMap((job) => (job ? [job.id] : []));
  expect(claimed.toSorted()).toEqual(ids.toSorted());
});

test.each(["draining", "lost", "gone"] as const)("a node that is %s claims nothing", async (state) => {
  const { services } = opened;
  const nodeId = await addNode(services, { state });
  const id = await addJob(services, { owner });
  expect(await claim(services, { nodeId, queue: testQueue, offers: localOffers })).toBeNull();
  const active = await addNode(services);
  expect(await claim(services, { nodeId: active, queue: testQueue, offers: localOffers })).toMatchObject({
    id,
  });
});

test("F34 a job that must run alone waits for an empty node, and others do not pass it by", async () => {
  const { services } = opened;
  const nodeId = await addNode(services, { slots: 3 });
  const take = () => claim(services, { nodeId, queue: testQueue, offers: localOffers });
  const first = await addJob(services, { owner });
  expect(await take()).toMatchObject({ id: first });
  const alone = await addJob(services, { owner });
  await services.db.execute(sql`update ${schema.jobs} set run_alone = true where id = ${alone}`);
  const third = await addJob(services, { owner });
  expect(await take()).toBeNull();
  const lease = { jobId: first, attempt: 1, nodeId };
  await start(services, lease);
  await complete(services, { lease, outputs: [], facts: {} });
  expect(await take()).toMatchObject({ id: alone });
  expect(await take()).toBeNull();
  expect((await readJob(services, third)).status).toBe("queued");
});

test("a late worker's lease writes nothing; the owner's completes, also when asked twice", async () => {
  const { services } = opened;
  await services.db.execute(sql`delete from ${schema.jobs}`);
  const nodeId = await addNode(services);
  const id = await addJob(services, { owner });
  await claim(services, { nodeId, queue: testQueue, offers: localOffers });
  const lease = { jobId: id, attempt: 1, nodeId };
  for (const late of [
    { ...lease, attempt: 0 },
    { ...lease, nodeId: newId() },
  ]) {
    expect(await start(services, late)).toBeNull();
    expect(await complete(services, { lease: late, outputs: [], facts: {} })).toBeNull();
  }
  expect(await start(services, lease)).toMatchObject({ status: "processing" });
  const completion = { lease, outputs: [], facts: {} };
  expect(await complete(services, completion)).toMatchObject({ status: "completed", revision: 5 });
  expect(await complete(services, completion)).toMatchObject({ status: "completed", revision: 5 });
});
