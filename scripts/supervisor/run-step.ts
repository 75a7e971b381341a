import { spawn } from "node:child_process";

export interface StepResult {
  /** Null when a signal ended it. */
  readonly code: number | null;
  readonly output: string;
}

/** Runs a script of ours in a process of its own to its end and returns what it printed; errors go to the terminal. */
export function runStep(args: readonly string[], env: NodeJS.ProcessEnv): Promise<StepResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "inherit"] });
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => (output += chunk));
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, output }));
  });
}
