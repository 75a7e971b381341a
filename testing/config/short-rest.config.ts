import { defineConfig } from "@atelier/server/platform";

/** The product's own lease times, but an IOPaint server is left alone for ten seconds only after a lost run. */
export default defineConfig({ queues: { "cpu-light": {} }, timing: { lostRunMs: 10_000 } });
