// @module-tag all
import { expect, test } from "vitest";
import { realTimeMs } from "../cases/index.ts";
import { readJob, readStory, until } from "../jobs/index.ts";
import { openCloudScene, readAttempts } from "./cloud-scene.ts";
import { eventually } from "./scene.ts";

test(
  "E3 E5 a job that waits for a busy provider is not claimed again before the provider has room",
  { timeout: realTimeMs },
  async ({ onTestFinished }) => {
    // The published limit of fal: two runs at once.
    const scene = await openCloudScene(onTestFinished, { keys: ["fal"] });
    const { services } = scene;
    const { fal } = scene.providers.simulators;
    fal.end = "never";
    await scene.startCloudWorker();
    const model = "nano-banana";
    const running = [await scene.generate("one", { model }), await scene.generate("two", { model })];
    for (const id of running)
      await eventually(async () => (await readAttempts(scene, id))[0]?.state, "accepted");
    const last = await scene.generate("the last", { model });
    const storyOf = async (id: string) => (await readStory(services, id)).map(({ type }) => type);
    await eventually(async () => (await storyOf(last)).includes("providers_busy"), true);
    await until(services, last, "queued");
    // Bells ring for it again and again, and nobody claims it.
    const { ring } = await readJob(services, last);
    await eventually(async () => (await readJob(services, last)).ring >= ring + 2, true);
    const asked = ["queued", "claimed", "started"];
    const waiting = ["created", ...asked, "providers_busy", "queued"];
    expect(await storyOf(last)).toEqual(waiting);
    fal.end = "succeeded";
    for (const run of fal.runs.values()) fal.finish(run, "succeeded");
    for (const id of running) await until(services, id, "completed");
    await until(services, last, "completed");
    const story = (await storyOf(last)).filter((type) => type !== "progress");
    expect(story).toEqual([
      ...waiting,
      "claimed",
      "started",
      "provider_tried",
      "provider_accepted",
      "completed",
    ]);
    expect(scene.chargedFor("the last")).toBe(1);
    expect(await scene.faults()).toEqual([]);
  },
);
