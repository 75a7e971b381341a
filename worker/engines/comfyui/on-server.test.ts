import { inAll } from "@atelier/testing/cases";
import { AppError } from "@atelier/server/platform";
import type { ComfySimulator } from "@atelier/testing/comfyui";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { RunStopped } from "../../base/index.ts";
import type { ServerPool } from "../../servers/index.ts";
import type { Engine, EngineTask } from "../port.ts";
import { newContext, openScene, type Scene } from "./fixtures/open-scene.ts";

let scene: Scene;
beforeEach(async () => {
  scene = await openScene();
});
afterEach(() => scene.close());

/** The second try of a job whose first one is at work on the server. */
async function leaveAtWork(server: ComfySimulator): Promise<EngineTask> {
  const { engine } = await scene.openEngine(server);
  server.inject({ kind: "hold" });
  const controller = new AbortController();
  const { context, submissions } = newContext({ signal: controller.signal });
  const task = scene.newTask({ workflow: "t2i_sd15" });
  const run = engine.run(task, context);
  await vi.waitUntil(() => server.prompts()[0]?.started === 1, { timeout: 10_000 });
  controller.abort(new RunStopped("stopping"));
  await expect(run).rejects.toThrow("stopping");
  return { ...task, attempt: 2, submission: submissions[0] ?? null };
}

async function expectAdopted(engine: Engine, task: EngineTask, servers: readonly ComfySimulator[]) {
  const told = newContext();
  const run = engine.run(task, told.context);
  const [at] = servers;
  await vi.waitUntil(() => at?.stats().requests["GET /history/{id}"], { timeout: 10_000 });
  at?.release();
  expect(await run).toMatchObject([{ facts: { adopted: true } }]);
  expect(told.submissions).toEqual([]);
  expect(servers.flatMap((server) => server.prompts())).toMatchObject([{ posted: 1, finished: 1 }]);
}

/** What a server is like that still has the job, beside one that is well. */
const conditions: [string, (pool: ServerPool, at: ComfySimulator) => void][] = [
  ["draining", (pool, at) => pool.setDrained(new Set([at.url]))],
  [
    "degraded",
    (pool, at) => {
      for (const need of ["comfyui/t2i_sd15", "comfyui/t2i_sdxl"] as const)
        for (let run = 0; run < 3; run++) pool.report(at.url, new AppError("engine_failed"), need);
    },
  ],
  ["down", (pool, at) => pool.report(at.url, new AppError("server_lost"), "comfyui/t2i_sd15")],
];

describe("F3 A17 with another server free", () => {
  test.each(conditions)("a job is adopted on a server that is %s, not run twice", async (state, change) => {
    const [at, other] = [await scene.startServer(), await scene.startServer()];
    const task = await leaveAtWork(at);
    const { engine, pool } = await scene.openEngine(at, other);
    change(pool, at);
    expect(pool.list()[0]?.state).toBe(state);
    await expectAdopted(engine, task, [at, other]);
  });

  test("a job is adopted on a server that a worker that just began has heard nothing of", async () => {
    const [at, other] = [await scene.startServer(), await scene.startServer()];
    const task = await leaveAtWork(at);
    const { promise: until, resolve: answer } = Promise.withResolvers<void>();
    // The pool of the first try asks as well.
    at.inject({ kind: "slow-answer", until, path: "GET /system_stats", times: "forever" });
    const { engine, pool } = scene.openColdEngine(at, other);
    await vi.waitUntil(() => pool.list()[1]?.state === "healthy", { timeout: 10_000, interval: 5 });
    expect(pool.list()[0]?.state).toBe("unknown");
    const adopted = expectAdopted(engine, task, [at, other]);
    answer();
    await adopted;
  });

  test("a job is adopted on a server that has lost a model since", async () => {
    const [at, other] = [await scene.startServer(), await scene.startServer()];
    const task = await leaveAtWork(at);
    at.setModels({});
    const { engine, pool } = await scene.openEngine(at, other);
    expect(pool.list()[0]?.needs).not.toContain(task.need);
    await expectAdopted(engine, task, [at, other]);
  });

  test("a job is run anew when its server stays away or is not of this node", inAll, async () => {
    const [at, other] = [await scene.startServer(), await scene.startServer()];
    const task = await leaveAtWork(at);
    const { engine: without } = await scene.openEngine(other);
    expect(await without.run(task, newContext().context)).toHaveLength(1);
    const { engine, pool } = await scene.openEngine(at, other);
    await at.kill();
    await vi.waitUntil(() => pool.list()[0]?.state === "down", { timeout: 10_000 });
    expect(await engine.run(task, newContext().context)).toHaveLength(1);
    expect(other.prompts()).toHaveLength(2);
  });
});

test("F3 a server that is drained is not given anew what it no longer has", async () => {
  const [at, other] = [await scene.startServer(), await scene.startServer()];
  const task = await leaveAtWork(at);
  await at.restart();
  const { engine, pool } = await scene.openEngine(at, other);
  pool.setDrained(new Set([at.url]));
  expect(await engine.run(task, newContext().context)).toHaveLength(1);
  expect(at.prompts()).toMatchObject([{ posted: 1, lost: 1 }]);
  expect(other.prompts()).toMatchObject([{ posted: 1, finished: 1 }]);
});
