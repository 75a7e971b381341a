import { expect } from "vitest";
import { forBackends } from "../cases/index.ts";
import { readJob, untilAll } from "../jobs/index.ts";
import type { PausePoint } from "../worker/index.ts";
import { type ComfyScene, openComfyScene } from "./comfy-scene.ts";
import { eventually } from "./scene.ts";

/** Where the worker itself stops; in between the server makes it wait. */
const before = ["claimed", "uploaded", "noted"] as const;
const behind = ["made", "stored"] as const;
const points: readonly PausePoint[] = [...before, ...behind];

/** Longer than the test: the worker is killed while it waits for the answer. */
const answerMs = 120_000;

interface Doomed {
  readonly stage: string;
  readonly id: string;
}

/** One job at each stage of a single worker; it is then killed under all of them at once. */
async function bringToStages(scene: ComfyScene): Promise<Doomed[]> {
  const worker = await scene.startComfyWorker({ name: "doomed", pauseAt: points });
  const doomed: Doomed[] = [];
  const bring = async (stage: string, reached: (id: string) => Promise<unknown>) => {
    const id = await scene.submitPicture();
    await reached(id);
    doomed.push({ stage, id });
  };
  const paused = (point: PausePoint) => () => worker.waitFor(new RegExp(`paused ${point}`));
  for (const point of before) await bring(point, paused(point));
  scene.injectAll({ kind: "slow-answer", ms: answerMs, path: "POST /prompt", isDone: true });
  await bring("posted", async (id) => {
    await eventually(() => scene.promptsOf(id)[0]?.finished, 1);
  });
  for (const server of scene.servers) server.clearFaults();
  scene.injectAll({ kind: "hold" });
  await bring("executing", (id) => scene.serverOf(id));
  for (const server of scene.servers) server.clearFaults();
  for (const point of behind) await bring(point, paused(point));
  await worker.kill9();
  return doomed;
}

async function isAgainAtWork({ services }: ComfyScene, id: string): Promise<boolean> {
  const { attempt, status } = await readJob(services, id);
  return attempt === 2 && status === "processing";
}

/** How often the job was tried, and how often the servers were given it and began with it. */
async function readEnd(scene: ComfyScene, id: string) {
  const { attempt, charged, facts } = await readJob(scene.services, id);
  const prompts = scene.promptsOf(id);
  const sum = (what: "posted" | "started") => prompts.reduce((total, story) => total + story[what], 0);
  const isAdopted = facts?.["adopted"] === true;
  return { attempt, charged, posted: sum("posted"), started: sum("started"), isAdopted };
}

forBackends(
  "F1 F2 F3 F4 F5 F6 R1 a worker killed with jobs of ComfyUI at seven stages on %s: each is done once and run once",
  async (backend, { onTestFinished }) => {
    const scene = await openComfyScene(onTestFinished, {
      backend,
      servers: Array.from({ length: 7 }, () => ({})),
    });
    const doomed = await bringToStages(scene);
    await scene.startComfyWorker({ name: "rescuer" });
    const executing = doomed.find(({ stage }) => stage === "executing")?.id ?? "";
    await eventually(() => isAgainAtWork(scene, executing), true);
    for (const server of scene.servers) server.release();
    const ids = doomed.map(({ id }) => id);
    await untilAll(scene.services, ids, { statuses: ["completed"] });
    const ends: Record<string, unknown> = {};
    for (const { stage, id } of doomed) ends[stage] = await readEnd(scene, id);
    const once = { attempt: 2, charged: 1, posted: 1, started: 1 };
    const [anew, adopted] = [
      { ...once, isAdopted: false },
      { ...once, isAdopted: true },
    ];
    expect(ends).toEqual({
      claimed: anew,
      uploaded: anew,
      noted: anew,
      posted: adopted,
      executing: adopted,
      made: adopted,
      stored: adopted,
    });
    expect(await scene.faults()).toEqual([]);
  },
);
