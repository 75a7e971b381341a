import { expect, test } from "vitest";
import { orderChain } from "@atelier/server/providers";
import { readJob, until } from "../jobs/index.ts";
import { type CloudScene, openCloudScene, readAttempts } from "./cloud-scene.ts";
import { eventually, realTimeMs } from "./scene.ts";

const timeout = { timeout: realTimeMs };

/** The newest attempt: its error class, else its state. */
async function newest(scene: CloudScene, id: string) {
  const last = (await readAttempts(scene, id)).at(-1);
  return last?.class ?? last?.state;
}

test.concurrent(
  "F10 R1 a worker frozen during a call that was refused: the job goes on to the next provider and is paid once",
  timeout,
  async ({ onTestFinished }) => {
    const scene = await openCloudScene(onTestFinished, { keys: ["fal", "replicate"], behindLine: "fal" });
    await orderChain(scene.services.db, "nano-banana", ["fal", "replicate"]);
    const { fal } = scene.providers.simulators;
    fal.fault = "refuse";
    scene.line?.set({ toClient: { isSilent: true } });
    const frozen = await scene.startCloudWorker({ name: "frozen" });
    const id = await scene.generate("a still pond", { model: "nano-banana" });
    await eventually(() => fal.submits.length, 1);
    frozen.stop();
    await scene.startCloudWorker({ name: "other" });
    await eventually(() => newest(scene, id), "unknown");
    scene.line?.set({});
    frozen.cont();
    await until(scene.services, id, "completed");
    expect(await readAttempts(scene, id)).toMatchObject([
      { provider: "fal", class: "transient" },
      { provider: "replicate", state: "succeeded" },
    ]);
    expect(scene.chargedFor("a still pond")).toBe(1);
    expect(await scene.faults()).toEqual([]);
  },
);

test.concurrent(
  "F10 R1 a worker frozen before its call arrives: the job is made by another one, and the late run is cancelled",
  timeout,
  async ({ onTestFinished }) => {
    const scene = await openCloudScene(onTestFinished, {
      keys: ["replicate"],
      behindLine: "replicate",
      env: { APP_URL: "http://127.0.0.1:9" },
    });
    const { replicate } = scene.providers.simulators;
    replicate.pictureOrigin = replicate.origin;
    const late = await scene.startCloudWorker({ name: "late" });
    scene.line?.set({ toServer: { isSilent: true } });
    const id = await scene.generate("a slow letter");
    await eventually(() => newest(scene, id), "submitting");
    await eventually(() => (scene.line?.waiting() ?? 0) > 0, true);
    late.stop();
    await scene.startCloudWorker({ name: "other", env: { REPLICATE_BASE_URL: `${replicate.origin}/v1` } });
    await until(scene.services, id, "completed");
    replicate.end = "never";
    scene.line?.set({});
    late.cont();
    await eventually(
      () => [...replicate.runs.values()].map(({ state }) => state),
      ["succeeded", "cancelled"],
    );
    expect(scene.chargedFor("a slow letter")).toBe(1);
    expect(await readAttempts(scene, id)).toMatchObject([{ class: "unsent" }, { state: "succeeded" }]);
    expect(await readJob(scene.services, id)).toMatchObject({ status: "completed" });
    expect(await scene.faults()).toEqual([]);
  },
);
