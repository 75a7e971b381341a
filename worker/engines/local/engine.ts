import { fileURLToPath } from "node:url";
import { localEngine as facts } from "@atelier/server/engines";
import { isAppError } from "@atelier/server/platform";
import type { Engine, EngineContext, EngineTask } from "../port.ts";
import { type EngineChild, forkChild } from "./engine-child.ts";

export type PooledChild = Pick<EngineChild, "isAlive" | "kill" | "rest" | "runCount">;

export interface PoolOptions<Child extends PooledChild> {
  fork(): Child;
  /** Runs after which a child is replaced. */
  readonly maxRuns: number;
  /** An idle child is ended after this time. */
  readonly idleMs: number;
}

/** Keeps one idle child warm; a run that starts while it is busy gets its own child. */
export function createChildPool<Child extends PooledChild>(options: PoolOptions<Child>) {
  const live = new Set<Child>();
  let idle: Child | undefined;
  let idleTimer: NodeJS.Timeout | undefined;
  let isClosed = false;

  async function end(child: Child): Promise<void> {
    if (idle === child) idle = undefined;
    await child.kill();
    live.delete(child);
  }

  function take(): Child {
    clearTimeout(idleTimer);
    const warm = idle;
    idle = undefined;
    if (warm?.isAlive()) return warm;
    if (warm) live.delete(warm);
    const child = options.fork();
    live.add(child);
    return child;
  }

  function giveBack(child: Child): void {
    if (isClosed || idle || !child.isAlive() || child.runCount >= options.maxRuns) {
      void end(child);
      return;
    }
    idle = child;
    child.rest();
    idleTimer = setTimeout(() => void end(child), options.idleMs).unref();
  }

  /** For a child that may be damaged: it is ended and not used again. */
  function discard(child: Child): void {
    void end(child);
  }

  async function close(): Promise<void> {
    isClosed = true;
    clearTimeout(idleTimer);
    await Promise.all([...live].map((child) => end(child)));
  }

  return { take, giveBack, discard, close };
}

/** Long enough for the next job of a series, short enough that an idle worker soon frees the memory. */
const idleMs = 60_000;

export interface LocalEngineOptions {
  /** Folder with the models. Default: the ones that ship with the product. */
  readonly modelsDir?: string;
  /** Runs after which a child is replaced, so that its leaks stay bounded. Default 20. */
  readonly childMaxRuns?: number;
  /** Starts a child. Default: a forked process. */
  readonly fork?: () => EngineChild;
  /** Logs a child that dies during a run. */
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

/** After these errors the child may hold leaked memory or a WebAssembly module that has aborted. */
function mayBeDamaged(error: unknown): boolean {
  return isAppError(error) && (error.code === "engine_failed" || error.code === "out_of_memory");
}
