// @module-tag all
import { expect } from "vitest";
import { ingest } from "@atelier/server/images";
import sharp from "sharp";
import { waitUntil } from "../../scripts/process/tools.ts";
import { forCases } from "../cases/index.ts";
import { untilAll } from "../jobs/index.ts";
import { openLine } from "../network/index.ts";
import { type CloudScene, openCloudScene, readAttempts } from "./cloud-scene.ts";
import { eventually } from "./scene.ts";

const patienceMs = 60_000;

/** Too large to be sent within the request itself. */
async function addNoise({ services, owner }: CloudScene): Promise<string> {
  const noise = { type: "gaussian", mean: 128, sigma: 60 } as const;
  const bytes = await sharp({ create: { width: 640, height: 640, channels: 3, background: "#888", noise } })
    .png()
    .toBuffer();
  const image = await ingest(services, { ownerId: owner.userId, role: "upload", bytes, name: "noise.png" });
  return image.id;
}

const cases = {
  usual: [{ provider: "replicate", database: "away", end: "completed", paid: 1 }],
  others: [
    { provider: "kie", database: "away", end: "failed", paid: 0 },
    { provider: "replicate", database: "back", end: "completed", paid: 1 },
  ],
} as const;

forCases(
  "F3 F20 R1 a worker without its database while pictures are sent to $provider, $database when they are there: $end, charged $paid times",
  cases,
  async ({ provider, database, end, paid }, { onTestFinished }) => {
    const scene = await openCloudScene(onTestFinished, { keys: [provider], webhooks: true });
    const { services } = scene;
    const simulator = scene.providers.simulators[provider];
    const upload = Promise.withResolvers<void>();
    simulator.heldUpload = upload.promise;
    const line = await openLine(services.env.DATABASE_URL ?? "");
    onTestFinished(() => line.close());
    const cutOff = await scene.startCloudWorker({
      name: "cut off",
      env: { DATABASE_URL: line.urlOf(services.env.DATABASE_URL ?? "") },
    });
    const request = { kind: "edit", model: "nano-banana-edit", inputs: { image: await addNoise(scene) } };
    const id = await scene.generate("a noise", request);
    await eventually(() => simulator.uploads, 1);
    line.set({ isCut: true });
    await scene.startWorker({ name: "other", config: "cloud" });
    await untilAll(services, [id], { statuses: [end], patienceMs });
    if (database === "back") line.set({});
    upload.resolve();
    const says = (what: RegExp) => waitUntil(() => what.test(cutOff.output()), patienceMs);
    // The end of its call waits for the database.
    expect(await says(/provider failed/)).toBe(true);
    line.set({});
    expect(await says(/submit ended/)).toBe(true);
    expect(await cutOff.term()).toBe(0);
    expect(scene.chargedFor("a noise")).toBe(paid);
    const attempts = await readAttempts(scene, id);
    expect(attempts.map((attempt) => attempt.class ?? attempt.state)).toEqual(
      paid === 1 ? ["unsent", "succeeded"] : ["lost"],
    );
    expect(await scene.faults()).toEqual([]);
  },
);
