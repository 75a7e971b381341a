import { defineConfig } from "@atelier/server/platform";

/** The product's own lease times, but what still runs three seconds after SIGTERM, five before the end, is handed back. */
export default defineConfig({ queues: { "cpu-light": {} }, timing: { stopGraceMs: 8_000 } });
