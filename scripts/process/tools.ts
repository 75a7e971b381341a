import { spawn } from "node:child_process";
import path from "node:path";

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
