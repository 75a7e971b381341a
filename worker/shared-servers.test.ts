import { schema } from "@atelier/server/db";
import { takeServer, newServerClaim } from "@atelier/server/nodes";
import { newId } from "@atelier/server/platform";
import type { Services } from "@atelier/server/services";
import { addNode, loseNode } from "@atelier/testing/jobs";
import type { IopaintOptions, IopaintSimulator } from "@atelier/testing/iopaint";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { drawPicture } from "./engines/iopaint/fixtures/draw.ts";
import { newContext, openScene, type Scene } from "./engines/iopaint/fixtures/open-scene.ts";
import type { Engine, EngineContext } from "./engines/index.ts";
import { createSharedServers, type SharedServers } from "./shared-servers.ts";
import type { ServerPool } from "./servers/index.ts";

const waiting = { timeout: 20_000, interval: 20 };
let opened: TestServices;
let nodeIds: string[];
beforeAll(async () => {
  opened = await createTestServices({ config: { timing: { cancelPollMs: 50 } } });
  nodeIds = [await addNode(opened.services), await addNode(opened.services)];
});
afterAll(() => opened.close());

/** Services whose servers rest so long after a lost run. */
function withRest(lostRunMs: number): Services {
  const { config, ...services } = opened.services;
  return { ...services, config: { ...config, timing: { ...config.timing, lostRunMs } } };
}

interface TestedWorker {
  readonly nodeId: string;
  readonly pool: ServerPool;
  readonly engine: Engine;
  readonly leases: SharedServers;
  upscale(signal?: AbortSignal): Promise<unknown>;
}

/** A server and workers that share it, each with a node, a pool and an engine of its own. */
async function openWorkers(
  options: IopaintOptions & { lostRunMs?: number; abandonMs?: number; workers?: number },
): Promise<{ scene: Scene; server: IopaintSimulator; workers: readonly TestedWorker[] }> {
  const { lostRunMs = 60_000, abandonMs = 60_000, workers: count = 2, ...simulated } = options;
  const scene = await openScene();
  onTestFinished(() => scene.close());
  const server = await scene.startServer(simulated);
  const services = withRest(lostRunMs);
  const image = await drawPicture(scene.folder, "photo.jpg");
  const open = async (): Promise<TestedWorker> => {
    const nodeId = await addNode(services);
    const { pool, engine } = await scene.openEngine([server], { abandonMs });
    const leases = createSharedServers(services);
    const loop = leases.follow(pool, { current: () => ({ id: nodeId }) });
    onTestFinished(() => loop.stop());
    return {
      nodeId,
      pool,
      engine,
      leases,
      async upscale(signal) {
        const task = await scene.newTask("upscale", {
          inputs: { image },
          params: { scale: 2 },
          jobId: newId(),
        });
        const takeServer = (url: string) => leases.take({ url, nodeId, jobId: task.jobId });
        const context: EngineContext = { ...newContext(signal).context, takeServer };
        return engine.run(task, context);
      },
    };
  };
  const workers: TestedWorker[] = [];
  for (let each = 0; each < count; each++) workers.push(await open());
  return { scene, server, workers };
}

async function leaseOf(server: string) {
  const leases = await opened.services.db.select().from(schema.serverLeases);
  return leases.find(({ url }) => url === server);
}

/** The node's process was killed, and the others noticed so long ago. */
const lose = (nodeId: string | undefined, agoMs: number) =>
  loseNode(opened.services, { nodeId: nodeId ?? "", agoMs });

async function claimFor(services: Services, url: string, nodeId: string) {
  return takeServer(services, newServerClaim({ url, nodeId, jobId: newId() }));
}

test("of twenty workers that reach for a server one gets it", async () => {
  const { services } = opened;
  const url = "http://racers.test:8080";
  const racers = Array.from({ length: 20 }, (_, at) => claimFor(services, url, nodeIds[at % 2] ?? ""));
  const got = (await Promise.all(racers)).filter((lease) => lease !== null);
  expect(got).toEqual([{ mayBeBusy: false }]);
});

test("a lost node's server is free once its run must have ended; a lost node itself gets none", async () => {
  const services = withRest(60_000);
  const url = "http://lost.test:8080";
  const [gone, alive] = [await addNode(services), await addNode(services)];
  expect(await claimFor(services, url, gone)).toEqual({ mayBeBusy: false });
  expect(await claimFor(services, url, alive)).toBeNull();
  await lose(gone, 30_000);
  expect(await claimFor(services, url, alive)).toBeNull();
  await lose(gone, 60_001);
  expect(await claimFor(services, url, gone)).toBeNull();
  expect(await claimFor(services, url, alive)).toEqual({ mayBeBusy: true });
});

test("workers on one server run one after another, and a worker that waits gets its turn", async () => {
  const { server, workers } = await openWorkers({ workMs: 100 });
  const [first, second] = workers;
  const runs = [first, second, first, second, first].map(async (worker) => worker?.upscale());
  await Promise.all(runs);
  expect(server.stats()).toMatchObject({ plugins: { RealESRGAN: 5 }, mostAtOnce: 1, failures: 0 });
  // The lease ends after the answer, beside the run.
  await vi.waitUntil(async () => (await leaseOf(server.url)) === undefined, waiting);
});

test("a server that another worker uses is busy, and free again after the other's answer", async () => {
  const { server, workers } = await openWorkers({ workMs: 60_000 });
  const [first, second] = workers;
  const cancel = new AbortController();
  const run = first?.upscale(cancel.signal);
  await vi.waitUntil(() => second?.pool.list()[0]?.isFree === false, waiting);
  expect(second?.pool.list()[0]).toMatchObject({ state: "healthy", jobId: null });
  cancel.abort(new Error("cancelled"));
  await expect(run).rejects.toThrow("cancelled");
  // The server has not answered: it is still the first one's.
  expect(await leaseOf(server.url)).toMatchObject({ nodeId: first?.nodeId, freeAt: null });
  await server.kill();
  await vi.waitUntil(async () => (await leaseOf(server.url)) === undefined, waiting);
  await server.start();
  await vi.waitUntil(() => second?.pool.list()[0]?.isFree === true, waiting);
});

test("a failure beside a run whose answer was given up costs nothing, the next one counts", async () => {
  const { server, workers } = await openWorkers({ workers: 1, abandonMs: 50 });
  const [worker] = workers;
  server.inject({ kind: "hang" });
  const cancel = new AbortController();
  const run = worker?.upscale(cancel.signal);
  await vi.waitUntil(() => server.stats().mostAtOnce === 1, waiting);
  cancel.abort(new Error("cancelled"));
  await expect(run).rejects.toThrow("cancelled");
  await vi.waitUntil(() => worker?.pool.list()[0]?.isFree === true, waiting);
  for (const code of ["server_busy", "engine_failed"]) {
    server.inject({ kind: "error" });
    await expect(worker?.upscale()).rejects.toMatchObject({ code, details: { server: server.url } });
  }
});

test("a server is left alone while a killed worker's run may go on there, then used by the others", async () => {
  const { server, workers } = await openWorkers({ workMs: 60_000 });
  const [killed, other] = workers;
  const lost = killed?.upscale();
  lost?.catch(() => undefined);
  await vi.waitUntil(() => server.stats().mostAtOnce === 1, waiting);
  await vi.waitUntil(() => other?.pool.list()[0]?.isFree === false, waiting);
  await lose(killed?.nodeId, 0);
  const before = other?.pool.list()[0]?.probedAt;
  await vi.waitUntil(() => other?.pool.list()[0]?.probedAt !== before, waiting);
  expect(other?.pool.list()[0]?.isFree).toBe(false);
  await lose(killed?.nodeId, 60_001);
  await vi.waitUntil(() => other?.pool.list()[0]?.isFree === true, waiting);
});

test("a connection that breaks leaves the server alone, a server that ended with it does not", async () => {
  const { server, workers } = await openWorkers({ workers: 1 });
  const [worker] = workers;
  server.inject({ kind: "lost-answer" });
  await expect(worker?.upscale()).rejects.toMatchObject({ code: "server_lost" });
  await vi.waitUntil(async () => (await leaseOf(server.url))?.freeAt instanceof Date, waiting);
  const isShut = () => {
    const [state] = worker?.pool.list() ?? [];
    return state?.state === "healthy" && !state.isFree;
  };
  await vi.waitUntil(isShut, waiting);
  await server.kill();
  await vi.waitUntil(async () => (await leaseOf(server.url)) === undefined, waiting);
  await server.start();
  await vi.waitUntil(() => worker?.pool.list()[0]?.isFree === true, waiting);
  await worker?.upscale();
});

test("a lease that no run of its node knows is ended", async () => {
  const { server, workers } = await openWorkers({ workers: 1 });
  const nodeId = workers[0]?.nodeId ?? "";
  expect(await claimFor(opened.services, server.url, nodeId)).not.toBeNull();
  await vi.waitUntil(async () => (await leaseOf(server.url)) === undefined, waiting);
});

test("A17 a worker that stops leaves word that its run may go on at the server", async () => {
  const { server, workers } = await openWorkers({ workers: 1, workMs: 60_000 });
  const run = workers[0]?.upscale();
  run?.catch(() => undefined);
  await vi.waitUntil(() => server.stats().mostAtOnce === 1, waiting);
  await workers[0]?.engine.close();
  expect((await leaseOf(server.url))?.freeAt).toBeInstanceOf(Date);
});
