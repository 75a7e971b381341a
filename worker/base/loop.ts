import type { Logger } from "@atelier/server/platform";

/** When something last happened; an idle worker sweeps less often. */
export interface Activity {
  /** Notes activity now; returns true when the worker was idle before. */
  note(): boolean;
  isIdle(): boolean;
}

export function createActivity(idleAfterMs: number): Activity {
  let activeAtMs = performance.now();
  const isIdle = () => performance.now() - activeAtMs > idleAfterMs;
  return {
    note() {
      const wasIdle = isIdle();
      activeAtMs = performance.now();
      return wasIdle;
    },
    isIdle,
  };
}

/** Work that repeats until it is stopped. */
export interface Loop {
  /** Starts the next pass now. */
  wake(): void;
  /** Resolves when the current pass is done. */
  stop(): Promise<void>;
}

const errorMs = 1_000;

/** Repeats `pass`, which returns the pause before the next one in ms. A pass that throws is logged and runs again in 1 s. */
export function startLoop(log: Logger, name: string, pass: () => Promise<number>): Loop {
  let stopped = false;
  let woken = false;
  let wakeUp = () => {
    woken = true;
  };
  const rest = (restMs: number) =>
    new Promise<void>((resolve) => {
      if (stopped || woken) {
        resolve();
        return;
      }
      const timer = setTimeout(resolve, restMs);
      wakeUp = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  const run = async () => {
    while (!stopped) {
      woken = false;
      wakeUp = () => {
        woken = true;
      };
      const restMs = await pass().catch((error: unknown) => {
        log.warn({ err: error, loop: name }, "pass failed, trying again");
        return errorMs;
      });
      await rest(restMs);
    }
  };
  const ended = run();
  return {
    wake: () => wakeUp(),
    async stop() {
      stopped = true;
      wakeUp();
      await ended;
    },
  };
}
