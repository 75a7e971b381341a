import { defineConfig } from "@atelier/server/platform";

/** The product's own lease times, but an IOPaint server is left alone for one second only after a lost run. */
export default defineConfig({ queues: { "cpu-light": {} }, timing: { lostRunMs: 1_000 } });
