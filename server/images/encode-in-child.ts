import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { AppError, childEnv, type ErrorCode } from "../platform/index.ts";
import type { EncodeTask, ImageFiles } from "./encode.ts";
import { type ChildUsage, unpackFiles } from "./encode-wire.ts";
import { childLimits } from "./limits.ts";

type Limit = keyof typeof childLimits;

interface ChildOptions {
  /** Aborting kills the child. */
  readonly signal?: AbortSignal | undefined;
  /** Default: `childLimits`. */
  readonly limits?: Readonly<Record<Limit, number>>;
  /** Receives the child's figures every 50 ms and at its end. */
  readonly onUsage?: (usage: ChildUsage) => void;
}

const stderrKeptChars = 2_000;

/**
 * The same as `encodeFiles` in a process of its own, which is killed at a limit of time or memory.
 * Throws `upload_too_complex` then (`engine_failed` for outputs), and the child's own error.
 */
export async function encodeInChild(
  bytes: Buffer,
  task: EncodeTask,
  options: ChildOptions = {},
): Promise<ImageFiles> {
  options.signal?.throwIfAborted();
  const child = forkChild(task);
  const passed = watchLimits(child, options);
  const stderr = lastOf(child);
  const chunks: Buffer[] = [];
  child.stdout?.on("data", (chunk: Buffer) => chunks.push(chunk));
  // The child may end before it has read everything; its exit code has the reason.
  child.stdin?.on("error", () => undefined).end(bytes);
  const onAbort = () => child.kill("SIGKILL");
  options.signal?.addEventListener("abort", onAbort, { once: true });
  try {
    await once(child, "close");
  } finally {
    options.signal?.removeEventListener("abort", onAbort);
    passed.stop();
  }
  options.signal?.throwIfAborted();
  const limit = passed.limit();
  const files = limit ? null : unpackFiles(Buffer.concat(chunks));
  if (files) return files;
  const details = { limit, exitCode: child.exitCode, signal: child.signalCode };
  throw new AppError(failureOf(task, details), undefined, { details, cause: stderr() });
}

function forkChild(task: EncodeTask): ChildProcess {
  // Neither `fork` nor `new URL("./encode-child.ts", import.meta.url)`: a bundler would resolve those itself.
  const script = path.join(path.dirname(fileURLToPath(import.meta.url)), "encode-child.ts");
  const args = ["--disable-warning=ExperimentalWarning", script, JSON.stringify(task)];
  return spawn(process.execPath, args, {
    env: childEnv(),
    stdio: ["pipe", "pipe", "pipe", "ipc"],
  });
}

/** Kills the child at the first limit that it passes. */
function watchLimits(child: ChildProcess, { limits = childLimits, onUsage }: ChildOptions) {
  let passed: Limit | null = null;
  const kill = (limit: Limit) => {
    passed ??= limit;
    child.kill("SIGKILL");
  };
  const timer = setTimeout(kill, limits.wallMs, "wallMs");
  child.on("message", (usage: ChildUsage) => {
    onUsage?.(usage);
    if (usage.cpuMs > limits.cpuMs) kill("cpuMs");
    if (usage.rssBytes > limits.memoryBytes) kill("memoryBytes");
  });
  return { limit: () => passed, stop: () => clearTimeout(timer) };
}

interface Ended {
  readonly limit: Limit | null;
  readonly signal: NodeJS.Signals | null;
}

/** The end of the child's stderr, for the log. */
function lastOf(child: ChildProcess): () => string {
  let text = "";
  child.stderr?.setEncoding("utf8").on("data", (part: string) => {
    text = (text + part).slice(-stderrKeptChars);
  });
  return () => text;
}

function failureOf(task: EncodeTask, { limit, signal }: Ended): ErrorCode {
  // Who kills what passes no limit is the system, for want of memory.
  if (limit === null && signal === "SIGKILL") return "out_of_memory";
  if (task.as === "output") return "engine_failed";
  return limit ? "upload_too_complex" : "upload_unreadable";
}
