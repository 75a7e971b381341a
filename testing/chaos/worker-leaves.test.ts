import { setTimeout as sleep } from "node:timers/promises";
import { desc, eq } from "drizzle-orm";
import { expect } from "vitest";
import { schema } from "@atelier/server/db";
import { cancel, submit } from "@atelier/server/jobs";
import { changeNodeSettings, requestStop } from "@atelier/server/nodes";
import { retiredExitCode } from "@atelier/worker/args";
import { backends, forBackends, forCases } from "../cases/index.ts";
import { addJob, readJob, readStory, testQueue, until } from "../jobs/index.ts";
import { eventually, freeWithinMs, measureWithin, openScene } from "./scene.ts";

/** Longer than the three seconds after which a worker of `shortGrace` hands its runs back at a signal. */
const beyondGraceMs = 4_000;
const ofAll = { usual: [], others: backends };

forBackends(
  "A17 SIGTERM on %s: a run that would take too long is handed back uncharged and completed elsewhere, exit code 0",
  async (backend, { onTestFinished }) => {
    const scene = await openScene(onTestFinished, { backend });
    const { services, owner } = scene;
    const leaving = await scene.startWorker({
      config: "shortGrace",
      name: "leaving",
      script: { hang: true },
    });
    const id = await addJob(services, { owner });
    await leaving.waitFor(new RegExp(`engine-start ${id}`));
    await scene.startWorker({ config: "shortGrace", name: "staying" });
    expect(await leaving.term()).toBe(0);
    expect(leaving.output()).toContain("left in order");
    expect(await until(services, id, "completed")).toMatchObject({ attempt: 2, charged: 0 });
    const story = (await readStory(services, id)).map((line) => line.type);
    expect(story.filter((type) => type !== "progress")).toEqual([
      "created",
      "queued",
      "claimed",
      "started",
      "handed_back",
      "queued",
      "claimed",
      "started",
      "completed",
    ]);
    const nodes = await services.db.select().from(schema.nodes);
    expect(Object.fromEntries(nodes.map(({ name, state }) => [name, state]))).toEqual({
      leaving: "gone",
      staying: "active",
    });
    expect(await scene.faults()).toEqual([]);
  },
);

forCases(
  "A17 SIGTERM on %s: a short run is ended first, nothing new is begun, exit code 0",
  ofAll,
  async (backend, { onTestFinished }) => {
    const scene = await openScene(onTestFinished, { backend });
    const { services, owner } = scene;
    // With the product's own grace time: of a short one a busy machine needs all to store the result.
    const worker = await scene.startWorker({ config: "real" });
    const id = await addJob(services, { owner, simulate: { hang: true } });
    const next = await addJob(services, { owner });
    await worker.waitFor(new RegExp(`engine-start ${id}`));
    const left = worker.term();
    const { state } = schema.nodes;
    await eventually(() => services.db.select({ state }).from(schema.nodes), [{ state: "draining" }]);
    worker.release();
    expect(await left).toBe(0);
    expect(await readJob(services, id)).toMatchObject({ status: "completed", attempt: 1, charged: 0 });
    expect(await readJob(services, next)).toMatchObject({ attempt: 0, charged: 0 });
    expect(await scene.faults()).toEqual([]);
  },
);

forBackends(
  "D9 a retired node on %s finishes its runs however long they take, then ends with a code that is not started again",
  async (backend, { onTestFinished }) => {
    const scene = await openScene(onTestFinished, { backend });
    const { services, owner } = scene;
    const retired = await scene.startWorker({ config: "shortGrace", name: "retired" });
    const id = await addJob(services, { owner, simulate: { hang: true } });
    const next = await addJob(services, { owner });
    await retired.waitFor(new RegExp(`engine-start ${id}`));
    const [node] = await services.db.select().from(schema.nodes);
    await requestStop(services, { id: node?.id ?? "" });
    await retired.waitFor(/"reason":"retired"/);
    await sleep(beyondGraceMs);
    retired.release();
    expect(await retired.exited).toBe(retiredExitCode);
    expect(await readJob(services, id)).toMatchObject({ status: "completed", attempt: 1, charged: 0 });
    expect(await readJob(services, next)).toMatchObject({ attempt: 0 });
    expect(await services.db.select().from(schema.nodes)).toMatchObject([{ state: "gone" }]);
    expect(await scene.faults()).toEqual([]);
  },
);

forCases(
  "A17 D9 SIGTERM to a retired node on %s hands its run back after the grace time, exit code 0",
  ofAll,
  async (backend, { onTestFinished }) => {
    const scene = await openScene(onTestFinished, { backend });
    const { services, owner } = scene;
    const retired = await scene.startWorker({ config: "shortGrace", name: "retired" });
    const id = await addJob(services, { owner, simulate: { hang: true } });
    await retired.waitFor(new RegExp(`engine-start ${id}`));
    const [node] = await services.db.select().from(schema.nodes);
    await requestStop(services, { id: node?.id ?? "" });
    await retired.waitFor(/"reason":"retired"/);
    expect(await retired.term()).toBe(0);
    expect(await readJob(services, id)).toMatchObject({ attempt: 1, charged: 0, nodeId: null });
  },
);

forCases(
  "D6 F36 cancel of a running job on %s stops its engine and frees the place within 2 s",
  ofAll,
  async (backend, { onTestFinished }) => {
    const scene = await openScene(onTestFinished, { backend });
    const { services, owner } = scene;
    const worker = await scene.startWorker();
    const readLateMs = async () => {
      const id = await addJob(services, { owner, simulate: { hang: true } });
      await worker.waitFor(new RegExp(`engine-start ${id}`));
      const request = { kind: "upscale", inputs: { image: owner.imageId } };
      const next = await submit(services, request, { submitter: owner });
      expect(await cancel(services, { ownerId: owner.userId, id })).toMatchObject({ cancelled: true });
      const cancelled = await until(services, id, "cancelled");
      await worker.waitFor(new RegExp(`engine-stopped ${id}[^]*engine-start ${next.id}`));
      const begun = await until(services, next.id, "processing", "completed");
      await until(services, next.id, "completed");
      expect(await readJob(services, id)).toMatchObject({ status: "cancelled", charged: 0 });
      const tookMs = (begun.startedAt?.getTime() ?? Infinity) - Number(cancelled.cancelRequestedAt);
      return tookMs - freeWithinMs([cancelled]);
    };
    expect(await measureWithin(0, readLateMs)).toBeLessThan(0);
    expect(await scene.faults()).toEqual([]);
  },
);

forCases(
  "D4 a worker on %s that is started again keeps what an admin set",
  ofAll,
  async (backend, { onTestFinished }) => {
    const scene = await openScene(onTestFinished, { backend });
    const { services, owner } = scene;
    const { nodes, nodeQueues } = schema;
    const readLast = async () => {
      const rows = services.db.select().from(nodes).innerJoin(nodeQueues, eq(nodeQueues.nodeId, nodes.id));
      const [row] = await rows.where(eq(nodeQueues.queue, testQueue)).orderBy(desc(nodes.startedAt));
      if (!row) throw new Error("there is no node");
      return row;
    };
    const first = await scene.startWorker();
    const { nodes: before } = await readLast();
    await changeNodeSettings(services, { id: before.id, settings: { slots: { [testQueue]: 0 } } });
    expect(await first.term()).toBe(0);
    const id = await addJob(services, { owner });
    await scene.startWorker();
    await eventually(async () => (await readLast()).node_queues.slots, 0);
    const { nodes: after } = await readLast();
    expect(after.id).not.toBe(before.id);
    expect(await readJob(services, id)).toMatchObject({ attempt: 0 });
    await changeNodeSettings(services, { id: after.id, settings: {} });
    expect(await until(services, id, "completed")).toMatchObject({ attempt: 1, nodeId: after.id });
    expect(await scene.faults()).toEqual([]);
  },
);
