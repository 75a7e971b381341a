import { defineConfig } from "@atelier/server/platform";
import { prices } from "./prices.ts";

/** The product's own times, but runs at simulated providers are asked about often, and lost answers looked for briefly. */
export default defineConfig({
  cloud: { prices, pollS: 0.1, maxPollS: 0.5, reconcileS: 10, cooldownS: [0.2, 0.3, 0.6, 1.2] },
});
