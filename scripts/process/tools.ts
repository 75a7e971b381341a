import { spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { createServer } from "node:net";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** Whether a server could listen at this port now. */
export function isPortFree(port: number, host = "127.0.0.1"): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, host, () => server.close(() => resolve(true)));
  });
}

/** Below the ports that systems give to outgoing connections: Linux from 32768 on, others from 49152. */
const ports = { first: 20_000, count: 6_000 } as const;
const tries = 1_000;

/**
 * A free port of 127.0.0.1. Another caller of this function, in any process, does not get it while this process lives, and
 * an outgoing connection never does, so a server may stop and start again on it.
 */
export async function findFreePort(): Promise<number> {
  for (let tried = 0; tried < tries; tried += 1) {
    const port = ports.first + randomInt(ports.count);
    if ((await claimPort(port)) && (await isPortFree(port))) return port;
  }
  throw new Error(`No free port was found from ${ports.first} on.`);
}

/** A claim is a second port, at which this process listens until it ends; false when another process listens there. */
function claimPort(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const claim = createServer((connection) => connection.destroy()).unref();
    claim.once("error", () => resolve(false));
    claim.listen(port + ports.count, "127.0.0.1", () => resolve(true));
  });
}

const pauseMs = { least: 25, most: 100 } as const;

/**
 * Checks the condition every 25 ms, and what lasts longer than half a second less often, since a check may cost a query; true when it
 * holds, false when it does not hold after `timeoutMs`.
 */
export async function waitUntil(
  condition: () => boolean | Promise<boolean>,
  timeoutMs: number,
): Promise<boolean> {
  const startMs = performance.now();
  while (!(await condition())) {
    const waitedMs = performance.now() - startMs;
    if (waitedMs > timeoutMs) return false;
    await sleep(Math.min(pauseMs.most, Math.max(pauseMs.least, waitedMs / 20)));
  }
  return true;
}

const rootDir = path.resolve(import.meta.dirname, "..", "..");
const binDir = path.join(rootDir, "node_modules", ".bin");

/** The outcome of one tool. */
export interface ToolRun {
  readonly name: string;
  readonly isOk: boolean;
  readonly tookSeconds: number;
}

/** Runs a tool of `node_modules/.bin` from the repository's root, with its output in the terminal. Never rejects. */
export function runTool(
  name: string,
  args: readonly string[],
  { env = {} }: { readonly env?: Readonly<Record<string, string>> } = {},
): Promise<ToolRun> {
  const startedMs = performance.now();
  const PATH = [binDir, process.env["PATH"]].join(path.delimiter);
  const child = spawn(path.join(binDir, name), args, {
    cwd: rootDir,
    env: { ...process.env, ...env, PATH },
    stdio: "inherit",
  });
  return new Promise((resolve) => {
    const end = (isOk: boolean) =>
      resolve({ name, isOk, tookSeconds: (performance.now() - startedMs) / 1000 });
    child.once("error", (error) => {
      console.error(`${name} cannot be run: ${error.message}`);
      end(false);
    });
    child.once("exit", (code) => end(code === 0));
  });
}

/** One line for a summary: `ok    oxlint   3.2 s`. */
export function describeRun({ name, isOk, tookSeconds }: ToolRun): string {
  return `${isOk ? "ok  " : "FAIL"}  ${name.padEnd(12)} ${tookSeconds.toFixed(1).padStart(7)} s`;
}

/** What a step of the supervisor prints is its answer from here on: what NODE_OPTIONS loads may print something before it. */
export const answerMark = "\u0001";
