import type { ConfigInput } from "@atelier/server/platform";
import realConfig from "./real.config.ts";

/**
 * As `real.config.ts`, but a worker that the machine holds up for a while is not called lost: a killed one is known by the end
 * of its process. What a silent one is about has the product's own time.
 */
export default { queues: realConfig.queues, timing: { lostAfterMs: 20_000 } } satisfies ConfigInput;
