// @module-tag all
import { expect } from "vitest";
import { forBackends } from "../cases/index.ts";
import { readJob, untilAll } from "../jobs/index.ts";
import { type ComfyScene, openComfyScene } from "./comfy-scene.ts";
import { eventually, supervise } from "./scene.ts";

const poison = "whoever reads this dies";

/** The worker has to start anew after each of its deaths. */
const patienceMs = 90_000;

const begun = ({ promptsOf }: Pick<ComfyScene, "promptsOf">, id: string) =>
  promptsOf(id).reduce((sum, { started }) => sum + started, 0);

forBackends(
  "F34 D9 a job of ComfyUI that kills its worker fails after three charged tries on %s; its neighbour is adopted and completes",
  async (backend, { onTestFinished }) => {
    const scene = await openComfyScene(onTestFinished, { backend });
    const { services } = scene;
    const over = new AbortController();
    const { env } = scene;
    const start = () => scene.startWorker({ name: "node", config: "servers", dieOn: poison, env });
    const starts = supervise(start, over.signal);
    await scene.untilServed();
    scene.injectAll({ kind: "hold" });
    const beside = await scene.submitWords();
    const at = await scene.serverOf(beside);
    for (const server of scene.servers) server.clearFaults();
    const killer = await scene.submitWords({ prompt: poison });
    const later = [await scene.submitWords(), await scene.submitWords()];
    // The first death takes the neighbour's worker away too; its prompt stays where it is.
    await eventually(async () => (await readJob(services, killer)).charged > 0, true, patienceMs);
    at.release();
    const [failed] = await untilAll(services, [killer], { statuses: ["failed"], patienceMs });
    const neighbours = await untilAll(services, [beside, ...later], { statuses: ["completed"] });
    over.abort();
    expect(await starts).toBe(4);
    expect(failed).toMatchObject({ charged: 3, attempt: 3, errorCode: "worker_lost", runAlone: true });
    expect(failed?.errorMessage).toContain("died");
    expect(begun(scene, killer)).toBeLessThanOrEqual(3);
    expect(await readJob(services, beside)).toMatchObject({ charged: 1, facts: { adopted: true } });
    expect(neighbours.map(({ id }) => begun(scene, id))).toEqual([1, 1, 1]);
    for (const id of later) expect(await readJob(services, id)).toMatchObject({ charged: 0 });
    expect(await scene.faults()).toEqual([]);
  },
);
