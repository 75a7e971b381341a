import { defineConfig } from "@atelier/server/platform";

/** The product's own lease times, but three seconds after SIGTERM what still runs is handed back. */
export default defineConfig({ queues: { "cpu-light": {} }, timing: { stopGraceMs: 8_000 } });
