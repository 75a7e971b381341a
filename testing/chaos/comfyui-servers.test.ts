import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readWaiting } from "@atelier/server/jobs";
import { drainServer, resumeServer } from "@atelier/server/nodes";
import { inAll, realTimeMs } from "../cases/index.ts";
import type { ComfySimulator } from "../comfyui/index.ts";
import { readJob, readStory, until, untilAll } from "../jobs/index.ts";
import { type ComfyScene, openComfyScene } from "./comfy-scene.ts";
import { eventually, measureWithin, oneByOne, type ServedList, serveList } from "./scene.ts";

/** When a dead server has to be out of rotation (F25). */
const outMs = 10_000;
/** Of a size whose limit is not reached here, unlike that of one step. */
const large = { steps: 100 };

describe("with one worker and a list of servers", () => {
  let scene: ComfyScene;
  let list: ServedList;
  const ends: (() => Promise<void>)[] = [];

  beforeAll(async () => {
    list = await serveList();
    const servers = [{}, {}, {}];
    scene = await openComfyScene((end) => void ends.push(end), { servers });
    const [a, b] = scene.servers;
    const first = a && b ? [a, b] : [];
    list.set(first.map(({ url }) => url));
    const env = { COMFYUI_URLS: "", COMFYUI_DISCOVERY: list.url };
    await scene.startComfyWorker({ servers: first, config: "shortRuns", env });
  }, realTimeMs);
  afterAll(async () => {
    for (const end of ends.toReversed()) await end();
    await list.close();
  });

  const untilState = (server: ComfySimulator, state: string | undefined) =>
    eventually(() => scene.stateOf(server), state);

  /** A job that is at work on `at` and stays there; `other` is free. */
  async function runHeld(): Promise<{ id: string; at: ComfySimulator; other: ComfySimulator }> {
    scene.injectAll({ kind: "hold" });
    const id = await scene.submitWords(large);
    const at = await scene.serverOf(id);
    for (const server of scene.servers) server.clearFaults();
    const other = scene.servers.slice(0, 2).find((server) => server !== at);
    if (!other) throw new Error("there is no other server");
    return { id, at, other };
  }

  test(
    "F25 a server killed in mid-job is out of rotation within 10 s; the job goes to the other one, charged 0",
    oneByOne,
    async () => {
      const readOutMs = async () => {
        const { id, at, other } = await runHeld();
        const killedMs = performance.now();
        await at.kill();
        await untilState(at, "down");
        const tookMs = performance.now() - killedMs;
        expect(await until(scene.services, id, "completed")).toMatchObject({
          server: other.url,
          attempt: 2,
          charged: 0,
        });
        await at.start();
        await untilState(at, "healthy");
        return tookMs;
      };
      expect(await measureWithin(outMs, readOutMs)).toBeLessThan(outMs);
      expect(await scene.faults()).toEqual([]);
    },
  );

  test(
    "F25 a server that was started again, empty, has lost the job: it is run anew, charged 0",
    { ...oneByOne, ...inAll },
    async () => {
      const { id, at } = await runHeld();
      await at.restart();
      expect(await until(scene.services, id, "completed")).toMatchObject({ attempt: 2, charged: 0 });
      const prompts = scene.promptsOf(id);
      const sum = (what: "started" | "finished" | "lost") =>
        prompts.reduce((total, story) => total + story[what], 0);
      expect([sum("started"), sum("lost"), sum("finished")]).toEqual([2, 1, 1]);
      await untilState(at, "healthy");
      expect(await scene.faults()).toEqual([]);
    },
  );

  test(
    "F25 A10 with all servers down jobs wait, say so and go on when one is back",
    { ...oneByOne, ...inAll },
    async () => {
      const { services, owner } = scene;
      const { id: running, at, other } = await runHeld();
      await Promise.all([at.kill(), other.kill()]);
      await untilState(at, "down");
      await untilState(other, "down");
      const later = await scene.submitWords();
      expect(await readJob(services, later)).toMatchObject({ placement: { isLive: false } });
      await until(services, running, "pending", "queued");
      const { items: waiting } = await readWaiting(services, owner.userId);
      expect(waiting.map(({ id }) => id).toSorted()).toEqual([running, later].toSorted());
      for (const { isLive, reason } of waiting)
        expect([isLive, reason]).toEqual([false, expect.stringContaining("is away")]);
      await other.start();
      const jobs = await untilAll(services, [running, later], { statuses: ["completed"] });
      expect(jobs.map(({ server, charged }) => [server, charged])).toEqual([
        [other.url, 0],
        [other.url, 0],
      ]);
      await at.start();
      await untilState(at, "healthy");
      expect(await scene.faults()).toEqual([]);
    },
  );

  test(
    "F28 a run that hangs at 0 % is interrupted at the limit of its size and goes to another server, not to the same",
    oneByOne,
    async () => {
      const { services } = scene;
      const held = await runHeld();
      held.other.inject({ kind: "hang" });
      const id = await scene.submitWords({ steps: 1 });
      const hanging = await scene.serverOf(id);
      const before = hanging.stats().interrupts;
      const requeued = async () =>
        (await readStory(services, id)).find(({ type }) => type === "requeued")?.data;
      await eventually(async () => (await requeued()) !== undefined, true);
      expect(await requeued()).toMatchObject({
        code: "engine_timeout",
        server: hanging.url,
        next: "other_server",
      });
      expect(hanging.stats().interrupts).toBe(before + 1);
      // It was given longer, as it is larger, and has the only server that is left.
      expect(await readJob(services, held.id)).toMatchObject({ status: "processing", attempt: 1 });
      held.at.release();
      expect(await until(services, id, "completed")).toMatchObject({
        server: held.at.url,
        attempt: 2,
        charged: 1,
      });
      await until(services, held.id, "completed");
      expect(scene.promptsOf(id).map(({ interrupted, finished }) => [interrupted, finished])).toEqual(
        expect.arrayContaining([
          [1, 0],
          [0, 1],
        ]),
      );
      expect(await scene.faults()).toEqual([]);
    },
  );

  test(
    "A10 a server added to the list gets jobs; one that vanishes ends its job and gets no more",
    { ...oneByOne, ...inAll },
    async () => {
      const { services } = scene;
      const [a, b, c] = scene.servers as [ComfySimulator, ComfySimulator, ComfySimulator];
      list.set([a.url, b.url, c.url]);
      await untilState(c, "healthy");
      scene.injectAll({ kind: "hold" });
      const held = await Promise.all([a, b, c].map(() => scene.submitWords(large)));
      const places = await Promise.all(held.map((id) => scene.serverOf(id)));
      expect(new Set(places)).toEqual(new Set([a, b, c]));
      list.set([a.url, b.url]);
      await untilState(c, "draining");
      for (const server of scene.servers) server.release();
      await untilAll(services, held, { statuses: ["completed"] });
      await untilState(c, undefined);
      const after = await Promise.all(Array.from({ length: 6 }, () => scene.submitWords()));
      await untilAll(services, after, { statuses: ["completed"] });
      expect(c.prompts()).toMatchObject([{ posted: 1, finished: 1 }]);
      expect(list.unchanged()).toBeGreaterThan(0);
      expect(await scene.faults()).toEqual([]);
    },
  );

  test(
    "D9 a server that an admin drains ends its job and gets no more until it is taken back",
    { ...oneByOne, ...inAll },
    async () => {
      const { services, owner } = scene;
      const { id, at, other } = await runHeld();
      await drainServer(services, { url: at.url, adminId: owner.userId });
      await untilState(at, "draining");
      const prompts = at.prompts().length;
      const meanwhile = await Promise.all(Array.from({ length: 3 }, () => scene.submitWords()));
      await untilAll(services, meanwhile, { statuses: ["completed"] });
      at.release();
      expect(await until(services, id, "completed")).toMatchObject({ server: at.url, attempt: 1 });
      const last = await scene.submitWords();
      expect(await until(services, last, "completed")).toMatchObject({ server: other.url });
      expect(at.prompts()).toHaveLength(prompts);
      await resumeServer(services, at);
      await untilState(at, "healthy");
      scene.injectAll({ kind: "hold" });
      const held = await Promise.all([at, other].map(() => scene.submitWords(large)));
      expect(new Set(await Promise.all(held.map((each) => scene.serverOf(each))))).toEqual(
        new Set([at, other]),
      );
      for (const server of scene.servers) server.release();
      await untilAll(services, held, { statuses: ["completed"] });
      expect(await scene.faults()).toEqual([]);
    },
  );
});
