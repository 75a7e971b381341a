import type { Logger } from "@atelier/server/platform";

/** When something last happened: decides whether a worker sweeps often or rarely (A6). */
export interface Activity {
  /** Something happens now; true when all was idle before. */
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

/** The promise, or the signal's reason as soon as it aborts; what was begun then goes on by itself. */
export function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

/** Work that repeats until it is stopped. */
export interface Loop {
  /** Starts the next pass now. */
  wake(): void;
  /** Resolves when the pass under way is done. */
  stop(): Promise<void>;
}

const errorMs = 1_000;

/** Repeats `pass`, which gives the time to the next one in ms. A pass that throws is logged and tried again in a second. */
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
