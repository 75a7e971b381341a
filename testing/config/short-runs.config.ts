import type { ConfigInput } from "@atelier/server/platform";
import serversConfig from "./servers.config.ts";

/** As `servers.config.ts`, but with short limits for small runs, and with lists of servers that are read often. */
export default {
  ...serversConfig,
  timing: {
    ...serversConfig.timing,
    serverRunBaseMs: 15_000,
    serverRunPerMegapixelStepMs: 10_000,
    discoverMs: 300,
  },
} satisfies ConfigInput;
