/** Wakes one waiter. */
export interface Bell {
  ring(): void;
  /** Until the next ring or the time is over. Rejects with the signal's reason when it aborts. */
  wait(ms: number): Promise<void>;
}

export function createBell(signal: AbortSignal): Bell {
  let wake = () => {};
  return {
    ring: () => wake(),
    async wait(ms) {
      signal.throwIfAborted();
      const { promise, resolve } = Promise.withResolvers<void>();
      const wakeThis = () => resolve();
      wake = wakeThis;
      const timer = setTimeout(wakeThis, ms);
      signal.addEventListener("abort", wakeThis);
      await promise;
      signal.removeEventListener("abort", wakeThis);
      clearTimeout(timer);
      signal.throwIfAborted();
    },
  };
}
