import { randomBytes } from "node:crypto";
import { globSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readFilesOfAll, readTestFiles, readWholeFilesOfAll, slowFiles } from "./files.ts";
import {
  countPart,
  findHeavyPages,
  findOverfullRoutes,
  measureScripts,
  readPlaywrightCounts,
  readVitestCounts,
  readVitestFailures,
} from "./lib.ts";
import { chooseTempDir } from "./temp.ts";

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

test("a route of the build that would hold the whole project is found", () => {
  const trace = (route: string, ...files: string[]) => {
    const dir = path.join(folder, "server/app", route);
    mkdirSync(dir, { recursive: true });
    writeFileSync(path.join(dir, "route.js.nft.json"), JSON.stringify({ version: 1, files }));
  };
  trace("api/ready", "../../../../../server/images/encode-child.ts");
  expect(findOverfullRoutes(folder)).toEqual([]);
  trace("upload", "../../../../package.json", "../../../../scripts/test/lib.ts");
  expect(findOverfullRoutes(folder)).toEqual(["server/app/upload/route.js.nft.json"]);
});

test("a page whose scripts have grown is found, by what the browser loads of them", () => {
  const chunks = path.join(folder, "static/chunks");
  mkdirSync(chunks, { recursive: true });
  writeFileSync(path.join(chunks, "root.js"), randomBytes(100_000));
  writeFileSync(path.join(chunks, "own.js"), randomBytes(20_000));
  writeFileSync(path.join(chunks, "heavy.js"), randomBytes(400_000));
  writeFileSync(
    path.join(folder, "build-manifest.json"),
    JSON.stringify({ rootMainFiles: ["static/chunks/root.js"] }),
  );
  for (const page of ["gallery/page", "page", "create/page", "edit/[image]/page", "sign-in/page"]) {
    const file = path.join(folder, `server/app/${page}_client-reference-manifest.js`);
    mkdirSync(path.dirname(file), { recursive: true });
    const own = page === "create/page" ? "heavy" : "own";
    const entryJSFiles = { [`[project]/app/${page}`]: ["static/chunks/root.js", `static/chunks/${own}.js`] };
    writeFileSync(
      file,
      `globalThis.M = {};\nglobalThis.M["/${page}"] = ${JSON.stringify({ entryJSFiles })};\n`,
    );
  }
  expect(measureScripts(folder, "gallery/page")).toBeCloseTo(120, 0);
  expect(findHeavyPages(folder)).toEqual([
    expect.stringMatching(/^the scripts of create\/page have 50\d\.\d kB/),
  ]);
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

test("what tests throw away is in memory only where that is a file system in memory, else where the system has it", () => {
  const { TMPDIR } = process.env;
  delete process.env["TMPDIR"];
  try {
    expect(chooseTempDir("/proc")).toBe("/tmp");
    expect(chooseTempDir(path.join(folder, "absent"))).toBe("/tmp");
    process.env["TMPDIR"] = folder;
    expect(chooseTempDir()).toBe(folder);
  } finally {
    delete process.env["TMPDIR"];
    if (TMPDIR !== undefined) process.env["TMPDIR"] = TMPDIR;
  }
});

describe("the test files of a run", () => {
  const empty = 'test("nothing", () => {});';
  function writeTests(texts: Readonly<Record<string, string>>): void {
    for (const [file, text] of Object.entries(texts)) {
      mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
      writeFileSync(path.join(folder, file), text);
    }
  }

  test("are sorted by the database that they reach and by what they change in their process", () => {
    writeTests({
      "app/pure.test.ts": empty,
      "app/mocked.test.ts": 'vi.mock("./a.ts");',
      "server/stored.test.ts": 'import { open } from "./fixtures/scene.ts";',
      "server/fixtures/scene.ts": 'import { x } from "@atelier/testing/postgres";',
      "testing/postgres/index.ts": 'export { x } from "./servers.ts";',
      "server/types.test.ts": 'import type { X } from "@atelier/testing/postgres";',
      "server/late.test.ts": 'import { x } from "@atelier/testing/postgres";\nvi.resetModules();',
    });
    const { quick, ...others } = readTestFiles(folder);
    expect(new Set(quick)).toEqual(new Set(["app/pure.test.ts", "server/types.test.ts"]));
    expect(others).toEqual({
      quickAlone: ["app/mocked.test.ts"],
      slow: [],
      database: ["server/stored.test.ts"],
      alone: ["server/late.test.ts"],
    });
  });

  test("some of whose cases run in test:all alone are found by what marks them", () => {
    writeTests({
      "testing/chaos/one.test.ts": 'import { forBackends } from "../cases/index.ts";',
      "worker/two.test.ts": 'import { forBackendSuites } from "@atelier/testing/cases";',
      "worker/three.test.ts": 'import { realTimeMs } from "@atelier/testing/cases";',
    });
    expect(new Set(readFilesOfAll(folder))).toEqual(
      new Set(["testing/chaos/one.test.ts", "worker/two.test.ts"]),
    );
    expect(readWholeFilesOfAll(folder)).toEqual([]);
  });

  test("all of whose cases run in test:all alone are not loaded for the others", () => {
    writeTests({
      "worker/whole.test.ts": '// @module-tag all\ntest("slow", () => {});',
      "worker/quoted.test.ts": 'const text = "// @module-tag all";',
    });
    expect(readWholeFilesOfAll(folder)).toEqual(["worker/whole.test.ts"]);
    expect(readFilesOfAll(folder)).toEqual(["worker/whole.test.ts"]);
  });

  test.each([
    "vi.spyOn(a, 'b');",
    "vi.useFakeTimers();",
    "run({ ...process.env });",
    "a(process.env.B === 'c');",
  ])("share a process despite %s", (text) => {
    writeTests({ "app/one.test.ts": text });
    expect(readTestFiles(folder).quick).toEqual(["app/one.test.ts"]);
  });

  test.each(["process.env.A = '1';", "process.chdir('/');", "vi.stubEnv('A', '1');", "globalThis.a = 1;"])(
    "do not share a process after %s",
    (text) => {
      writeTests({ "app/one.test.ts": text });
      expect(readTestFiles(folder).quickAlone).toEqual(["app/one.test.ts"]);
    },
  );

  test("are each in exactly one list, and the slow ones exist", () => {
    const root = path.resolve(import.meta.dirname, "../..");
    const all = Object.values(readTestFiles(root)).flat();
    const found = globSync("{app,cli,scripts,server,testing,worker}/**/*.test.{ts,tsx}", {
      cwd: root,
      exclude: ["**/node_modules"],
    });
    expect(all).toHaveLength(found.length);
    expect(new Set(all)).toEqual(new Set(found));
    expect(slowFiles.filter((file) => !all.includes(file))).toEqual([]);
  });
});
