import { JSONParseError, TypeValidationError } from "ai";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { AppError } from "./errors.ts";
import { openLog } from "./log.ts";

let dataDir = "";
let console: string[];

beforeEach(async () => {
  dataDir = await mkdtemp(path.join(os.tmpdir(), "atelier-log-"));
  console = [];
  vi.spyOn(process.stdout, "write").mockImplementation((line) => {
    console.push(String(line));
    return true;
  });
});
afterEach(async () => {
  vi.restoreAllMocks();
  await rm(dataDir, { recursive: true, force: true });
});

const open = () => openLog({ env: { LOG_LEVEL: "info", ATELIER_DATA_DIR: dataDir }, name: "web" });
const fileOf = (label: string) => path.join(dataDir, "logs/web", `${label}.1.log`);
const reports = () => console.filter((line) => line.includes("log files cannot be written"));

test("A2 lines go to the console and to files, errors to both files", async () => {
  const log = await open();
  log.info("calm");
  log.error("broken");
  expect(console).toHaveLength(2);
  await expect.poll(() => readFile(fileOf("combined"), "utf8")).toMatch(/calm[^]*broken/);
  await expect.poll(() => readFile(fileOf("error"), "utf8")).toMatch(/broken/);
  expect(await readFile(fileOf("error"), "utf8")).not.toContain("calm");
});

test("A2 without a folder for its files the console has all lines, after one report", async () => {
  await writeFile(path.join(dataDir, "logs"), "no folder");
  const log = await open();
  for (let n = 0; n < 3; n += 1) log.error({ n }, "a line");
  expect(reports()).toHaveLength(1);
  expect(console.filter((line) => line.includes("a line"))).toHaveLength(3);
});

test("A2 a function writes no files, and the console has all lines", async () => {
  const log = await openLog({
    env: { LOG_LEVEL: "info", ATELIER_DATA_DIR: dataDir, FUNCTION_SECONDS: 60 },
    name: "web",
  });
  log.error("a line");
  expect(console).toEqual([expect.stringContaining("a line")]);
  expect(await readdir(dataDir)).toEqual([]);
});

test("A2 a file that fails later, as on a full disk, is reported once and fails no line", async () => {
  await mkdir(path.dirname(fileOf("combined")), { recursive: true });
  await symlink("/dev/full", fileOf("combined"));
  const log = await open();
  log.info("first");
  await expect.poll(() => reports()).toHaveLength(1);
  log.error("second");
  await expect.poll(() => readFile(fileOf("error"), "utf8")).toMatch(/second/);
  expect(reports()).toHaveLength(1);
  expect(console.join("")).toMatch(/first[^]*second/);
});

const secret = "red-heron";

function parseFailure(): unknown {
  try {
    return JSON.parse(`{"prompt": ${secret}}`);
  } catch (error) {
    return error;
  }
}

test.each([
  [
    "parameters of a query",
    Object.assign(new Error(`Failed query: select $1\nparams: 1,${secret}\n    at ${secret}:1:2`), {
      params: [secret],
    }),
    /select \$1/,
  ],
  [
    "the row that broke a constraint",
    new AppError("internal", undefined, {
      cause: Object.assign(new Error("new row violates check"), { code: "23514", detail: `(${secret})` }),
    }),
    /"code":"23514"/,
  ],
  [
    "a value that the database could not read",
    Object.assign(new Error(`invalid input syntax for type uuid: "${secret}"`), { code: "22P02" }),
    /type uuid.*log\.test\.ts/,
  ],
  ["JSON that could not be read", parseFailure(), /SyntaxError/],
  ["credentials of an address", new Error(`cannot reach postgres://me:${secret}@host/db`), /host\/db/],
  [
    "the answer of a model that is no JSON",
    new Error("unreadable", { cause: new JSONParseError({ text: secret, cause: parseFailure() }) }),
    /AI_JSONParseError|JSON parsing failed/,
  ],
  [
    "the answer of a model that has another form",
    new TypeValidationError({ value: { said: secret }, cause: new Error("no list") }),
    /Type validation failed/,
  ],
  ["a text that was thrown", secret, /"string"/],
])("S9 a line about an error is without %s", async (_what, err, kept) => {
  const log = await open();
  log.error({ err }, "failed");
  const line = console.join("");
  expect(line).not.toContain(secret);
  expect(line).toMatch(kept);
});

test("a warning that repeats is left out with growing pauses, one about another thing is not", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  const log = await open();
  const loop = log.child({ loop: "readiness" });
  const error = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
  for (let second = 0; second < 60; second += 1) {
    loop.warn({ err: error, waitMs: second }, "pass failed, trying again");
    log.warn({ err: error, jobId: `job ${second}` }, "a run failed");
    log.info("calm");
    vi.advanceTimersByTime(1_000);
  }
  const count = (text: string) => console.filter((line) => line.includes(text)).length;
  expect([count("a run failed"), count("calm")]).toEqual([60, 60]);
  expect(count("pass failed")).toBeGreaterThanOrEqual(6);
  expect(count("pass failed")).toBeLessThanOrEqual(8);
  expect(console.findLast((line) => line.includes("pass failed"))).toMatch(/"leftOut":\d+/);
  loop.warn({ err: Object.assign(new Error("other"), { code: "EPIPE" }) }, "pass failed, trying again");
  expect(console.at(-1)).toContain("EPIPE");
  vi.useRealTimers();
});
