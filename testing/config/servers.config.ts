import { defineConfig } from "@atelier/server/platform";
import { serverQueues } from "./server-queues.ts";

/** The product's own lease times; one queue of graphics cards and one for any machine. */
export default defineConfig({ queues: serverQueues });
