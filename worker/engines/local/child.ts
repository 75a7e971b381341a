import { Worker } from "node:worker_threads";
import type { ChildMessage, RunMessage } from "./messages.ts";
import { runTask } from "./run-task.ts";
import { createRuntime, type Runtime } from "./runtime/create-runtime.ts";
import { packError } from "./wire-error.ts";

const runtimes = new Map<string, Runtime>();

function say(message: ChildMessage): void {
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
      progress: (fraction, stage) => say({ type: "progress", fraction, stage }),
      preview: (bytes) => say({ type: "preview", bytes }),
    });
    say({ type: "done", outputs });
  } catch (error) {
    say({ type: "failed", error: packError(error) });
  }
}

new Worker(new URL("./parent-watch.ts", import.meta.url), {
  workerData: { parentPid: Number(process.argv[2]) },
}).unref();
process.on("disconnect", () => process.exit());
process.on("message", (message: RunMessage) => void answer(message));
