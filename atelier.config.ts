import type { ConfigInput } from "@atelier/server/platform";

/**
 * Settings of behaviour; connections are set in the environment. All values and defaults: server/platform/config.ts. Import
 * types alone: whatever else is imported here stays in the pages' process a second time, beside what was built.
 */
export default {} satisfies ConfigInput;
