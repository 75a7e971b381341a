// @module-tag all
import { expect } from "vitest";
import { drainNode, resumeNode } from "@atelier/server/nodes";
import { forBackends } from "../cases/index.ts";
import { readJob, readStory, until, untilAll } from "../jobs/index.ts";
import { listObjects } from "../pictures/index.ts";
import { type ComfyScene, openComfyScene } from "./comfy-scene.ts";
import { eventually } from "./scene.ts";

const large = { steps: 100 };

/** A node that is drained ends its job; what comes meanwhile runs on the other one. */
async function expectDrain(scene: ComfyScene): Promise<void> {
  const { services } = scene;
  scene.injectAll({ kind: "hold" });
  const held = await scene.submitWords(large);
  await scene.serverOf(held);
  for (const server of scene.servers) server.clearFaults();
  const { nodeId } = await until(services, held, "processing");
  await drainNode(services, { id: nodeId ?? "" });
  const meanwhile = [await scene.submitWords(), await scene.submitWords()];
  const claimed = await untilAll(services, meanwhile, { statuses: ["processing", "completed"] });
  expect(claimed.map((job) => job.nodeId === nodeId)).toEqual([false, false]);
  expect((await readJob(services, held)).status).toBe("processing");
  for (const server of scene.servers) server.release();
  expect(await until(services, held, "completed")).toMatchObject({ nodeId, attempt: 1 });
  await untilAll(services, meanwhile, { statuses: ["completed"] });
  await resumeNode(services, { id: nodeId ?? "" });
}

forBackends(
  "F10 E7 D9 two workers hold one job of ComfyUI on %s: the late one writes nothing and leaves the server alone; one that is drained ends its job",
  async (backend, { onTestFinished }) => {
    const scene = await openComfyScene(onTestFinished, { backend });
    const { services } = scene;
    const late = await scene.startComfyWorker({ name: "late" });
    scene.injectAll({ kind: "hold" });
    const id = await scene.submitWords(large);
    const at = await scene.serverOf(id);
    for (const server of scene.servers) server.clearFaults();
    await scene.startComfyWorker({ name: "other" });
    late.stop();
    await eventually(async () => (await readJob(services, id)).attempt, 2, 90_000);
    await until(services, id, "processing");
    at.release();
    const job = await until(services, id, "completed");
    expect(job).toMatchObject({ attempt: 2, charged: 1, server: at.url, facts: { adopted: true } });
    const read = async () => [
      await readJob(services, id),
      await readStory(services, id),
      await listObjects(services),
    ];
    const before = await read();
    late.cont();
    await late.waitFor(/this node was marked lost/);
    await late.waitFor(/"outcome":"fenced"/);
    await late.waitFor(/node registered[^]*node registered/);
    expect(await read()).toEqual(before);
    expect(scene.promptsOf(id)).toMatchObject([{ posted: 1, started: 1, finished: 1, interrupted: 0 }]);
    await expectDrain(scene);
    expect(await scene.faults()).toEqual([]);
  },
);
