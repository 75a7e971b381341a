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
