import type { ConfigInput } from "@atelier/server/platform";
import steadyConfig from "./steady.config.ts";

/** As `steady.config.ts`, but what still runs three seconds after SIGTERM, five before the end, is handed back. */
export default {
  ...steadyConfig,
  timing: { ...steadyConfig.timing, stopGraceMs: 8_000 },
} satisfies ConfigInput;
