import { expireEphemeral } from "@atelier/server/jobs";
import { addNode, addServer, insertJob, readJob, testQueue } from "@atelier/testing/jobs";
import { openJobScene } from "@atelier/testing/scenes";
import { addHistory } from "@atelier/testing/monitoring";
import { sql } from "drizzle-orm";
import { expect, test, vi } from "vitest";
import { schema } from "../db/index.ts";
import { doDuties } from "../leases/index.ts";
import { readFigures } from "./figures.ts";
import { metricsText } from "./metrics.ts";
import { listUsersSchema, readUsers } from "./users.ts";
import { readNodes } from "./nodes.ts";
import { type Overview, readOverview } from "./overview.ts";
import { rollUp } from "./roll-up.ts";

const scene = openJobScene();

const queueOf = async (queue: string) => {
  const overview = await readOverview(scene.services, { window: "1h" });
  const found = overview.queues.find((one) => one.queue === queue);
  if (!found) throw new Error(`no queue ${queue}`);
  return { overview, queue: found };
};

/** Ends a job as the product would, at a time of the test's own. */
async function endJob(id: string, ended: { status: string; agoS: number; waitS?: number; runS?: number }) {
  const { status, agoS, waitS = 4, runS = 10 } = ended;
  await scene.services.db.execute(sql`
    update jobs set status = ${status}, queue = 'test-ended', ended_at = now() - ${agoS} * interval '1 second',
      started_at = now() - ${agoS + runS} * interval '1 second', created_at = now() - ${agoS + runS + waitS} * interval '1 second',
      error_code = case when ${status} = 'failed' then 'gpu_out_of_memory' end,
      estimate = '{"position":0,"waitMs":[0,3000],"runMs":[0,0],"runs":1}'
    where id = ${id}`);
}

test("O3 a studio without any node is not calm, unless its nodes are started on demand", async () => {
  const { services } = scene;
  await services.db.execute(
    sql`update nodes set state = 'gone', ended_at = now() where state in ('active', 'draining')`,
  );
  const onDemand = { startS: 60, workflows: [] };
  const asleep = {
    ...services.config,
    queues: { "gpu-asleep": { minCores: 0, minMemoryGib: 0, minVramGib: 8, onDemand } },
  };
  const told = async (config = services.config) => {
    const { attention } = await readOverview({ ...services, config }, { window: "1h" });
    return attention.map(({ type }) => type).includes("no_node");
  };
  const without = [await told(), await told(asleep)];
  const node = await addNode(services);
  expect([...without, await told()]).toEqual([true, false, false]);
  await services.db.execute(sql`delete from nodes where id = ${node}`);
});

test("S8 a queue that is started on demand needs an admin only when its start takes three times as long", async () => {
  const { services } = scene;
  const onDemand = { startS: 60, workflows: [] };
  const config = {
    ...services.config,
    queues: { "gpu-asleep": { minCores: 0, minMemoryGib: 0, minVramGib: 8, onDemand } },
  };
  const id = await insertJob(services, { owner: scene.owner, queue: "gpu-asleep" });
  const missed = async (waitedS: number) => {
    await services.db.execute(
      sql`update jobs set created_at = now() - ${waitedS} * interval '1 second' where id = ${id}`,
    );
    const { attention } = await readOverview({ ...services, config }, { window: "1h" });
    return attention.some((one) => one.type === "queue_without_node" && one.queue === "gpu-asleep");
  };
  expect([await missed(170), await missed(190)]).toEqual([false, true]);
  await services.db.execute(sql`delete from jobs where id = ${id}`);
});

test("D11 a queue tells what waits, for how long, what runs and on how many slots", async () => {
  const { services } = scene;
  const nodeId = await addNode(services, { slots: 3 });
  const [old, queued, running] = await Promise.all(
    ["pending", "queued", "processing"].map(async (status) => {
      const id = await insertJob(services, { owner: scene.owner });
      await services.db.execute(sql`update jobs set status = ${status} where id = ${id}`);
      return id;
    }),
  );
  await services.db.execute(
    sql`update jobs set created_at = now() - interval '91 seconds' where id = ${old}`,
  );
  await services.db.execute(
    sql`update jobs set node_id = ${nodeId}, claimed_at = now() where id = ${running}`,
  );
  const { queue, overview } = await queueOf(testQueue);
  expect(queue).toMatchObject({ waiting: 2, running: 1, slots: 3 });
  expect(queue.oldestWaitingMs).toBeGreaterThanOrEqual(90_000);
  expect(queue.oldestWaitingMs).toBeLessThan(120_000);
  expect(overview.queues[0]?.queue).toBe(testQueue);
  const node = (await readNodes(services)).find(({ id }) => id === nodeId);
  expect(node).toMatchObject({
    queues: [{ queue: testQueue, slots: 3, used: 1 }],
    running: [{ id: running }],
  });
  expect((await readJob(services, queued ?? "")).status).toBe("queued");
});

test("O3 a queue without a node, a silent node, one that is away and a lost one are named", async () => {
  const { services } = scene;
  const [silent, lost] = [await addNode(services), await addNode(services, { state: "lost" })];
  const away = await addNode(services, { queue: "gpu-high" });
  const server = { nodeId: away, url: "http://away.example.org:8188", needs: [], state: "down" } as const;
  await addServer(services, server);
  await services.db.execute(sql`update nodes set seen_at = now() - interval '31 seconds' where id = ${away}`);
  await services.db.execute(
    sql`update nodes set seen_at = now() - interval '9 seconds' where id = ${silent}`,
  );
  await services.db.execute(sql`update nodes set ended_at = now() where id = ${lost}`);
  const stuck = await insertJob(services, { owner: scene.owner });
  await services.db.execute(sql`update jobs set queue = 'gpu-high' where id = ${stuck}`);
  const { attention } = await readOverview(services, { window: "1h" });
  expect(attention).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ type: "queue_without_node", queue: "gpu-high", waiting: 1 }),
      expect.objectContaining({ type: "node_away", nodeId: away }),
      expect.objectContaining({ type: "node_silent", nodeId: silent }),
      expect.objectContaining({ type: "node_lost", nodeId: lost }),
    ]),
  );
  const ofNodes = attention.filter((item) => "nodeId" in item);
  expect(ofNodes.map(({ type }) => type).toSorted()).toEqual(["node_away", "node_lost", "node_silent"]);
  const states = (await readNodes(services)).map(({ id, state, isAway }) => [id, state, isAway]);
  expect(states).toEqual(
    expect.arrayContaining([
      [silent, "active", false],
      [away, "active", true],
      [lost, "lost", false],
    ]),
  );
});

test("D11 what ended in the window: counts, causes, times within a bucket, and how true the promises were", async () => {
  const { services } = scene;
  const ids = await Promise.all(
    Array.from({ length: 10 }, () => insertJob(services, { owner: scene.owner })),
  );
  for (const [at, id] of ids.entries())
    await endJob(id, { status: at < 7 ? "completed" : "failed", agoS: 60, waitS: at < 9 ? 4 : 40, runS: 10 });
  const { queue, overview } = await queueOf("test-ended");
  expect(queue.lastHour).toEqual({ completed: 7, failed: 3 });
  expect(queue.window).toMatchObject({ completed: 7, failed: 3, cancelled: 0 });
  expect(queue.window.waitMs.p50).toBeGreaterThan(3_600);
  expect(queue.window.waitMs.p50).toBeLessThan(4_400);
  expect(queue.window.waitMs.p95).toBeGreaterThan(36_000);
  expect(queue.window.runMs.p95).toBeLessThan(11_000);
  expect(queue.series.completed.reduce((sum, count) => sum + count)).toBe(7);
  expect(overview.failures).toEqual([{ code: "gpu_out_of_memory", count: 3 }]);
  expect(overview.estimate).toMatchObject({ estimated: 10, within: 0.9 });
  // Who is told that nothing can run it is promised no time.
  await scene.services.db.execute(
    sql`update jobs set estimate = estimate || '{"isLive":false}' where id = ${ids[9]}`,
  );
  expect((await queueOf("test-ended")).overview.estimate).toMatchObject({ estimated: 9, within: 1 });
  for (const id of ids) await endJob(id, { status: "completed", agoS: 3_700 });
  await expect(queueOf("test-ended")).rejects.toThrow("no queue test-ended");
});

/** An ephemeral job goes once its client has it. */
async function deliver(id: string | undefined) {
  const { services } = scene;
  await services.db.execute(sql`update jobs set retention = 'ephemeral', acked_at = now() where id = ${id}`);
  await expireEphemeral(services);
  expect(await services.db.execute(sql`select 1 from jobs where id = ${id}`)).toEqual([]);
}

/** That the figures are the same after `act`, which is done again where the last of their hours ended meanwhile. */
async function expectSameFigures(act: () => Promise<unknown>) {
  const { db } = scene.services;
  const readHour = async () => (await db.execute(sql`select date_trunc('hour', now())::text as began`))[0];
  for (;;) {
    const [hour, before] = [await readHour(), await readFigures(db, "7d")];
    await act();
    const after = await readFigures(db, "7d");
    if ((await readHour())?.["began"] !== hour?.["began"]) continue;
    expect(after).toEqual(before);
    return;
  }
}

test("O1 hours that were added up give the same figures as the rows, also by two at once, and removed jobs stay counted", async () => {
  const { services } = scene;
  const { db } = services;
  await addHistory(services, { jobs: 3_000, days: 6, ownerIds: [scene.owner.userId] });
  expect((await readFigures(db, "7d")).all.completed).toBeGreaterThan(2_500);
  const find = async (isMeant = sql`true`) => {
    const [found] = await db.execute<{ id: string }>(
      sql`select id from jobs where status = 'completed' and ${isMeant} order by id limit 1`,
    );
    return found?.id;
  };
  await expectSameFigures(async () => deliver(await find(sql`ended_at > now() - interval '50 minutes'`)));
  await expectSameFigures(() => Promise.all([rollUp(services), rollUp(services), rollUp(services)]));
  await expectSameFigures(async () => deliver(await find()));
  expect(await db.execute(sql`select 1 from job_figures limit 1`)).toHaveLength(1);
});

test("A8 recurring work that failed twice in a row needs attention, and every one has its figures", async () => {
  const { services } = scene;
  const broken = { name: "a broken duty", everyMs: 0, run: () => Promise.reject(new Error("no space")) };
  const fail = async () => {
    await doDuties(services, [broken]);
    return readOverview(services, { window: "1h" });
  };
  const types = ({ attention }: Overview) => attention.map(({ type }) => type);
  expect(types(await fail())).not.toContain("duty_failing");
  const failing = await fail();
  const item = { type: "duty_failing", duty: broken.name, failures: 2, reason: "no space" };
  expect(failing.attention).toContainEqual(item);
  expect(failing.duties[0]).toMatchObject({ name: broken.name, failures: 2, error: "no space" });
  await doDuties(services, [{ ...broken, run: () => Promise.resolve() }]);
  const overview = await readOverview(services, { window: "1h" });
  expect(types(overview)).not.toContain("duty_failing");
  const text = metricsText({ overview, nodes: [], providers: [], others: [] });
  expect(text).toContain('atelier_duty_failures_in_a_row{duty="a broken duty"} 0');
  const [, ageS] = /atelier_duty_age_seconds\{duty="a broken duty"\} (\S+)/.exec(text) ?? [];
  expect(Number(ageS)).toBeLessThan(60);
});

test("O2 a page takes at most ten statements", async () => {
  const { services } = scene;
  // Safe: drizzle keeps the pool that it was given here.
  const { $client: pool } = services.db as unknown as { $client: { query(): unknown } };
  // Each statement outside of a transaction asks the pool itself.
  const query = vi.spyOn(pool, "query");
  const count = async (read: () => Promise<unknown>) => {
    query.mockClear();
    await read();
    return query.mock.calls.length;
  };
  const pages = [
    () => readOverview(services, { window: "1h" }),
    () => readOverview(services, { window: "7d" }),
    () => readNodes(services),
    () => readUsers(services, listUsersSchema.parse({})),
  ];
  for (const page of pages) {
    const statements = await count(page);
    expect(statements).toBeGreaterThan(0);
    expect(statements).toBeLessThanOrEqual(10);
  }
  query.mockRestore();
});

test("people are found by name or address, with what they have here", async () => {
  const { services } = scene;
  const find = async (input: object) => (await readUsers(services, listUsersSchema.parse(input))).items;
  const [found] = await find({ search: scene.owner.userId.slice(0, 23) });
  expect(found).toMatchObject({ id: scene.owner.userId, role: "user", jobs: 1_000 });
  expect(found?.openJobs).toBe(4);
  expect(await find({ search: "50%_off" })).toEqual([]);
  expect(await find({ role: "admin" })).toEqual([]);
});

test("D11 figures of a day are read although no hour was ever added up", async () => {
  const { db } = scene.services;
  const marks = await db.select().from(schema.figureMarks);
  await db.delete(schema.figureMarks);
  expect((await readFigures(db, "24h")).series.completed).toHaveLength(24);
  await db.insert(schema.figureMarks).values(marks);
});
