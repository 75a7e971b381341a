import { describe, expect, test } from "vitest";
import { addJob, readJob, readStory, untilAll } from "../jobs/index.ts";
import type { PausePoint } from "../worker/index.ts";
import { backends, openScene, realTimeMs, type Scene } from "./scene.ts";

/**
 * The bound of the requirement, in the product's own lease times: from the kill, or from the return of the restarted
 * worker, because how long a process starts is the machine's affair.
 */
const patienceMs = 15_000;
const points = ["fetched", "claimed", "running", "stored"] as const;
const rescuers = ["another worker", "the restarted worker"] as const;
const cases = points.flatMap((point) => rescuers.map((rescuer) => ({ point, rescuer })));

const lost = {
  fetched: [],
  // A job of the local engine is started by its claim.
  claimed: ["claimed", "started", "worker_lost", "queued"],
  running: ["claimed", "started", "worker_lost", "queued"],
  stored: ["claimed", "started", "worker_lost", "queued"],
} satisfies Partial<Record<PausePoint, string[]>>;

/** Kills a worker at the point and returns once its successor is there. */
async function killAt(scene: Scene, point: PausePoint, rescuer: (typeof rescuers)[number]): Promise<string> {
  const doomed = await scene.startWorker({ name: "doomed", pauseAt: [point] });
  const id = await addJob(scene.services, { owner: scene.owner });
  await doomed.waitFor(new RegExp(`paused ${point}`));
  if (rescuer === "another worker") await scene.startWorker({ name: "other" });
  await doomed.kill9();
  if (rescuer === "the restarted worker") await scene.startWorker({ name: "doomed" });
  return id;
}

// One case after another: more starts at once than these would be a test of the machine.
describe.each(cases)("F1 D9 E7 a worker killed when it had $point, $rescuer", ({ point, rescuer }) => {
  test.concurrent.for(backends)(
    "completes the job once, within 15 s, on %s",
    { timeout: realTimeMs },
    async (backend, { onTestFinished }) => {
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
