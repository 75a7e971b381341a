import { AppError } from "@atelier/server/platform";
import type { JobKind } from "@atelier/server/engines";
import type { EngineOutput, EngineTask } from "../port.ts";
import type { LocalRun, RunContext } from "./run-context.ts";

// Loaded on first use: a child that only enlarges pictures never loads OpenCV.
const runs: Partial<Record<JobKind, () => Promise<LocalRun>>> = {
  outfit_change: async () => (await import("./outfit/run.ts")).runOutfitChange,
  upscale: async () => (await import("./upscale.ts")).runUpscale,
  inpaint: async () => (await import("./inpaint/run-inpaint.ts")).runInpaint,
  remove_background: async () => (await import("./background.ts")).runRemoveBackground,
};

/** Runs one task inside the child. Throws `no_engine` for a kind that this engine does not make. */
export async function runTask(task: EngineTask, context: RunContext): Promise<readonly EngineOutput[]> {
  const load = runs[task.kind];
  if (!load) throw new AppError("no_engine");
  const run = await load();
  return run(task, context);
}
