import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { countPart, readPlaywrightCounts, readVitestCounts, readVitestFailures } from "./lib.ts";

let folder = "";

beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), "atelier-counts-"));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

function write(report: unknown): string {
  const file = path.join(folder, "report.json");
  writeFileSync(file, JSON.stringify(report));
  return file;
}

test("the counts of both reports are read", () => {
  expect(readVitestCounts(write({ numPassedTests: 7, numFailedTests: 2 }))).toEqual({ passed: 7, failed: 2 });
  const stats = { expected: 5, flaky: 1, unexpected: 3, skipped: 4 };
  expect(readPlaywrightCounts(write({ stats }))).toEqual({ passed: 6, failed: 3 });
});

test("a part that failed without a failed test counts as one failure", () => {
  const missing = path.join(folder, "none.json");
  expect(countPart(false, readVitestCounts(missing))).toEqual({ passed: 0, failed: 1 });
  expect(countPart(false, { passed: 3, failed: 0 })).toEqual({ passed: 3, failed: 1 });
  expect(countPart(false, { passed: 3, failed: 2 })).toEqual({ passed: 3, failed: 2 });
  expect(countPart(true, readPlaywrightCounts(missing))).toEqual({ passed: 0, failed: 0 });
});

test("what failed is named: tests with their error, files that did not load", () => {
  const failure = { status: "failed", fullName: "F1 a job", failureMessages: ["Error: lost\n  at x.ts"] };
  const passed = { status: "passed", fullName: "fine", failureMessages: [] };
  const testResults = [
    { name: path.resolve("a.test.ts"), message: "", assertionResults: [passed, failure] },
    { name: path.resolve("b.test.ts"), message: "Cannot find it\n  at y.ts", assertionResults: [] },
  ];
  expect(readVitestFailures(write({ testResults }))).toEqual([
    "a.test.ts > F1 a job: Error: lost",
    "b.test.ts: Cannot find it",
  ]);
  expect(readVitestFailures(path.join(folder, "none.json"))).toEqual([]);
});
