import type { Job } from "@atelier/server/jobs";
import type { Config } from "@atelier/server/platform";

/**
 * How long a run may take, in ms. On a server it grows with megapixels times steps, which the job's size class holds as
 * 2 × log2; without a graphics card it is longer by a factor.
 */
export function runLimitMs(
  { timing, queues }: Config,
  job: Pick<Job, "engine" | "queue" | "sizeClass">,
): number {
  if (job.engine === "local") return timing.runLimitMs;
  const work = 2 ** (job.sizeClass / 2);
  const isGpu = (queues[job.queue]?.minVramGib ?? 0) > 0;
  const perWorkMs = timing.serverRunPerMegapixelStepMs * (isGpu ? 1 : timing.cpuRunFactor);
  return Math.round(timing.serverRunBaseMs + work * perWorkMs);
}
