import { describe, expect } from "vitest";
import { type Backend, forCases } from "../cases/index.ts";
import { addJob, readJob, readStory, untilAll } from "../jobs/index.ts";
import type { PausePoint } from "../worker/index.ts";
import { openScene, type Scene } from "./scene.ts";

/**
 * The bound of the requirement, in the product's own lease times: from the kill, or from the return of the restarted
 * worker, because how long a process starts is the machine's affair.
 */
const patienceMs = 15_000;
const points = ["fetched", "claimed", "running", "stored"] as const;
type Rescuer = "another worker" | "the restarted worker";

const lost = {
  fetched: [],
  // A job of the local engine is started by its claim.
  claimed: ["claimed", "started", "worker_lost", "queued"],
  running: ["claimed", "started", "worker_lost", "queued"],
  stored: ["claimed", "started", "worker_lost", "queued"],
} satisfies Partial<Record<PausePoint, string[]>>;

/** Kills a worker at the point and returns once its successor is there. */
async function killAt(scene: Scene, point: PausePoint, rescuer: Rescuer): Promise<string> {
  const doomed = await scene.startWorker({ name: "doomed", pauseAt: [point] });
  const id = await addJob(scene.services, { owner: scene.owner });
  await doomed.waitFor(new RegExp(`paused ${point}`));
  if (rescuer === "another worker") await scene.startWorker({ name: "other" });
  await doomed.kill9();
  if (rescuer === "the restarted worker") await scene.startWorker({ name: "doomed" });
  return id;
}

type Case = readonly [rescuer: Rescuer, backend: Backend];

interface Cases {
  readonly usual: readonly Case[];
  readonly others: readonly Case[];
}

/** Each point meets both rescuers and both backends, as does each rescuer each backend. */
const others: readonly Case[] = [
  ["another worker", "postgres"],
  ["the restarted worker", "redis"],
];

/** At once after the claim, and in the middle of the work by another worker and, since bells go other ways there, over Redis. */
const cases: Readonly<Record<(typeof points)[number], Cases>> = {
  fetched: { usual: [], others },
  claimed: { usual: [["the restarted worker", "postgres"]], others: [["another worker", "redis"]] },
  running: { usual: [["another worker", "redis"]], others: [["the restarted worker", "postgres"]] },
  stored: { usual: [], others },
};

// One point after another: more starts at once than these would be a test of the machine.
describe.each(points)("F1 D9 E7 a worker killed when it had %s", (point) => {
  forCases(
    "%s completes the job once, within 15 s, on %s",
    cases[point],
    async ([rescuer, backend], { onTestFinished }) => {
      const scene = await openScene(onTestFinished, { backend });
      const id = await killAt(scene, point, rescuer);
      await untilAll(scene.services, [id], { statuses: ["completed"], patienceMs });
      const charged = point === "fetched" ? 0 : 1;
      expect(await readJob(scene.services, id)).toMatchObject({ charged, attempt: charged + 1 });
      const story = (await readStory(scene.services, id)).map((line) => line.type);
      expect(story).toEqual(["created", "queued", ...lost[point], "claimed", "started", "completed"]);
      expect(await scene.faults()).toEqual([]);
    },
  );
});
