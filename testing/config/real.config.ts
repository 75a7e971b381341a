import type { ConfigInput } from "@atelier/server/platform";

/** The product's own lease times; one queue, so that a large machine serves the same one as a small. */
export default { queues: { "cpu-light": {} } } satisfies ConfigInput;
