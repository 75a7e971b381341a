import type { ConfigInput } from "@atelier/server/platform";
import { prices } from "./prices.ts";
import steadyConfig from "./steady.config.ts";

/** As `steady.config.ts`, but runs at simulated providers are asked about often, and lost answers looked for briefly. */
export default {
  timing: steadyConfig.timing,
  cloud: { prices, pollS: 0.1, maxPollS: 0.5, reconcileS: 20, cooldownS: [0.2, 0.3, 0.6, 1.2] },
} satisfies ConfigInput;
