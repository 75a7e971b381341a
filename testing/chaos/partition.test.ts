import { setTimeout as sleep } from "node:timers/promises";
import { submit } from "@atelier/server/jobs";
import { afterAll, beforeAll, expect } from "vitest";
import { forCases, realTimeMs } from "../cases/index.ts";
import { untilAll } from "../jobs/index.ts";
import { type LineState, openLine } from "../network/index.ts";
import { startS3, type TestS3 } from "../s3/index.ts";
import { openScene, type Scene } from "./scene.ts";

type Fault = readonly [name: string, state: LineState, forMs: number];

/** Shorter than the time after which a node is called lost, but for the slow ones, which harm no beat. */
const faults: readonly Fault[] = [
  ["cut", { isCut: true }, 4_000],
  ["silent", { toServer: { isSilent: true }, toClient: { isSilent: true } }, 4_000],
  ["one way", { toClient: { isSilent: true } }, 4_000],
  ["2 s late", { toServer: { delayMs: 2_000 } }, 6_000],
  ["1 kB a second", { toServer: { bytesPerSecond: 1_000 }, toClient: { bytesPerSecond: 1_000 } }, 6_000],
  ["reset in the middle of answers", { resetAfterBytes: 300 }, 4_000],
];

let s3: TestS3;
beforeAll(async () => {
  s3 = await startS3();
}, realTimeMs);
afterAll(() => s3.destroy());

const all = { told: "cut, silent, one-way, late, slow and reset", chosen: faults };
const isBroken = ([name]: Fault) => name === "cut" || name.startsWith("reset");
const broken = { told: "cut and reset", chosen: faults.filter(isBroken) };

const parts = {
  usual: [{ part: "the database", name: "DATABASE_URL", backend: "postgres", ...broken }],
  others: [
    { part: "the database", name: "DATABASE_URL", backend: "postgres", ...all },
    { part: "the image store", name: "S3_ENDPOINT", backend: "postgres", ...all },
    { part: "Redis", name: "REDIS_URL", backend: "redis", ...all },
    { part: "the database, bells on Redis", name: "DATABASE_URL", backend: "redis", ...all },
  ],
} as const;

async function submitSome({ services, owner }: Scene, count: number): Promise<string[]> {
  const request = { kind: "upscale", inputs: { image: owner.imageId } };
  const ids: string[] = [];
  for (let at = 0; at < count; at += 1) ids.push((await submit(services, request, { submitter: owner })).id);
  return ids;
}

forCases(
  "F20 A3 the line from a worker to $part is $told: each job ends with one result, no slot stays taken",
  parts,
  async ({ name, backend, chosen }, { onTestFinished }) => {
    const env = name === "S3_ENDPOINT" ? { ...s3.env } : {};
    const scene = await openScene(onTestFinished, { backend, env });
    const { services } = scene;
    const address = services.env[name] ?? "";
    const line = await openLine(address);
    onTestFinished(() => line.close());
    const worker = await scene.startWorker({
      slots: 2,
      script: { runMs: 1_000 },
      env: { [name]: line.urlOf(address) },
    });
    const ids: string[] = [];
    for (const [fault, state, forMs] of chosen) {
      ids.push(...(await submitSome(scene, 2)));
      await worker.waitFor(new RegExp(`engine-start (${ids.slice(-2).join("|")})`));
      line.set(state);
      // Some come while the line is as it is.
      ids.push(...(await submitSome(scene, 2)));
      await sleep(forMs);
      line.set({});
      const jobs = await untilAll(services, ids, { statuses: ["completed"], patienceMs: 40_000 });
      expect([fault, jobs.filter(({ charged }) => charged > 0).length]).toEqual([fault, 0]);
    }
    expect(await worker.term()).toBe(0);
    expect(await scene.faults()).toEqual([]);
  },
);
