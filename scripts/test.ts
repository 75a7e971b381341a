import { mkdtempSync, rmSync } from "node:fs";
import path from "node:path";
import { describeRun, runTool, type ToolRun } from "./process/tools.ts";
import { openFunctionParts } from "../testing/functions/index.ts";
import { startS3 } from "../testing/s3/index.ts";
import { readFilesOfAll, readS3Files, readWholeFilesOfAll } from "./test/files.ts";
import { ensureC2paReader, ensureOpenaiPython, ensurePgvector, ensureS3Server } from "./test/pip-files.ts";
import { chooseTempDir } from "./test/temp.ts";
import { hashSources, isBuiltOf, markBuilt } from "./test/sources.ts";
import {
  countPart,
  type Counts,
  ensureCaddy,
  ensureNginx,
  ensurePgBouncer,
  ensureRedis,
  findHeavyPages,
  findOverfullRoutes,
  readPlaywrightCounts,
  readVitestCounts,
  readVitestFailures,
} from "./test/lib.ts";

interface Part {
  readonly run: ToolRun;
  readonly counts: Counts;
  readonly failures: readonly string[];
}

const tempDir = chooseTempDir();

async function runVitest(
  reports: string,
  chosen: readonly string[] = [],
  extra: Readonly<Record<string, string>> = {},
): Promise<Part> {
  const report = path.join(reports, "vitest.json");
  const outputs = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  // Many test processes load the same libraries.
  const env = { TMPDIR: tempDir, NODE_COMPILE_CACHE: path.join(reports, "compile-cache"), ...extra };
  const run = await runTool("vitest", ["run", ...outputs, ...chosen], { env });
  const named = readVitestFailures(report);
  const failures = run.isOk || named.length > 0 ? named : ["an error outside of every test, see above"];
  return { run, counts: countPart(run.isOk, readVitestCounts(report)), failures };
}

/** The production build, unless the one that is there is of the same sources. */
async function runBuild(extra: Readonly<Record<string, string>> = {}): Promise<Part> {
  const env = { NODE_ENV: "production", NEXT_TELEMETRY_DISABLED: "1", ...extra };
  const root = path.resolve(import.meta.dirname, "..");
  const buildDir = path.join(root, ".next");
  const sources = hashSources(root, env);
  if (isBuiltOf(buildDir, sources)) {
    const run = { name: "next build, as before", isOk: true, tookSeconds: 0 };
    return { run, counts: countPart(true, null), failures: [] };
  }
  const built = await runTool("next", ["build"], { env });
  const overfull = findOverfullRoutes(buildDir).map((route) => `${route} holds the whole project`);
  const failures = built.isOk ? [...overfull, ...findHeavyPages(buildDir)] : overfull;
  const run = { ...built, name: "next build", isOk: built.isOk && failures.length === 0 };
  if (run.isOk) markBuilt(buildDir, sources);
  return { run, counts: countPart(run.isOk, null), failures };
}

async function runPlaywright(reports: string, extra: Readonly<Record<string, string>> = {}): Promise<Part> {
  const report = path.join(reports, `playwright${Object.keys(extra).join("")}.json`);
  const env = {
    PLAYWRIGHT_JSON_OUTPUT_NAME: report,
    ATELIER_E2E_TMPDIR: tempDir,
    // Several studios with empty data folders load the same files.
    NODE_COMPILE_CACHE: path.join(reports, "compile-cache"),
    ...extra,
  };
  const run = await runTool("playwright", ["test", "--reporter=list,json"], { env });
  return { run, counts: countPart(run.isOk, readPlaywrightCounts(report)), failures: [] };
}

/** Where `playwright.config.ts` serves the studio. */
const origin = `http://127.0.0.1:${process.env["ATELIER_E2E_PORT"] ?? 3210}`;

/** The journeys of pictures once more, with a real S3 server that browsers send them to and get them from. */
async function runOverS3(reports: string): Promise<Part> {
  const s3 = await startS3();
  try {
    await s3.allowOrigin(origin);
    const { run, ...part } = await runPlaywright(reports, {
      ATELIER_E2E_S3: JSON.stringify({ ...s3.env, S3_DOWNLOADS: "link" }),
    });
    return { ...part, run: { ...run, name: "over S3" } };
  } finally {
    await s3.destroy();
  }
}

/** A server that does not start is a failed part, beside which the others are still reported. */
function failedStart(error: unknown): Part {
  const run = { name: "over S3", isOk: false, tookSeconds: 0 };
  return { run, counts: countPart(false, null), failures: [String(error)] };
}

/** Unit and integration tests beside the production build, then the journeys through it in a browser. */
async function runUsual(reports: string): Promise<Part[]> {
  const left = readWholeFilesOfAll(path.resolve(import.meta.dirname, "..")).map(
    (file) => `--exclude=${file}`,
  );
  const parts = await Promise.all([runVitest(reports, ["--tags-filter=!all", ...left]), runBuild()]);
  const [, build] = parts;
  if (build.run.isOk) return [...parts, await runPlaywright(reports)];
  console.error("The browser tests need the build, which failed.");
  return parts;
}

const quickTools = [["tsc", "--noEmit"], ["oxlint"], ["oxfmt", "--check", "."]] as const;

/** Types, lint, format and the tests that need no database. */
async function runQuick(reports: string): Promise<Part[]> {
  const parts: Part[] = [];
  for (const [tool, ...args] of quickTools) {
    const run = await runTool(tool, args);
    parts.push({ run, counts: countPart(run.isOk, null), failures: [] });
  }
  return [...parts, await runVitest(reports, ["--project=quick", "--project=quick-alone"])];
}

/** The test files that start the S3 server, and the journeys over it; needs a build. */
async function runS3(reports: string): Promise<Part[]> {
  return [
    await runVitest(reports, readS3Files(path.resolve(import.meta.dirname, ".."))),
    await runOverS3(reports),
  ];
}

/** The journeys with the pages as functions on a stand-in of a platform, and a worker elsewhere; docs/functions.md. */
async function runAsFunctions(reports: string): Promise<Part[]> {
  const build = await runBuild({ NEXT_OUTPUT: "standalone" });
  if (!build.run.isOk) return [build];
  const parts = await openFunctionParts(origin);
  try {
    const extra = { ATELIER_E2E_FUNCTIONS: JSON.stringify({ web: parts.web, worker: parts.worker }) };
    const { run, ...part } = await runPlaywright(reports, extra);
    return [build, { ...part, run: { ...run, name: "as functions" } }];
  } finally {
    await parts.close();
  }
}

/** What a usual run leaves out; many more requests made from the document of the API; the journeys over a bucket. */
async function runRest(reports: string): Promise<Part[]> {
  const root = path.resolve(import.meta.dirname, "..");
  const [others, build] = await Promise.all([
    runVitest(reports, ["--tags-filter=all", ...readFilesOfAll(root)]),
    runBuild(),
  ]);
  const requests = await runVitest(reports, ["testing/api-document"], { ATELIER_DOCUMENT_RUNS: "20" });
  const parts = [others, requests, build];
  return build.run.isOk ? [...parts, await runOverS3(reports).catch(failedStart)] : parts;
}

const modes = {
  "--all": runRest,
  "--functions": runAsFunctions,
  "--quick": runQuick,
  "--s3": runS3,
} as const;

async function main(): Promise<boolean> {
  const mode = (["--all", "--quick", "--s3", "--functions"] as const).find((flag) =>
    process.argv.includes(flag),
  );
  const ensureProxies = () => ensureNginx() && ensureCaddy();
  const ensureServers = () =>
    ensurePgBouncer() && ensureS3Server() && ensurePgvector() && ensureC2paReader() && ensureProxies();
  const ensureOthers = () => (mode === "--all" ? ensureOpenaiPython() : true);
  if (!ensureRedis() || (mode !== "--quick" && !(ensureServers() && ensureOthers()))) return false;
  const reports = mkdtempSync(path.join(tempDir, "atelier-reports-"));
  try {
    const parts = await (mode ? modes[mode] : runUsual)(reports);
    const total = (key: keyof Counts) => parts.reduce((sum, { counts }) => sum + counts[key], 0);
    console.log(`\n${parts.map(({ run }) => describeRun(run)).join("\n")}\n`);
    for (const failure of parts.flatMap(({ failures }) => failures)) console.log(`failed: ${failure}`);
    console.log(`${total("passed")} passed, ${total("failed")} failed`);
    return parts.every(({ run }) => run.isOk);
  } finally {
    rmSync(reports, { recursive: true, force: true });
  }
}

process.exitCode = (await main()) ? 0 : 1;
