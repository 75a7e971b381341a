// @module-tag all
import { expect, test } from "vitest";
import { schema } from "@atelier/server/db";
import { cancel, dispatch } from "@atelier/server/jobs";
import { drainNode, resumeNode } from "@atelier/server/nodes";
import { realTimeMs } from "../cases/index.ts";
import { readJob, until } from "../jobs/index.ts";
import { openComfyScene } from "./comfy-scene.ts";
import { eventually } from "./scene.ts";

test.concurrent(
  "A10 D3 jobs of one workflow never take the place of a server that cannot run it",
  { timeout: realTimeMs },
  async ({ onTestFinished }) => {
    const scene = await openComfyScene(onTestFinished, {
      servers: [{ missingClasses: ["KSampler"] }, { missingClasses: ["UpscaleModelLoader"] }],
    });
    const { services, owner, servers } = scene;
    servers[0]?.inject({ kind: "hold", nodeClass: "UpscaleModelLoader", times: "forever" });
    const worker = await scene.startComfyWorker();
    const [node] = await services.db.select().from(schema.nodes);
    const id = node?.id ?? "";
    // Drained meanwhile, so that it may claim all of them at once.
    await drainNode(services, { id });
    await worker.waitFor(/"queue":"gpu-high","msg":"queue left"/);
    const pictures = [await scene.submitPicture(), await scene.submitPicture(), await scene.submitPicture()];
    for (const queue of (await resumeNode(services, { id })).queues) await dispatch(services, queue);
    await eventually(() => servers[0]?.prompts().length, 1);
    const words = [await scene.submitWords(), await scene.submitWords()];
    for (const id of words) await until(services, id, "completed");
    const jobs = await Promise.all(pictures.map((id) => readJob(services, id)));
    expect(jobs.map(({ attempt }) => attempt).toSorted((a, b) => a - b)).toEqual([0, 0, 1]);
    await Promise.all(pictures.map((id) => cancel(services, { ownerId: owner.userId, id })));
    servers[0]?.release();
    for (const id of pictures) await until(services, id, "cancelled");
    expect(await scene.faults()).toEqual([]);
  },
);
