import { defineConfig } from "@atelier/server/platform";

/** Lease times at a tenth, so that losses show within a second; one queue, as in the real-time configuration. */
export default defineConfig({
  queues: { "cpu-light": {} },
  timing: {
    beatMs: 100,
    lostAfterMs: 700,
    watchMs: 100,
    watchGapMs: 200,
    mainThreadStallMs: 6_000,
    sweepMs: 500,
    sweepIdleMs: 6_000,
    sweepIdleAfterMs: 3_000,
    reringMs: 500,
    cancelPollMs: 100,
    stopGraceMs: 8_000,
    progressPersistMs: 500,
    retryDelayMs: 100,
  },
});
