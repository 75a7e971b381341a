import { defineConfig } from "@atelier/server/platform";
import { serverQueues } from "./server-queues.ts";

/** The product's own lease times, but short limits for small runs on servers, and lists of servers that are read often. */
export default defineConfig({
  queues: serverQueues,
  timing: { serverRunBaseMs: 4_000, serverRunPerMegapixelStepMs: 10_000, discoverMs: 300 },
});
