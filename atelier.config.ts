import { defineConfig } from "@atelier/server/platform";

/** Settings of behaviour; connections are set in the environment. All values and defaults: server/platform/config.ts. */
export default defineConfig({});
