import { spawn } from "node:child_process";
import { createServer } from "node:net";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** Whether a server could listen there now. */
export function isPortFree(port: number, host = "127.0.0.1"): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, host, () => server.close(() => resolve(true)));
  });
}

/** A free port, chosen by the system. */
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

/** Asks every 25 ms until the condition holds; false when it still does not after `timeoutMs`. */
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

export interface ToolRun {
  readonly name: string;
  readonly isOk: boolean;
  readonly tookSeconds: number;
}

/** Runs an installed tool in the terminal, from the repository's root. */
export function runTool(
  name: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
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
    child.once("close", (code) => end(code === 0));
  });
}

/** One line about a part of a run. */
export function describeRun({ name, isOk, tookSeconds }: ToolRun): string {
  return `${isOk ? "ok  " : "FAIL"}  ${name.padEnd(12)} ${tookSeconds.toFixed(1).padStart(7)} s`;
}
