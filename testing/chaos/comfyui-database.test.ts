import { afterAll, beforeAll, expect, test } from "vitest";
import { forBackendSuites, realTimeMs, inAll } from "../cases/index.ts";
import { readJob, until, untilAll } from "../jobs/index.ts";
import { type PrivatePostgres, startPrivatePostgres } from "../postgres/index.ts";
import type { TestWorker } from "../worker/index.ts";
import { type ComfyScene, openComfyScene } from "./comfy-scene.ts";
import { eventually, oneByOne } from "./scene.ts";
import { endSessions, takeAllSessions } from "../postgres/index.ts";

const large = { steps: 100 };
const once = { attempt: 1, charged: 0 };

forBackendSuites("with one worker and a database of its own, bells on %s", (backend) => {
  let scene: ComfyScene;
  let postgres: PrivatePostgres;
  let worker: TestWorker;
  const ends: (() => Promise<void>)[] = [];

  beforeAll(async () => {
    postgres = await startPrivatePostgres({ max_connections: "60" });
    ends.push(() => postgres.destroy());
    const env = { DATABASE_URL: postgres.url };
    scene = await openComfyScene((end) => void ends.push(end), { backend, env });
    worker = await scene.startComfyWorker();
  }, realTimeMs);
  afterAll(async () => {
    for (const end of ends.toReversed()) await end();
  });

  const views = () => scene.servers.reduce((sum, server) => sum + server.stats().views, 0);

  /** A job at work on a server, which goes on when it is released. */
  async function runHeld(): Promise<string> {
    scene.injectAll({ kind: "hold" });
    const id = await scene.submitWords(large);
    await scene.serverOf(id);
    for (const server of scene.servers) server.clearFaults();
    return id;
  }

  /** Ends the held job on its server and waits until its result was fetched. */
  async function releaseAndFetch(): Promise<void> {
    const before = views();
    for (const server of scene.servers) server.release();
    await eventually(() => views() > before, true);
  }

  /** What comes afterwards runs as if nothing had happened. */
  async function expectWell(): Promise<void> {
    expect(await until(scene.services, await scene.submitWords(), "completed")).toMatchObject(once);
    expect(worker.output()).not.toContain("this node was marked lost");
    expect(await scene.faults()).toEqual([]);
  }

  test(
    "F16 PostgreSQL is away while a run ends: its result is stored afterwards, run once and uncharged",
    oneByOne,
    async () => {
      const id = await runHeld();
      await postgres.stop();
      await releaseAndFetch();
      await postgres.start();
      expect(await until(scene.services, id, "completed")).toMatchObject(once);
      expect(scene.promptsOf(id)).toMatchObject([{ posted: 1, started: 1, finished: 1 }]);
      await expectWell();
    },
  );

  test(
    "F16 PostgreSQL is away when a picture was uploaded: nothing is posted that is not stored, run once and uncharged",
    oneByOne,
    async () => {
      const uploads = () => scene.servers.reduce((sum, server) => sum + server.stats().uploads, 0);
      const before = uploads();
      const { promise: away, resolve: answer } = Promise.withResolvers<void>();
      scene.injectAll({ kind: "slow-answer", until: away, path: "POST /upload/image", isDone: true });
      const id = await scene.submitPicture();
      await eventually(() => uploads() > before, true);
      for (const server of scene.servers) server.clearFaults();
      await postgres.stop();
      answer();
      await worker.waitFor(/"jobId":"[^"]*"[^\n]*the end of a run could not be stored/);
      expect(scene.promptsOf(id)).toEqual([]);
      await postgres.start();
      expect(await until(scene.services, id, "completed")).toMatchObject({ charged: 0 });
      expect(scene.promptsOf(id)).toMatchObject([{ posted: 1, started: 1, finished: 1 }]);
      await expectWell();
    },
  );

  test(
    "F17 sessions are ended twice a second while runs begin and end: all complete uncharged, none runs a third time",
    { ...oneByOne, ...inAll },
    async ({ signal }) => {
      const over = new AbortController();
      const ended = endSessions(scene.services, over.signal);
      const ids: string[] = [];
      const submitOne = async () => {
        const id = await scene.submitWords().catch(() => null);
        if (id !== null) ids.push(id);
        return id;
      };
      while (!signal.aborted && ids.length < 20) await submitOne();
      // However fast the machine is: sessions must end under them. One by one, so that no line grows that takes minutes to serve.
      while (!signal.aborted && ended.count() <= 5) {
        const id = await submitOne();
        if (id !== null)
          await untilAll(scene.services, [id], { statuses: ["completed"], patienceMs: realTimeMs });
      }
      const jobs = await untilAll(scene.services, ids, { statuses: ["completed"], patienceMs: 90_000 });
      over.abort();
      expect(await ended.total).toBeGreaterThan(5);
      expect(jobs.filter(({ charged }) => charged > 0)).toEqual([]);
      const runs = ids.map((id) => scene.promptsOf(id).reduce((sum, { started }) => sum + started, 0));
      expect(runs.filter((count) => count < 1 || count > 2)).toEqual([]);
      await expectWell();
    },
  );

  test(
    "F18 the database has no connection left while a run ends: its result is stored afterwards, run once and uncharged",
    oneByOne,
    async () => {
      const id = await runHeld();
      const hoard = await takeAllSessions(postgres.url);
      await releaseAndFetch();
      await worker.waitFor(/too many clients already/);
      await hoard.free();
      await until(scene.services, id, "completed");
      expect(await readJob(scene.services, id)).toMatchObject(once);
      expect(scene.promptsOf(id)).toMatchObject([{ posted: 1, started: 1, finished: 1 }]);
      await expectWell();
      expect(await worker.term()).toBe(0);
    },
  );
});
