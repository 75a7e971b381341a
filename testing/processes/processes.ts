import { type ChildProcess, type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { waitUntil } from "../../scripts/process/tools.ts";

const running = new Set<ChildProcess>();

function killAll(): void {
  for (const child of running) child.kill("SIGKILL");
}

/** Kills the child when this process ends before it. */
export function killAtExit(child: ChildProcess): void {
  // One listener for all: a test file may start dozens.
  if (!process.listeners("exit").includes(killAll)) process.once("exit", killAll);
  running.add(child);
  child.once("exit", () => running.delete(child));
}

/** A node process that a test started, with what it has printed so far. */
export interface NodeRun {
  readonly child: ChildProcess;
  readonly output: () => string;
  /** Waits until the output matches and returns the match; throws with the output after a while. */
  readonly seen: (pattern: RegExp) => Promise<RegExpExecArray>;
  /** Exit code once it has ended; null when a signal ended it. */
  readonly ended: Promise<number | null>;
}

const patienceMs = 100_000;

/** Runs node with these arguments. */
export function runNode(args: readonly string[], env: NodeJS.ProcessEnv = process.env): NodeRun {
  return follow(spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "pipe"] }));
}

/** Runs a program that gets node and these arguments as its own. */
export function runThrough(program: string, args: readonly string[]): NodeRun {
  return follow(spawn(program, [process.execPath, ...args], { stdio: ["ignore", "pipe", "pipe"] }));
}

function follow(child: ChildProcessByStdio<null, Readable, Readable>): NodeRun {
  let text = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  }
  const ended = new Promise<number | null>((resolve) => child.once("close", (code) => resolve(code)));
  return {
    child,
    ended,
    output: () => text,
    seen: async (pattern) => {
      await waitUntil(() => pattern.test(text), patienceMs);
      const match = pattern.exec(text);
      if (!match) throw new Error(`${pattern} was not printed, but:\n${text}`);
      return match;
    },
  };
}

/** Runs an ES module given as text. */
export function runCode(code: string, env?: NodeJS.ProcessEnv): NodeRun {
  return runNode(["--input-type=module", "--eval", code], env);
}
