/** Bounds of the live streams. */
export const streamLimits = {
  /** A stream asks again who calls after this time, so that it does not outlive its session or key. */
  recheckMs: 30_000,
  /** Streams end before a platform's time limit would cut them; the client opens the next one where it stood. */
  lengthMs: 25 * 60_000,
  /** A stream whose reader takes nothing is not looked at when it should end, so it is ended from outside. */
  stalledMs: 26 * 60_000,
  /** Open event streams of one user in one process, of all kinds. */
  openPerUser: 20,
  /** Open event streams of all users in one process. */
  openPerProcess: 10_000,
} as const;
