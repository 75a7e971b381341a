import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import os from "node:os";
import path from "node:path";
import { runChecks } from "@atelier/server/doctor";
import { type NodeRun, runNode } from "@atelier/testing/processes";
import { afterAll, beforeAll, expect, test } from "vitest";
import { inAll } from "@atelier/testing/cases";
import { quickResolveFlag } from "../process/quick-resolve-flag.ts";
import { box, readyLines } from "./run.ts";

/** A worker is loaded twice before it has filled the compile cache. */
const slow = { timeout: 180_000 };

let folder = "";
let blocker: Server;
let port = 0;

beforeAll(async () => {
  folder = mkdtempSync(path.join(os.tmpdir(), "atelier-problems-"));
  writeFileSync(path.join(folder, "file"), "");
  writeFileSync(path.join(folder, "config.mjs"), "export default { timing: { sweepMs: -1 } };");
  blocker = createServer();
  await new Promise<void>((resolve) => blocker.listen(0, "127.0.0.1", resolve));
  port = Object(blocker.address()).port;
});

afterAll(async () => {
  await new Promise((resolve) => blocker.close(resolve));
  rmSync(folder, { recursive: true, force: true });
});

function environment(): NodeJS.ProcessEnv {
  return {
    PATH: process.env["PATH"],
    NODE_ENV: "test",
    DATABASE_URL: "mysql://nowhere",
    REDIS_URL: "redis://127.0.0.1:1",
    PORT: String(port),
    ATELIER_DATA_DIR: path.join(folder, "file", "data"),
    // The data folder cannot be made.
    NODE_COMPILE_CACHE: path.join(folder, "cache"),
    ATELIER_CONFIG: path.join(folder, "config.mjs"),
    LOG_LEVEL: "loud",
    TRUSTED_PROXIES: "nonsense",
  };
}

/** Prints at the end of the supervisor which of Node's own modules and which packages it has loaded. */
const tellLoaded = `
  import { registerHooks } from "node:module";
  const packages = [];
  registerHooks({ resolve: (name, context, next) => {
    const found = next(name, context);
    if (/node_modules/.test(found.url)) packages.push(found.url);
    return found;
  } });
  process.on("exit", () => {
    if (process.argv[1].endsWith("run.ts"))
      console.log("pid", process.pid, "loaded", JSON.stringify([...packages, ...process.moduleLoadList]));
  });`;

let start: NodeRun;

test("A1 A2 start lists everything that is wrong at once, in plain words, and ends with 1", async () => {
  const flag = `--import=data:text/javascript,${encodeURIComponent(tellLoaded)}`;
  start = runNode([flag, path.join(import.meta.dirname, "..", "start.ts")], environment());
  expect(await start.ended).toBe(1);
  const names = [...start.output().matchAll(/^ {2}(\w+): /gm)].map(([, name]) => name);
  const expected = [
    "DATABASE_URL",
    "REDIS_URL",
    "PORT",
    "ATELIER_DATA_DIR",
    "ATELIER_CONFIG",
    "LOG_LEVEL",
    "TRUSTED_PROXIES",
  ];
  expect(names).toEqual(expect.arrayContaining(expected));
  expect(start.output()).not.toMatch(/^\s+at /m);
});

test("what NODE_OPTIONS loads into each process may print, as tracers do", async () => {
  const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent('console.log("a tracer {} began")')}`;
  const run = runNode([path.join(import.meta.dirname, "..", "start.ts")], { ...environment(), NODE_OPTIONS });
  expect(await run.ended).toBe(1);
  expect(run.output()).toMatch(/^ {2}DATABASE_URL: /m);
});

test.runIf(process.platform === "linux")(
  "from its first start on a supervisor holds no package, no TypeScript stripper and no HTTP client",
  () => {
    const [, pid, loaded = ""] = /^pid (\d+) loaded (.+)$/m.exec(start.output()) ?? [];
    expect(Number(pid)).toBe(start.child.pid);
    expect(loaded).toContain("NativeModule child_process");
    expect(loaded).not.toMatch(/node_modules|amaro|undici\/undici/);
  },
);

test.runIf(process.platform === "linux")(
  "from the first start on the pages' process finds its front door in the cache",
  async () => {
    const preload = new URL("../web/preload.ts", import.meta.url).href;
    const tell = "console.log(process.moduleLoadList.join())";
    const run = runNode([`--import=${preload}`, "--eval", tell], { ...environment(), TRUSTED_PROXIES: "" });
    expect(await run.ended).toBe(0);
    expect(run.output()).toContain("NativeModule http");
    expect(run.output()).not.toContain("amaro");
  },
);

test.runIf(process.platform === "linux")(
  "from its first start on a worker, and the thread of its beat, hold no TypeScript stripper",
  slow,
  async () => {
    const script = path.join(import.meta.dirname, "enter-worker.ts");
    const env = { ...environment(), NODE_COMPILE_CACHE: path.join(folder, "cache of a worker") };
    const tell = `process.on("exit", () => console.log("ran", process.argv[1], process.pid, process.moduleLoadList.join()));`;
    const flag = `--import=data:text/javascript,${encodeURIComponent(tell)}`;
    const tellsOf = async (...args: readonly string[]) => {
      const run = runNode([flag, quickResolveFlag, ...args], env);
      expect(await run.ended).toBe(0);
      const [, ran, pid, loaded] = /^ran .*?([\w-]+\.ts) (\d+) (.+)$/m.exec(run.output()) ?? [];
      return { ran, isSame: Number(pid) === run.child.pid, hasStripper: /amaro/.test(loaded ?? "amaro") };
    };
    expect(await tellsOf(script, "--help")).toEqual({ ran: "main.ts", isSame: true, hasStripper: false });
    const again = { isSame: true, hasStripper: false };
    expect(await tellsOf(script, "--help")).toEqual({ ran: "enter-worker.ts", ...again });
    const thread = path.join(import.meta.dirname, "..", "..", "worker", "beat-thread.ts");
    expect(await tellsOf(thread)).toEqual({ ran: "beat-thread.ts", ...again });
  },
);

test.runIf(process.platform === "linux")(
  "a worker whose compile cache cannot be written starts all the same",
  { ...slow, ...inAll },
  async () => {
    const script = path.join(import.meta.dirname, "enter-worker.ts");
    const cache = path.join(folder, "file", "cache");
    const run = runNode([quickResolveFlag, script, "--help"], {
      ...environment(),
      NODE_COMPILE_CACHE: cache,
    });
    expect(await run.ended).toBe(0);
    expect(run.output()).toContain("--once");
  },
);

test("A1 the doctor lists the same problems beside what is right", inAll, async () => {
  const run = runNode([path.join(import.meta.dirname, "..", "..", "cli", "main.ts"), "doctor"], {
    ...environment(),
    HOST: "0.0.0.0",
  });
  expect(await run.ended).toBe(1);
  expect(run.output()).toMatch(/^ok {4}Node\.js/m);
  expect(run.output()).toMatch(/^warn {2}HOST .+https/m);
  expect(run.output()).toMatch(/^FAIL {2}REDIS_URL .+cannot be reached/m);
  expect(run.output()).toMatch(/^FAIL {2}ATELIER_CONFIG .+timing\.sweepMs/m);
  expect(run.output()).not.toMatch(/^\s+at /m);
});

test("the box is as wide as its longest line", () => {
  expect(box(["Atelier is ready", "x"])).toBe(
    [
      "┌────────────────────┐",
      "│  Atelier is ready  │",
      "│  x                 │",
      "└────────────────────┘",
    ].join("\n"),
  );
});

test("the link of the first admin is shown only while there is no admin", () => {
  const link = "http://localhost:3000/sign-in#admin=token";
  expect(readyLines("start", "http://localhost:3000", link)).toContain(link);
  expect(readyLines("start", "http://localhost:3000", null).join()).not.toContain("admin");
});

test("start says that a worker has to run beside it, and dev, which runs one, does not", () => {
  const [start, dev] = (["start", "dev"] as const).map((role) =>
    readyLines(role, "http://localhost:3000", null).join("\n"),
  );
  expect(start).toMatch(/worker runs beside it: npx -y pnpm@\S+ worker/);
  expect(dev).not.toContain("worker");
});

test("dev refuses an address that is open to the network, and says what to use", async () => {
  const run = runNode([path.join(import.meta.dirname, "..", "dev.ts")], {
    PATH: process.env["PATH"],
    NODE_ENV: "test",
    HOST: "0.0.0.0",
    PORT: "0",
    DATABASE_URL: "mysql://nowhere",
    ATELIER_DATA_DIR: path.join(folder, "data"),
  });
  expect(await run.ended).toBe(1);
  expect(run.output()).toMatch(/^ {2}HOST: .*`build` and `start`/m);
});

test("the doctor warns of an open HOST without https, and only then", async () => {
  const warnings = async (env: Readonly<Record<string, string>>) => {
    const results = await runChecks({ ATELIER_DATA_DIR: folder, ...env });
    return results.filter(({ isWarning }) => isWarning).map(({ name }) => name);
  };
  expect(await warnings({ HOST: "0.0.0.0" })).toEqual(["HOST"]);
  expect(await warnings({ HOST: "0.0.0.0", APP_URL: "https://studio.example" })).toEqual([]);
  expect(await warnings({})).toEqual([]);
});
