import { spawnSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { gzipSync } from "node:zlib";

function hasProgram(name: string): boolean {
  return spawnSync(name, ["--version"]).error === undefined;
}

function install(debianPackage: string): void {
  console.log(`${debianPackage} is missing; installing it`);
  // With this run level the package's own script does not start a server.
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive", RUNLEVEL: "1" };
  spawnSync("apt-get", ["update", "-q"], { env, stdio: "inherit" });
  const args = ["install", "-y", "-q", "--no-install-recommends", debianPackage];
  spawnSync("apt-get", args, { env, stdio: "inherit" });
}

function ensureProgram(program: string, debianPackage = program): boolean {
  if (hasProgram(program)) return true;
  if (process.getuid?.() === 0 && hasProgram("apt-get")) install(debianPackage);
  if (hasProgram(program)) return true;
  console.error(
    `The tests need the program ${program}. Install it (Debian: apt-get install ${debianPackage}).`,
  );
  return false;
}

/** Makes sure that the tests can start redis-server; false, with the reason in the terminal, when they cannot. */
export const ensureRedis = () => ensureProgram("redis-server");

/** The same for PgBouncer. */
export const ensurePgBouncer = () => ensureProgram("pgbouncer");

/** The proxies that have a shipped file. */
export const ensureNginx = () => ensureProgram("nginx", "nginx-light");
export const ensureCaddy = () => ensureProgram("caddy");

/** How many tests of a part passed and failed. */
export interface Counts {
  readonly passed: number;
  readonly failed: number;
}

function readReport(file: string): Record<string, unknown> | null {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return null; // The part ended before it could write one.
  }
}

/** Counts of Vitest's JSON report; null when there is none. */
export function readVitestCounts(file: string): Counts | null {
  const report = readReport(file);
  return report && { passed: Number(report["numPassedTests"]), failed: Number(report["numFailedTests"]) };
}

/** Counts of Playwright's JSON report; null when there is none. A test that passed at a repetition has passed. */
export function readPlaywrightCounts(file: string): Counts | null {
  const stats = Object(readReport(file)?.["stats"]);
  if (typeof stats.expected !== "number") return null;
  return { passed: stats.expected + stats.flaky, failed: stats.unexpected };
}

/** A part that failed without a failed test (it could not start, a file did not load) counts as one failure. */
export function countPart(isOk: boolean, counts: Counts | null): Counts {
  const { passed, failed } = counts ?? { passed: 0, failed: 0 };
  return { passed, failed: isOk ? failed : Math.max(failed, 1) };
}

interface TestFile {
  readonly name: string;
  readonly message?: string;
  readonly assertionResults: readonly {
    status: string;
    fullName: string;
    failureMessages: readonly string[];
  }[];
}

const firstLine = (text = "") => text.split("\n", 1)[0] ?? "";

/**
 * What failed in Vitest's JSON report, a line each: the test with the first line of its error, or the file that did not
 * load. What fails outside of every test (an uncaught error) is in no report: only the printed text has it.
 */
export function readVitestFailures(file: string): string[] {
  const files = (readReport(file)?.["testResults"] ?? []) as readonly TestFile[];
  return files.flatMap(({ name, message, assertionResults }) => {
    const place = path.relative(process.cwd(), name);
    if (message) return [`${place}: ${firstLine(message)}`];
    const failed = assertionResults.filter(({ status }) => status === "failed");
    return failed.map((test) => `${place} > ${test.fullName}: ${firstLine(test.failureMessages[0])}`);
  });
}

/**
 * Routes of a production build whose output as a function would hold the whole project, known by this folder's own files: a read of
 * a folder that the bundler cannot follow is enough for it, and it only warns.
 */
export function findOverfullRoutes(buildDir: string): string[] {
  const traces = globSync("server/app/**/*.nft.json", { cwd: buildDir }).toSorted();
  return traces.filter((file) => {
    const { files }: { files: readonly string[] } = JSON.parse(
      readFileSync(path.join(buildDir, file), "utf8"),
    );
    return files.some((traced) => traced.endsWith("/scripts/test/lib.ts"));
  });
}

/** What the scripts that a page names may have together, compressed by gzip, in kB: a little above what they have. */
const scriptLimitsKb: Readonly<Record<string, number>> = {
  "gallery/page": 200,
  page: 200,
  "create/page": 257,
  "edit/[image]/page": 300,
  "sign-in/page": 186,
};

interface PageManifest {
  readonly entryJSFiles: Readonly<Record<string, readonly string[]>>;
}

/** The scripts of a page of a production build together, compressed by gzip, in kB. */
export function measureScripts(buildDir: string, page: string): number {
  const read = (file: string) => readFileSync(path.join(buildDir, file), "utf8");
  const { rootMainFiles }: { rootMainFiles: readonly string[] } = JSON.parse(read("build-manifest.json"));
  const manifest = read(`server/app/${page}_client-reference-manifest.js`);
  const json = /\] = (\{.*\});?\s*$/s.exec(manifest)?.[1] ?? "{}";
  const { entryJSFiles }: PageManifest = JSON.parse(json);
  const own = entryJSFiles[`[project]/app/${page}`];
  if (own === undefined) throw new Error(`The build does not say what scripts ${page} has.`);
  const files = [...new Set([...rootMainFiles, ...own])];
  return (
    files.reduce((sum, file) => sum + gzipSync(readFileSync(path.join(buildDir, file))).length, 0) / 1_000
  );
}

/** Pages whose scripts have become larger than they may be, a line each. */
export function findHeavyPages(buildDir: string): string[] {
  return Object.entries(scriptLimitsKb).flatMap(([page, limitKb]) => {
    const kb = measureScripts(buildDir, page);
    return kb <= limitKb ? [] : [`the scripts of ${page} have ${kb.toFixed(1)} kB, more than ${limitKb}`];
  });
}
