import type { ConfigInput } from "@atelier/server/platform";
import steadyConfig from "./steady.config.ts";
import { serverQueues } from "./server-queues.ts";

/** As `steady.config.ts`, with a queue of graphics cards and one for any machine. */
export default { ...steadyConfig, queues: serverQueues } satisfies ConfigInput;
