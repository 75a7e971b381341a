// @module-tag all
import { expect, test } from "vitest";
import { cancel } from "@atelier/server/jobs";
import { realTimeMs } from "../cases/index.ts";
import { until } from "../jobs/index.ts";
import { type ComfyScene, openComfyScene } from "./comfy-scene.ts";
import { eventually } from "./scene.ts";

const large = { steps: 100 };

/** A job whose worker was killed while its server, which goes on, was at work on it. */
async function leaveAtWork(scene: ComfyScene) {
  const [at, other] = scene.servers;
  if (!at || !other) throw new Error("two servers are needed");
  const doomed = await scene.startComfyWorker({ name: "doomed", servers: [at] });
  at.inject({ kind: "hang" });
  const id = await scene.submitWords(large);
  await scene.serverOf(id);
  await doomed.kill9();
  return { at, other, id };
}

test.concurrent(
  "F3 F36 what a killed worker left on a server ends when its job was run elsewhere",
  { timeout: realTimeMs },
  async ({ onTestFinished }) => {
    const scene = await openComfyScene(onTestFinished);
    const { services } = scene;
    const { at, other, id } = await leaveAtWork(scene);
    // The node that gets the job does not have its server.
    const rescuer = await scene.startComfyWorker({ name: "rescuer", servers: [other] });
    expect(await until(services, id, "completed")).toMatchObject({ attempt: 2, server: other.url });
    await rescuer.term();
    expect(at.prompts()).toMatchObject([{ started: 1, interrupted: 0 }]);
    await scene.startComfyWorker({ name: "owner", servers: [at] });
    await eventually(() => at.prompts()[0]?.interrupted, 1);
    expect(scene.promptsOf(id).map(({ finished }) => finished)).toEqual([0, 1]);
    expect(await scene.faults()).toEqual([]);
  },
);

test.concurrent(
  "F3 F36 what a killed worker left on a server ends when its job is cancelled before anybody takes it up",
  { timeout: realTimeMs },
  async ({ onTestFinished }) => {
    const scene = await openComfyScene(onTestFinished);
    const { services, owner } = scene;
    const { at, id } = await leaveAtWork(scene);
    expect(await cancel(services, { ownerId: owner.userId, id })).toMatchObject({ cancelled: true });
    await scene.startComfyWorker({ name: "owner", servers: [at] });
    expect(await until(services, id, "cancelled")).toMatchObject({ attempt: 1 });
    await eventually(() => at.prompts().map(({ interrupted }) => interrupted), [1]);
    expect(await scene.faults()).toEqual([]);
  },
);
