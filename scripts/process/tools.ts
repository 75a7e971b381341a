import { spawn } from "node:child_process";
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

/** A free port of 127.0.0.1, chosen by the system. Another process may take it before the caller does. */
export function findFreePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      const port = address !== null && typeof address === "object" ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}

/** Checks the condition every 25 ms; true when it holds, false when it does not hold after `timeoutMs`. */
export async function waitUntil(
  condition: () => boolean | Promise<boolean>,
  timeoutMs: number,
): Promise<boolean> {
  const endMs = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > endMs) return false;
    await sleep(25);
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
