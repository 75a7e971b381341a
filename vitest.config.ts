import { defineConfig } from "vitest/config";
import { quickResolveFlag } from "./scripts/process/quick-resolve-flag.ts";

export default defineConfig({
  test: {
    include: [
      "app/**/*.test.ts",
      "server/**/*.test.ts",
      "worker/**/*.test.ts",
      "cli/**/*.test.ts",
      "scripts/**/*.test.ts",
      "testing/**/*.test.ts",
    ],
    globalSetup: ["testing/setup/index.ts"],
    maxWorkers: 2,
    execArgv: [quickResolveFlag],
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
