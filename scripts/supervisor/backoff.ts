/** How long a part that died waits before it is started again. */
export interface Backoff {
  readonly firstMs: number;
  readonly maxMs: number;
  /** After it has run for this long the next wait is the first one again. */
  readonly healthyMs: number;
}

export const usualBackoff: Backoff = { firstMs: 1_000, maxMs: 30_000, healthyMs: 60_000 };

/** The next wait: doubles from death to death unless the part had run well before. */
export function nextDelayMs(backoff: Backoff, previousMs: number, ranMs: number): number {
  if (previousMs === 0 || ranMs >= backoff.healthyMs) return backoff.firstMs;
  return Math.min(previousMs * 2, backoff.maxMs);
}
