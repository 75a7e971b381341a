import { fileURLToPath } from "node:url";
import { localEngine as facts } from "@atelier/server/engines";
import { isAppError } from "@atelier/server/platform";
import type { Engine, EngineContext, EngineTask } from "../port.ts";
import { createChildPool } from "./child-pool.ts";
import { forkChild, type EngineChild } from "./engine-child.ts";

/** Long enough for the next job of a series, short enough that an idle worker is small again soon. */
const idleMs = 60_000;

export interface LocalEngineOptions {
  /** Folder with the models. Default: the ones that ship with the product. */
  readonly modelsDir?: string;
  /** Runs after which a child is replaced, so that what it leaks stays bounded. Default 20. */
  readonly childMaxRuns?: number;
  /** Starts a child. Default: a forked process. */
  readonly fork?: () => EngineChild;
  /** Gets a line when a child dies in mid-run. Fits a pino logger. */
  readonly log?: { warn(fields: object, message: string): void };
}

/**
 * The engine that ships with the product: every run happens in a forked child, since inference blocks an event loop.
 * One idle child is kept warm; runs at the same time get a child each. Abort is SIGKILL of the child.
 * Throws the codes of the kind, `engine_crashed` when the child dies and `engine_failed` for anything unforeseen.
 */
export function createLocalEngine(options: LocalEngineOptions = {}): Engine {
  const modelsDir = options.modelsDir ?? fileURLToPath(new URL("./models/", import.meta.url));
  const fork = options.fork ?? forkChild;
  const pool = createChildPool({ fork, maxRuns: options.childMaxRuns ?? 20, idleMs });

  async function run(task: EngineTask, context: EngineContext) {
    context.signal.throwIfAborted();
    const child = pool.take();
    try {
      const outputs = await child.run({ task, modelsDir }, context);
      pool.giveBack(child);
      return outputs;
    } catch (error) {
      if (!child.isAlive() && !context.signal.aborted) {
        options.log?.warn({ err: error, jobId: task.jobId, pid: child.pid }, "local engine child died");
      }
      if (mayBeDamaged(error)) pool.discard(child);
      else pool.giveBack(child);
      throw error;
    }
  }

  return { name: facts.name, kinds: facts.kinds, run, close: () => pool.close() };
}

/** After these the child may hold memory that nobody frees, or a WebAssembly module that stopped for good. */
function mayBeDamaged(error: unknown): boolean {
  return isAppError(error) && (error.code === "engine_failed" || error.code === "out_of_memory");
}
