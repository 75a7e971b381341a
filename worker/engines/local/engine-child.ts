import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { Socket } from "node:net";
import { fileURLToPath } from "node:url";
import {
  AppError,
  childEnv,
  type ErrorCode,
  isAppError,
  isErrorCode,
  isOwnLack,
  isOutOfSpace,
} from "@atelier/server/platform";
import type { EngineContext, EngineOutput, EngineTask } from "../port.ts";
import type { LocalStage } from "./run-context.ts";

/** The request to a child: one run. */
export interface RunMessage {
  readonly task: EngineTask;
  readonly modelsDir: string;
}

/** An AppError as sent to the parent; `trace` is the stack of the thrown value, for the log. */
interface WireError {
  readonly code: string;
  readonly message: string;
  readonly details?: Readonly<Record<string, unknown>>;
  readonly trace?: string;
}

/** Messages of a child during and at the end of a run. */
export type ChildMessage =
  | { readonly type: "progress"; readonly fraction: number; readonly stage: LocalStage }
  | { readonly type: "preview"; readonly bytes: Uint8Array }
  | { readonly type: "done"; readonly outputs: readonly EngineOutput[] }
  | { readonly type: "failed"; readonly error: WireError };

/** Packs a value thrown in the child. Without a code of its own: `engine_failed`, for a full disk `storage_unavailable`. */
export function packError(thrown: unknown): WireError {
  const trace = thrown instanceof Error ? thrown.stack : String(thrown);
  const error = isAppError(thrown) ? thrown : new AppError(codeOf(thrown));
  return {
    code: error.code,
    message: error.message,
    ...(error.details && { details: error.details }),
    ...(trace && { trace }),
  };
}

function unpackError(wire: WireError): AppError {
  const code = isErrorCode(wire.code) ? wire.code : "engine_failed";
  return new AppError(code, wire.message, {
    ...(wire.details && { details: wire.details }),
    cause: wire.trace,
  });
}

function codeOf(thrown: unknown): ErrorCode {
  if (isOutOfSpace(thrown)) return "storage_unavailable";
  return isOwnLack(thrown) ? "out_of_memory" : "engine_failed";
}

const stderrKeptChars = 2_000;

/** A child submits nothing to a server. */
type ChildContext = Omit<EngineContext, "onBegin" | "onSubmitting" | "takeServer">;

/** A forked process that runs one task at a time. */
export interface EngineChild {
  readonly pid: number | undefined;
  /** Number of tasks that were started in the child. */
  runCount: number;
  isAlive(): boolean;
  run(message: RunMessage, context: ChildContext): Promise<readonly EngineOutput[]>;
  /** Lets the parent's event loop end while the child is idle. */
  rest(): void;
  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>;
}

export function forkChild(): EngineChild {
  const child = fork(fileURLToPath(new URL("./child.ts", import.meta.url)), [String(process.pid)], {
    env: childEnv(),
    execArgv: ["--disable-warning=ExperimentalWarning"],
    serialization: "advanced",
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  let stderr = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    stderr = (stderr + text).slice(-stderrKeptChars);
  });
  const gone = once(child, "exit").catch(() => undefined);
  const port: Port = { child, stderr: () => stderr };
  const self: EngineChild = {
    pid: child.pid,
    runCount: 0,
    isAlive: () => child.exitCode === null && child.signalCode === null && !child.killed && child.connected,
    run(message, context) {
      self.runCount += 1;
      hold(child, "ref");
      return runInChild(port, message, context);
    },
    rest: () => hold(child, "unref"),
    async kill() {
      // An unreferenced child would not keep the parent alive until it has ended.
      hold(child, "ref");
      child.kill("SIGKILL");
      await gone;
    },
  };
  return self;
}

interface Port {
  readonly child: ChildProcess;
  /** The last part of the child's stderr, for the log. */
  stderr(): string;
}

function runInChild(port: Port, request: RunMessage, context: ChildContext) {
  const { child } = port;
  const { promise, resolve, reject } = Promise.withResolvers<readonly EngineOutput[]>();
  const onMessage = (message: ChildMessage) => {
    if (message.type === "progress") context.onProgress(message.fraction, message.stage);
    else if (message.type === "preview") context.onPreview(() => Promise.resolve(message.bytes));
    else if (message.type === "done") resolve(message.outputs);
    else reject(unpackError(message.error));
  };
  const onCrash = () => reject(crashOf(child, port.stderr()));
  const onAbort = () => {
    child.kill("SIGKILL");
    reject(context.signal.reason);
  };
  child.on("message", onMessage).once("exit", onCrash).once("error", onCrash);
  context.signal.addEventListener("abort", onAbort, { once: true });
  child.send(request, (error) => error && onCrash());
  return promise.finally(() => {
    child.off("message", onMessage).off("exit", onCrash).off("error", onCrash);
    context.signal.removeEventListener("abort", onAbort);
  });
}

function crashOf(child: ChildProcess, stderr: string): AppError {
  return new AppError("engine_crashed", undefined, {
    details: { exitCode: child.exitCode, signal: child.signalCode },
    cause: stderr,
  });
}

function hold(child: ChildProcess, how: "ref" | "unref"): void {
  child[how]();
  child.channel?.[how]();
  if (child.stderr instanceof Socket) child.stderr[how]();
}
