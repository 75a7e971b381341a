import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { describeRun, runTool, type ToolRun } from "./process/tools.ts";
import { ensureS3Server } from "./test/s3-server.ts";
import {
  countPart,
  type Counts,
  ensureRedis,
  readPlaywrightCounts,
  readVitestCounts,
  readVitestFailures,
} from "./test/lib.ts";

interface Part {
  readonly run: ToolRun;
  readonly counts: Counts;
  readonly failures: readonly string[];
}

async function runVitest(reports: string, projects: readonly string[] = []): Promise<Part> {
  const report = path.join(reports, "vitest.json");
  const outputs = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  const chosen = projects.map((project) => `--project=${project}`);
  // Many test processes load the same libraries.
  const env = { NODE_COMPILE_CACHE: path.join(reports, "compile-cache") };
  const run = await runTool("vitest", ["run", ...outputs, ...chosen], { env });
  const named = readVitestFailures(report);
  const failures = run.isOk || named.length > 0 ? named : ["an error outside of every test, see above"];
  return { run, counts: countPart(run.isOk, readVitestCounts(report)), failures };
}

async function runBuild(): Promise<Part> {
  const env = { NODE_ENV: "production", NEXT_TELEMETRY_DISABLED: "1" };
  const run = await runTool("next", ["build"], { env, isAside: true });
  return { run: { ...run, name: "next build" }, counts: countPart(run.isOk, null), failures: [] };
}

async function runPlaywright(reports: string): Promise<Part> {
  const report = path.join(reports, "playwright.json");
  const env = { PLAYWRIGHT_JSON_OUTPUT_NAME: report };
  const run = await runTool("playwright", ["test", "--reporter=list,json"], { env });
  return { run, counts: countPart(run.isOk, readPlaywrightCounts(report)), failures: [] };
}

/** Unit and integration tests beside the production build, then the journeys through it in a browser. */
async function runAll(reports: string): Promise<Part[]> {
  const [vitest, build] = await Promise.all([runVitest(reports), runBuild()]);
  const parts = [vitest, build];
  if (build.run.isOk) parts.push(await runPlaywright(reports));
  else console.error("The browser tests need the build, which failed.");
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
  return [...parts, await runVitest(reports, ["quick", "quick-alone"])];
}

async function main(): Promise<boolean> {
  const isQuick = process.argv.includes("--quick");
  if (!ensureRedis() || (!isQuick && !ensureS3Server())) return false;
  const reports = mkdtempSync(path.join(os.tmpdir(), "atelier-reports-"));
  try {
    const parts = await (isQuick ? runQuick : runAll)(reports);
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
