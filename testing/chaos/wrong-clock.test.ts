import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { schema } from "@atelier/server/db";
import { submit } from "@atelier/server/jobs";
import { expect } from "vitest";
import { forCases, realTimeMs } from "../cases/index.ts";
import { addJob, untilAll } from "../jobs/index.ts";
import { openScene } from "./scene.ts";

const minutesMs = 60_000;
const preload = pathToFileURL(path.join(import.meta.dirname, "../worker/shift-clock.ts")).href;
const cases = {
  usual: [{ backend: "postgres", minutes: 10 }],
  others: [
    { backend: "postgres", minutes: -10 },
    { backend: "redis", minutes: 10 },
    { backend: "redis", minutes: -10 },
  ],
} as const;

/**
 * How long, at least, the two workers watch each other at work: longer than the time after which `steady` calls one lost. By
 * timestamps either would be lost at the first look.
 */
const watchedMs = 25_000;

forCases(
  "F31 A3 a worker whose clock is $minutes minutes off, bells on $backend: no lease is taken early, each job runs once",
  cases,
  async ({ backend, minutes }, { onTestFinished }) => {
    const scene = await openScene(onTestFinished, { backend });
    const { services, owner } = scene;
    const env = {
      NODE_OPTIONS: `--import=${preload}`,
      ATELIER_TEST_CLOCK_SHIFT_MS: String(minutes * minutesMs),
    };
    const wrong = await scene.startWorker({ name: "wrong", slots: 2, env });
    const simulate = { hang: true };
    const long = await addJob(services, { owner, simulate });
    await wrong.waitFor(new RegExp(`engine-start ${long}`));
    const right = await scene.startWorker({ name: "right", slots: 2 });
    const longer = await addJob(services, { owner, simulate });
    const request = { kind: "upscale", inputs: { image: owner.imageId } };
    const ids = [long, longer];
    for (let count = 0; count < 20; count += 1)
      ids.push((await submit(services, request, { submitter: owner })).id);
    await sleep(watchedMs);
    for (const worker of [wrong, right]) worker.release();
    const jobs = await untilAll(services, ids, { statuses: ["completed"] });
    expect(jobs.filter(({ attempt, charged }) => attempt !== 1 || charged !== 0)).toEqual([]);
    const runs = (id: string) => wrong.count(`engine-start ${id}`) + right.count(`engine-start ${id}`);
    expect(ids.filter((id) => runs(id) !== 1)).toEqual([]);
    // The clock was wrong indeed: the log says so.
    const [line = ""] = wrong.output().split("\n");
    const { time } = JSON.parse(line) as { time: number };
    expect(Math.abs((time - Date.now()) / minutesMs - minutes)).toBeLessThan(5);
    const ended = jobs.map(({ endedAt }) => Math.abs((endedAt?.getTime() ?? 0) - Date.now()));
    expect(Math.max(...ended)).toBeLessThan(realTimeMs);
    const nodes = await services.db.select({ state: schema.nodes.state }).from(schema.nodes);
    expect(nodes.map(({ state }) => state)).toEqual(["active", "active"]);
    expect(await scene.faults()).toEqual([]);
  },
);
