import type { ConfigInput } from "@atelier/server/platform";
import { providerNames } from "@atelier/server/providers";
import { prices } from "./prices.ts";

/**
 * As `cloud.config.ts`, but neither limits of providers nor caps of spending slow anything down, and lost answers are looked
 * for longer than a line is bad.
 */
export default {
  cloud: {
    prices,
    pollS: 0.1,
    maxPollS: 0.5,
    reconcileS: 45,
    cooldownS: [0.2, 0.3, 0.6, 1.2],
    submitSlots: 8,
    providers: Object.fromEntries(
      providerNames.map((name) => [name, { maxConcurrent: 10_000, rpm: 100_000 }]),
    ),
    caps: { userDailyUsd: null, userMonthlyUsd: null, studioDailyUsd: null, studioMonthlyUsd: null },
  },
  timing: { deliveryLockMs: 4_000, deliverySendMs: 2_000 },
} satisfies ConfigInput;
