import { describe, expect } from "vitest";
import { type Backend, forCases } from "../cases/index.ts";
import { addJob, readJob, readStory, until } from "../jobs/index.ts";
import type { PausePoint, TestWorker } from "../worker/index.ts";
import { measureWithin, openScene, type Scene } from "./scene.ts";

/**
 * The bound of the requirement, in the product's own lease times: from the kill, or from the return of the restarted
 * worker, because how long a process starts is the machine's affair.
 */
const withinMs = 15_000;
const points = ["fetched", "claimed", "running", "stored"] as const;
type Rescuer = "another worker" | "the restarted worker";

const lost = {
  fetched: [],
  // A job of the local engine is started by its claim.
  claimed: ["claimed", "started", "worker_lost", "queued"],
  running: ["claimed", "started", "worker_lost", "queued"],
  stored: ["claimed", "started", "worker_lost", "queued"],
} satisfies Partial<Record<PausePoint, string[]>>;

interface Rescue {
  readonly id: string;
  readonly rescuer: TestWorker;
  readonly tookMs: number;
}

/** Kills a worker at the point, and waits until the job is completed: how long that took from when its successor is there. */
async function rescueAt(scene: Scene, point: PausePoint, by: Rescuer): Promise<Rescue> {
  const config = "real";
  const doomed = await scene.startWorker({ config, name: "doomed", pauseAt: [point] });
  const id = await addJob(scene.services, { owner: scene.owner });
  await doomed.waitFor(new RegExp(`paused ${point}`));
  const other = by === "another worker" ? await scene.startWorker({ config, name: "other" }) : null;
  await doomed.kill9();
  const rescuer = other ?? (await scene.startWorker({ config, name: "doomed" }));
  const fromMs = performance.now();
  await until(scene.services, id, "completed");
  return { id, rescuer, tookMs: performance.now() - fromMs };
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
      const readTakenMs = async () => {
        const { id, rescuer: own, tookMs } = await rescueAt(scene, point, rescuer);
        const charged = point === "fetched" ? 0 : 1;
        expect(await readJob(scene.services, id)).toMatchObject({ charged, attempt: charged + 1 });
        const story = (await readStory(scene.services, id)).map((line) => line.type);
        expect(story).toEqual(["created", "queued", ...lost[point], "claimed", "started", "completed"]);
        // The next one would take the job of another try.
        if (tookMs > withinMs) await own.kill9();
        return tookMs;
      };
      expect(await measureWithin(withinMs, readTakenMs)).toBeLessThan(withinMs);
      expect(await scene.faults()).toEqual([]);
    },
  );
});
