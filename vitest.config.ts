import path from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { quickResolveFlag } from "./scripts/process/quick-resolve-flag.ts";
import { readTestFiles, slowFiles } from "./scripts/test/files.ts";

const root = import.meta.dirname;
const files = readTestFiles(root);

/** The order of the projects; files that share a process must follow each other. */
const order = ["slow", "alone", "database", "quick-alone", "quick"];

/** Project by project, and within each the slow files first, the longest at the front. */
class SlowFirst extends BaseSequencer {
  override async sort(specifications: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId, project }: TestSpecification) => {
      const slow = slowFiles.indexOf(path.relative(root, moduleId));
      const first = (slowFiles.length + 1) * order.indexOf(project.name);
      return first + (slow < 0 ? slowFiles.length : slow);
    };
    return specifications.toSorted((a, b) => rank(a) - rank(b) || a.moduleId.localeCompare(b.moduleId));
  }
}

/** `testing/setup/kept-passwords.ts` in each test process, after what it builds on. */
const keptPasswordsFlag = `--import=${import.meta.resolve("./testing/setup/kept-passwords.ts")}`;

const common = {
  execArgv: [quickResolveFlag, keptPasswordsFlag],
  // No test says by them how fast a thing is: a busy machine is no fault, and takes minutes for what another does in seconds.
  testTimeout: 180_000,
  hookTimeout: 180_000,
  // As long as a condition of `vi.waitFor` may take: testing/setup/patience.ts.
  expect: { poll: { timeout: 60_000 } },
  // The last lines of a run show an error by its first line alone: it must name what differed.
  chaiConfig: { truncateThreshold: 400 },
  setupFiles: ["testing/setup/restore.ts", "testing/setup/patience.ts"],
};
const globalSetup = ["testing/setup/index.ts"];

export default defineConfig({
  test: {
    // Most tests wait for processes, servers and leases, so that fewer would leave two cores idle for a part of the time.
    maxWorkers: 4,
    sequence: { sequencer: SlowFirst },
    tags: [{ name: "all", description: "in `pnpm test:all`, not in `pnpm test`" }],
    projects: [
      { test: { ...common, name: "slow", include: files.slow, isolate: false, globalSetup } },
      { test: { ...common, name: "alone", include: files.alone, globalSetup } },
      { test: { ...common, name: "database", include: files.database, isolate: false, globalSetup } },
      { test: { ...common, name: "quick-alone", include: files.quickAlone } },
      { test: { ...common, name: "quick", include: files.quick, isolate: false } },
    ],
  },
});
