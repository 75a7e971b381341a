/** Bounds of the live streams. */
export const streamLimits = {
  /** A stream asks again who calls after this time, so that it does not outlive its session or key. */
  recheckMs: 30_000,
  /** Streams end before a platform's time limit would cut them; the client opens the next one where it stood. */
  lengthMs: 25 * 60_000,
  /** Open event streams of one user in one process. */
  openPerUser: 20,
} as const;
