import type { ConfigInput } from "@atelier/server/platform";
import steadyConfig from "./steady.config.ts";

/** As `steady.config.ts`, but an IOPaint server is left alone for ten seconds only after a lost run. */
export default {
  ...steadyConfig,
  timing: { ...steadyConfig.timing, lostRunMs: 10_000 },
} satisfies ConfigInput;
