import { sql } from "drizzle-orm";
import { expect } from "vitest";
import { schema } from "@atelier/server/db";
import { forCases } from "../cases/index.ts";
import { readJob, until } from "../jobs/index.ts";
import { openCloudScene, readAttempts } from "./cloud-scene.ts";
import { eventually } from "./scene.ts";

/** One that signs with a secret and reports several events, one that signs with published keys, one that does not sign. */
const reporting = {
  usual: [{ provider: "replicate", request: { model: "flux-2-pro" } }],
  others: [
    { provider: "fal", request: { model: "z-image-turbo" } },
    { provider: "fashn", request: { model: "background-remove", kind: "remove_background", params: {} } },
  ],
} as const;

forCases(
  "E6 F21 F22 F23 webhooks of $provider that come before the answer to the submit, five at once, out of order and again later have one effect",
  reporting,
  async ({ provider, request }, { onTestFinished }) => {
    const scene = await openCloudScene(onTestFinished, { keys: [provider], webhooks: true });
    const simulator = scene.providers.simulators[provider];
    simulator.reportedEvents = ["completed", "start", "output"];
    simulator.webhooks = 5;
    const answers = Promise.withResolvers<void>();
    simulator.heldAnswers = answers.promise;
    await scene.startCloudWorker();
    const inputs = "kind" in request ? { inputs: { image: scene.owner.imageId } } : {};
    const id = await scene.generate("an echo", { ...request, ...inputs });
    await eventually(() => simulator.charged().length, 1);
    const perRun = provider === "replicate" ? 15 : 5;
    await eventually(() => simulator.reported.length, perRun);
    expect((await readAttempts(scene, id)).map(({ state }) => state)).toEqual(["submitting"]);
    answers.resolve();
    await until(scene.services, id, "completed");
    const ended = await readJob(scene.services, id);
    for (const run of simulator.runs.values())
      await Promise.all([simulator.report(run), simulator.report(run)]);
    expect(new Set(simulator.reported)).toEqual(new Set([204]));
    expect(await readJob(scene.services, id)).toEqual(ended);
    expect(await readAttempts(scene, id)).toEqual([{ provider, state: "succeeded", class: null }]);
    const { images } = schema;
    expect(await scene.services.db.$count(images, sql`${images.jobId} = ${id}`)).toBe(1);
    expect([simulator.submits.length, simulator.charged().length]).toEqual([1, 1]);
    expect(await scene.faults()).toEqual([]);
  },
);
