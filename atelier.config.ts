import { defineConfig } from "@atelier/server/platform";

/** What is about behaviour rather than connections. Every value and its default: server/platform/config.ts. */
export default defineConfig({});
