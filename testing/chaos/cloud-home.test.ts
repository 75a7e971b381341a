import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { submit } from "@atelier/server/jobs";
import { readSpend } from "@atelier/server/providers";
import { tiers } from "@atelier/server/db";
import { forCases, inAll, realTimeMs } from "../cases/index.ts";
import { insertJob, readStory, until, untilAll } from "../jobs/index.ts";
import { type CloudScene, openCloudScene, readAttempts } from "./cloud-scene.ts";

const timeout = { timeout: realTimeMs };

/** An own line that past runs say is too long, although the rows before the job never run; the own engine itself is free. */
async function makeLongLine({ services, owner }: CloudScene): Promise<void> {
  const ids: string[] = [];
  for (let count = 0; count < 26; count += 1) ids.push(await insertJob(services, { owner, tier: "high" }));
  const [past, waiting] = [ids.slice(0, 6), ids.slice(6)];
  await services.db
    .execute(sql`update jobs set status = 'completed', size_class = -13, started_at = now() - interval '20 seconds',
    ended_at = now() where id in ${past}`);
  await services.db
    .execute(sql`update jobs set size_class = -13, not_before = now() + interval '1 hour', tier = ${tiers.high}
    where id in ${waiting}`);
}

async function upscale(scene: CloudScene): Promise<string> {
  const request = { kind: "upscale", inputs: { image: scene.owner.imageId } };
  return (await submit(scene.services, request, { submitter: scene.owner })).id;
}

const typesOf = async (scene: CloudScene, id: string) =>
  (await readStory(scene.services, id)).map(({ type }) => type);

const ends = {
  usual: [{ end: "it fails", fault: "refuse" }],
  others: [
    { end: "its key is refused", fault: "auth" },
    { end: "it has too many requests", fault: "rate" },
  ],
} as const;

forCases(
  "E2 what overflowed goes home uncharged when the provider does not make it: $end",
  ends,
  async ({ fault }, { onTestFinished }) => {
    const scene = await openCloudScene(onTestFinished, { keys: ["fal"] });
    await scene.startCloudWorker();
    await makeLongLine(scene);
    scene.providers.simulators.fal.fault = fault;
    const id = await upscale(scene);
    const job = await until(scene.services, id, "completed");
    expect(job).toMatchObject({ engine: "local", model: null, charged: 0 });
    expect(await typesOf(scene, id)).toEqual(expect.arrayContaining(["claimed", "went_home", "completed"]));
  },
);

test.concurrent(
  "E2 a job that named no model goes on to the other models of its kind when all providers of the first are down",
  { ...timeout, ...inAll },
  async ({ onTestFinished }) => {
    const scene = await openCloudScene(onTestFinished, { keys: ["google", "fal", "replicate", "openai"] });
    const { google, fal, replicate } = scene.providers.simulators;
    for (const provider of [google, fal, replicate]) provider.fault = "auth";
    await scene.startCloudWorker();
    const id = await scene.generate("a green hat");
    const job = await until(scene.services, id, "completed");
    expect(job).toMatchObject({ engine: "cloud", server: "openai", charged: 0 });
    expect((await readAttempts(scene, id)).at(-1)).toMatchObject({ provider: "openai", state: "succeeded" });
    expect(await typesOf(scene, id)).toContain("model_changed");
    expect(scene.chargedFor("a green hat")).toBe(1);
  },
);

test.concurrent(
  "E2 the first eight jobs of a new studio all run on its own machine and cost nothing, whatever is assumed of it",
  timeout,
  async ({ onTestFinished }) => {
    const scene = await openCloudScene(onTestFinished, { keys: ["fal", "replicate"] });
    const worker = await scene.startCloudWorker({ script: { hang: true } });
    const ids = await Promise.all(Array.from({ length: 8 }, () => upscale(scene)));
    // Not before: how long the first took would be known to the last, and a busy machine may take long.
    worker.release();
    const jobs = await untilAll(scene.services, ids, { statuses: ["completed"] });
    expect(jobs.map(({ engine }) => engine)).toEqual(Array(8).fill("local"));
    expect(await readSpend(scene.services.db, scene.services.config, null)).toEqual({
      dayUsd: 0,
      monthUsd: 0,
    });
  },
);
