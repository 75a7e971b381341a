import { type ChildProcess, spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { waitUntil } from "../process/tools.ts";

/** Delays before a child that exited is started again. */
export interface Backoff {
  readonly firstMs: number;
  readonly maxMs: number;
  /** A child that ran at least this long is started again after `firstMs`. */
  readonly healthyMs: number;
}

export const usualBackoff: Backoff = { firstMs: 1_000, maxMs: 30_000, healthyMs: 60_000 };

/** The next delay: twice the previous one, or `firstMs` when the child had run for `healthyMs`. */
export function nextDelayMs(backoff: Backoff, previousMs: number, ranMs: number): number {
  if (previousMs === 0 || ranMs >= backoff.healthyMs) return backoff.firstMs;
  return Math.min(previousMs * 2, backoff.maxMs);
}

/** Writes each complete line with the prefix `[name]`, and a last line without a line end too. */
function prefixOutput(stream: Readable, name: string, write: (line: string) => void): void {
  let rest = "";
  stream.setEncoding("utf8");
  stream.on("data", (chunk: string) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) write(`[${name}] ${line}`);
  });
  stream.on("end", () => {
    if (rest) write(`[${name}] ${rest}`);
  });
}

export interface ChildSpec {
  readonly name: string;
  readonly file: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  /** Time between SIGTERM and SIGKILL. */
  readonly graceMs: number;
  /** Exit code after which the child is not started again; `any`: it is never started again. */
  readonly lastCode?: number | "any";
}

export interface ChildHooks {
  readonly backoff: Backoff;
  readonly say: (line: string) => void;
  /** Called after each start and end, to update the state file. */
  readonly onChange: () => void;
}

/** A child process that is started again after each exit, until `stop` or an exit with `lastCode`. */
export interface Child {
  readonly name: string;
  pid(): number | null;
  /** Resolves with the exit code of the last process; null when a signal ended it. */
  readonly over: Promise<number | null>;
  /** Sends SIGTERM, waits `graceMs`, then sends SIGKILL to the rest of the process group. */
  stop(): Promise<void>;
  /** Sends SIGKILL to the whole process group. */
  kill(): void;
}

/** Sends SIGKILL to a process group: a child may have started processes that outlive it. */
function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // The process has already ended.
  }
}

function launch(spec: ChildSpec, say: (line: string) => void): ChildProcess {
  // Its own process group: Ctrl-C in the terminal reaches only the supervisor, which stops the children in order.
  const child = spawn(spec.file, spec.args, {
    cwd: spec.cwd,
    env: spec.env,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  prefixOutput(child.stdout, spec.name, say);
  prefixOutput(child.stderr, spec.name, say);
  return child;
}

function isLast({ lastCode }: ChildSpec, code: number | null): boolean {
  return lastCode === "any" || (code !== null && code === lastCode);
}

function describeEnd(code: number | null, signal: NodeJS.Signals | null): string {
  return signal ? `was ended by ${signal}` : `ended with code ${code}`;
}

/** Starts the child and keeps it running. */
export function superviseChild(spec: ChildSpec, hooks: ChildHooks): Child {
  let running: ChildProcess | null = null;
  let timer: NodeJS.Timeout | undefined;
  const over = Promise.withResolvers<number | null>();
  let isStopping = false;
  let delayMs = 0;

  const start = () => {
    const startedMs = performance.now();
    const child = launch(spec, hooks.say);
    running = child;
    child.once("error", (error) => hooks.say(`${spec.name} cannot be started: ${error.message}`));
    child.once("close", (code, signal) => {
      if (child.pid) killGroup(child.pid);
      running = null;
      hooks.onChange();
      if (isStopping || isLast(spec, code)) {
        if (!isStopping && spec.lastCode !== "any")
          hooks.say(`${spec.name} has ended as it was asked to and is not started again`);
        over.resolve(code);
        return;
      }
      delayMs = nextDelayMs(hooks.backoff, delayMs, performance.now() - startedMs);
      hooks.say(`${spec.name} ${describeEnd(code, signal)}; starting it again in ${delayMs / 1000} s`);
      timer = setTimeout(start, delayMs);
    });
    hooks.onChange();
  };

  const kill = () => {
    isStopping = true;
    clearTimeout(timer);
    if (running?.pid) killGroup(running.pid);
  };

  start();
  return {
    name: spec.name,
    pid: () => running?.pid ?? null,
    over: over.promise,
    kill,
    stop: async () => {
      isStopping = true;
      clearTimeout(timer);
      running?.kill("SIGTERM");
      if (await waitUntil(() => running === null, spec.graceMs)) return;
      hooks.say(`${spec.name} did not stop within ${spec.graceMs / 1000} s and is killed`);
      kill();
      await waitUntil(() => running === null, 5_000);
    },
  };
}
