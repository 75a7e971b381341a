import { defineConfig } from "@atelier/server/platform";
import { serverQueues } from "./server-queues.ts";

/** The product's own lease times, but a run on a server may take a few seconds only, and lists of servers are read often. */
export default defineConfig({
  queues: serverQueues,
  timing: { serverRunBaseMs: 2_500, serverRunPerMegapixelStepMs: 2_000, discoverMs: 300 },
});
