import type { EngineChild } from "./engine-child.ts";

export type PooledChild = Pick<EngineChild, "isAlive" | "kill" | "rest" | "runCount">;

export interface PoolOptions<Child extends PooledChild> {
  fork(): Child;
  /** Runs after which a child is replaced. */
  readonly maxRuns: number;
  /** An idle child is ended after so long. */
  readonly idleMs: number;
}

/** Keeps one idle child warm; whoever comes while it is busy gets a child of its own. */
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

  /** For a child that may be damaged: nobody gets it again. */
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
