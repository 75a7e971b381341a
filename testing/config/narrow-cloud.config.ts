import type { ConfigInput } from "@atelier/server/platform";
import cloudConfig from "./cloud.config.ts";

/** As `cloud.config.ts`, but Replicate runs one picture at a time. */
export default {
  ...cloudConfig,
  cloud: { ...cloudConfig.cloud, providers: { replicate: { maxConcurrent: 1, rpm: 600 } } },
} satisfies ConfigInput;
