import { defineConfig } from "vitest/config";

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
    execArgv: [`--import=${import.meta.resolve("./scripts/process/quick-resolve.ts")}`],
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
