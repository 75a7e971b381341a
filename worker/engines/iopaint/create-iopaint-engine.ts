import path from "node:path";
import { iopaintEngine as facts, type JobKind } from "@atelier/server/engines";
import { AppError, toAppError } from "@atelier/server/platform";
import type { HeldServer, ServerPool } from "../../servers/index.ts";
import type { Engine, EngineContext, EngineOutput, EngineTask } from "../port.ts";
import type { IopaintRun, PrepareRun } from "./iopaint-run.ts";
import { prepareInpaint } from "./prepare-inpaint.ts";
import { preparePlugin } from "./prepare-plugin.ts";

export interface IopaintEngineInput {
  readonly pool: Pick<ServerPool, "acquire" | "report">;
  /** A server that has not answered after this time counts as lost. In ms, default half an hour: the run's own limit is shorter. */
  readonly answerLimitMs?: number;
  /** How long a server is kept for the answer of a run that was stopped. In ms, default 2 minutes. */
  readonly abandonMs?: number;
}

const prepareByKind: Partial<Record<JobKind, PrepareRun>> = {
  inpaint: prepareInpaint,
  upscale: preparePlugin("upscale"),
  remove_background: preparePlugin("remove_background"),
  restore_faces: preparePlugin("restore_faces"),
};

/**
 * Runs on IOPaint servers, one job at a time on each. They know no cancel: the run ends at once, but the server is kept
 * until it has answered, since it would only put the next job in line.
 */
export function createIopaintEngine(input: IopaintEngineInput): Engine {
  const { pool, answerLimitMs = 30 * 60_000, abandonMs = 2 * 60_000 } = input;
  const closing = new AbortController();
  const open = new Set<Promise<void>>();

  /** The server is released by its answer, or some time after the run was stopped, not by the end of the run. */
  function send(run: IopaintRun, held: HeldServer, signal: AbortSignal): Promise<Buffer> {
    const { url, headers } = held;
    const abandon = abortAfter(signal, abandonMs);
    const bounds = AbortSignal.any([closing.signal, abandon.signal]);
    const answer = run.request({ url, headers }, { signal: bounds, timeoutMs: answerLimitMs });
    const ended = answer
      .then(
        () => undefined,
        (error: unknown) => closing.signal.aborted || pool.report(url, toAppError(error)),
      )
      .then(() => {
        abandon.clear();
        held.release();
        open.delete(ended);
      });
    open.add(ended);
    return answer;
  }

  async function finish(run: IopaintRun, answer: Buffer, { url, file }: { url: string; file: string }) {
    try {
      await run.finish(answer, file);
      pool.report(url, "ok");
    } catch (error) {
      pool.report(url, toAppError(error));
      throw error;
    }
  }

  async function run(task: EngineTask, context: EngineContext): Promise<readonly EngineOutput[]> {
    const { signal } = context;
    signal.throwIfAborted();
    const startedAt = performance.now();
    context.onProgress(0, "reading");
    const prepared = await prepare(task);
    const held = await acquire(pool, task, signal);
    if (signal.aborted) held.release();
    signal.throwIfAborted();
    context.onProgress(0.05, "server");
    const answer = await orAbort(send(prepared, held, signal), signal);
    context.onProgress(0.95, "writing");
    const file = path.join(task.workDir, "result.png");
    await finish(prepared, answer, { url: held.url, file });
    signal.throwIfAborted();
    context.onProgress(1, "writing");
    const timeMs = Math.round(performance.now() - startedAt);
    return [{ path: file, mime: "image/png", facts: { server: held.label, timeMs } }];
  }

  return {
    name: facts.name,
    kinds: facts.kinds,
    run,
    async close() {
      closing.abort();
      await Promise.all(open);
    },
  };
}

async function prepare(task: EngineTask): Promise<IopaintRun> {
  const prepareRun = prepareByKind[task.kind];
  if (!prepareRun) throw new AppError("no_engine");
  return prepareRun(task);
}

async function acquire(
  pool: Pick<ServerPool, "acquire">,
  { need, jobId, avoid }: EngineTask,
  signal: AbortSignal,
): Promise<HeldServer> {
  const held = await pool.acquire({ need, jobId, avoid, prefer: null, signal });
  if (!held) throw new AppError("server_busy", "No server can do this at the moment.");
  return held;
}

/** A signal that follows another one after a while. */
function abortAfter(signal: AbortSignal, delayMs: number) {
  const late = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const start = () => {
    timer = setTimeout(() => late.abort(new AppError("server_lost")), delayMs);
  };
  signal.addEventListener("abort", start, { once: true });
  return {
    signal: late.signal,
    clear() {
      signal.removeEventListener("abort", start);
      clearTimeout(timer);
    },
  };
}

/** The promise goes on by itself after an abort. */
function orAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
