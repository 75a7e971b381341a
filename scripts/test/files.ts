import { globSync, readFileSync } from "node:fs";
import path from "node:path";

/**
 * Test files that take longer than about ten seconds on two quiet cores, the longest first. They begin first, so that
 * a run does not end with one long file; `test:quick` leaves them out.
 */
export const slowFiles: readonly string[] = [
  "testing/chaos/worker-killed.test.ts",
  "testing/chaos/cloud-killed.test.ts",
  "testing/chaos/partition.test.ts",
  "testing/chaos/last-worker.test.ts",
  "testing/chaos/cloud-partition.test.ts",
  "testing/chaos/cloud-upload.test.ts",
  "worker/engines/local/outfit/change.test.ts",
  "worker/clients/comfyui/prompt.test.ts",
  "scripts/embedded/postgres.test.ts",
  "testing/chaos/cloud-webhooks.test.ts",
  "testing/chaos/cloud.test.ts",
  "testing/secrets/secrets.test.ts",
  "testing/chaos/comfyui-servers.test.ts",
  "testing/chaos/database-stopped.test.ts",
  "cli/seed/seed.test.ts",
  "cli/accounts.test.ts",
  "worker/once.test.ts",
  "testing/chaos/comfyui-database.test.ts",
  "testing/live/live-updates.test.ts",
  "testing/chaos/deploy-overlap.test.ts",
  "server/backup/backup.test.ts",
  "testing/chaos/comfyui-strays.test.ts",
  "testing/chaos/worker-frozen.test.ts",
  "testing/chaos/worker-leaves.test.ts",
  "testing/chaos/store.test.ts",
  "server/users/users.test.ts",
  "testing/chaos/wrong-clock.test.ts",
  "testing/chaos/redis-refuses.test.ts",
  "testing/chaos/bells.test.ts",
  "testing/chaos/comfyui-run-faults.test.ts",
  "testing/chaos/iopaint-workers.test.ts",
  "worker/http/server.test.ts",
  "testing/chaos/telegram-killed.test.ts",
  "testing/chaos/submit-killed.test.ts",
  "testing/chaos/comfyui-worker-frozen.test.ts",
  "testing/chaos/poison.test.ts",
  "worker/engines/local/inpaint/erase.test.ts",
  "testing/chaos/comfyui-worker-killed.test.ts",
  "worker/engines/comfyui/on-server.test.ts",
  "worker/telegram/poll.test.ts",
  "worker/telegram/bot.test.ts",
  "worker/engines/comfyui/engine.test.ts",
  "testing/chaos/many-jobs.test.ts",
  "worker/servers/on-simulators.test.ts",
  "scripts/supervisor/run.test.ts",
  "testing/chaos/queue-flushed.test.ts",
  "testing/chaos/comfyui-poison.test.ts",
  "server/api/http/health.test.ts",
  "testing/chaos/sessions-ended.test.ts",
  "worker/engines/local/engine.test.ts",
  "testing/chaos/comfyui-memory.test.ts",
  "testing/postgres/database-away.test.ts",
  "testing/worker/throughput.test.ts",
  "scripts/supervisor/supervise.test.ts",
  "testing/chaos/comfyui-queue-flushed.test.ts",
  "worker/engines/local/upscale.test.ts",
  "testing/postgres/servers.test.ts",
  "testing/chaos/comfyui-two-workflows.test.ts",
  "scripts/process/quick-resolve.test.ts",
  "cli/logs.test.ts",
  "cli/workflow.test.ts",
  "cli/recall-eval.test.ts",
];

/**
 * What a file changes for the files that run after it in the same process; spies and timers are put back by
 * `testing/setup/restore.ts`.
 */
const processWide =
  /\bvi\s*\.\s*(mock|doMock|hoisted|stub\w+|resetModules)\b|\bprocess\.(chdir|on|once|exit|umask)\b|\bprocess\.env[.[][^=\n]*=[^=>]|\bprocess\[|\bglobalThis\b/;

/** Statically imported project files; types are gone at run time. */
const imported = /^(?:import|export)\s(?!type\b)[^;]*?from\s+"([^"]+)"|^import\s+"([^"]+)"/gm;

function findImports(file: string, text: string): string[] {
  const names = [...text.matchAll(imported)].map((match) => match[1] ?? match[2] ?? "");
  return names.flatMap((name) => {
    if (name.startsWith(".")) return [path.join(path.dirname(file), name)];
    const folder = /^@atelier\/testing\/(.+)$/.exec(name)?.[1];
    return folder ? [`testing/${folder}/index.ts`] : [];
  });
}

/** Where the test databases, the S3 servers and the bundled programs come from. */
const databaseFile = "testing/postgres/servers.ts";
const s3File = "testing/s3/s3.ts";
const bundleFile = "testing/processes/bundle.ts";

const testPattern = "{app,server,worker,cli,scripts,testing}/**/*.test.{ts,tsx}";

/** The test files by what they need; each file is in one list. */
export interface TestFiles {
  /** Without a database, an S3 server or a bundled program and without process-wide state: files share a process. */
  readonly quick: string[];
  /** Without them too, but each in a separate process. */
  readonly quickAlone: string[];
  /** The slow files without process-wide state: files share a process. */
  readonly slow: string[];
  /** With one of these and without process-wide state: files share a process. */
  readonly database: string[];
  /** All others, each in a separate process. */
  readonly alone: string[];
}

function readSource(root: string, file: string): string {
  try {
    return readFileSync(path.join(root, file), "utf8");
  } catch {
    return ""; // An import of something else than a source file of the project.
  }
}

/** Tells of a file below `root` whether it, or anything that it imports, is one of the targets. */
function createReach(root: string, targets: readonly string[]): (file: string) => boolean {
  const known = new Map<string, boolean>();
  const reaches = (file: string): boolean => {
    const before = known.get(file);
    if (before !== undefined) return before;
    known.set(file, false); // For imports in a circle.
    const found = targets.includes(file) || findImports(file, readSource(root, file)).some(reaches);
    known.set(file, found);
    return found;
  };
  return reaches;
}

const findTests = (root: string) => globSync(testPattern, { cwd: root, exclude: ["**/node_modules"] });

/** Reads the test files below `root` and sorts them by their text and imports, so that no list has to be kept. */
export function readTestFiles(root: string): TestFiles {
  const needsServers = createReach(root, [databaseFile, s3File, bundleFile]);
  const files: TestFiles = { quick: [], quickAlone: [], slow: [], database: [], alone: [] };
  for (const file of findTests(root)) {
    const isAlone = processWide.test(readSource(root, file));
    if (slowFiles.includes(file)) files[isAlone ? "alone" : "slow"].push(file);
    else if (needsServers(file)) files[isAlone ? "alone" : "database"].push(file);
    else files[isAlone ? "quickAlone" : "quick"].push(file);
  }
  return files;
}

/** What `testing/cases` has to mark cases with, and how vitest marks a whole file. */
const marks = /\b(forCases|forCasesInTurn|forBackends|forBackendSuites|inAll)\b|^\/\/ @module-tag all$/m;
const marksFile = /^\/\/ @module-tag all$/m;

/** The test files below `root` with cases that `pnpm test` leaves out. */
export function readFilesOfAll(root: string): string[] {
  return findTests(root).filter((file) => marks.test(readSource(root, file)));
}

/** Those of which it leaves out every case: they need not be loaded. */
export function readWholeFilesOfAll(root: string): string[] {
  return findTests(root).filter((file) => marksFile.test(readSource(root, file)));
}

/** The test files below `root` that start an S3 server. */
export function readS3Files(root: string): string[] {
  return findTests(root).filter(createReach(root, [s3File]));
}
