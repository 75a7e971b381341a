import { flushCompileCache } from "node:module";
import { Worker } from "node:worker_threads";
import type { JobKind } from "@atelier/server/engines";
import { AppError } from "@atelier/server/platform";
import type { EngineOutput, EngineTask } from "../port.ts";
import { type ChildMessage, packError, type RunMessage } from "./engine-child.ts";
import type { LocalRun, RunContext } from "./run-context.ts";
import { createRuntime, type Runtime } from "./runtime.ts";

// Loaded on first use: a child that only upscales never loads OpenCV.
const runs: Partial<Record<JobKind, () => Promise<LocalRun>>> = {
  outfit_change: async () => (await import("./outfit/change.ts")).runOutfitChange,
  upscale: async () => (await import("./upscale.ts")).runUpscale,
  inpaint: async () => (await import("./inpaint/erase.ts")).runInpaint,
  remove_background: async () => (await import("./background.ts")).runRemoveBackground,
  segment: async () => (await import("./background.ts")).runSelectSubject,
  adjust: async () => (await import("./retouch.ts")).runAdjust,
  crop: async () => (await import("./retouch.ts")).runCrop,
  restore: async () => (await import("./retouch.ts")).runRestore,
};

/** Runs one task inside the child. Throws `no_engine` for a kind that the local engine cannot run. */
async function runTask(task: EngineTask, context: RunContext): Promise<readonly EngineOutput[]> {
  const load = runs[task.kind];
  if (!load) throw new AppError("no_engine");
  const run = await load();
  return run(task, context);
}

const runtimes = new Map<string, Runtime>();

function send(message: ChildMessage): void {
  process.send?.(message);
}

function runtimeOf(modelsDir: string): Runtime {
  const known = runtimes.get(modelsDir);
  if (known) return known;
  const runtime = createRuntime(modelsDir);
  runtimes.set(modelsDir, runtime);
  return runtime;
}

async function answer({ task, modelsDir }: RunMessage): Promise<void> {
  try {
    const outputs = await runTask(task, {
      runtime: runtimeOf(modelsDir),
      progress: (fraction, stage) => send({ type: "progress", fraction, stage }),
      preview: (bytes) => send({ type: "preview", bytes }),
    });
    send({ type: "done", outputs });
    // The next child starts sooner; this one is killed when it is no longer needed, and never writes it at an end.
    flushCompileCache();
  } catch (error) {
    send({ type: "failed", error: packError(error) });
  }
}

new Worker(new URL("./parent-watch.ts", import.meta.url), {
  workerData: { parentPid: Number(process.argv[2]) },
}).unref();
process.on("disconnect", () => process.exit());
process.on("message", (message: RunMessage) => void answer(message));
