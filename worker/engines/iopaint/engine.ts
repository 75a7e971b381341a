import path from "node:path";
import { iopaintEngine as facts, type JobKind, type Need } from "@atelier/server/engines";
import type { ServerRunEnd } from "@atelier/server/nodes";
import { AppError, toAppError } from "@atelier/server/platform";
import { orAborted } from "../../loop.ts";
import type { HeldServer, ServerPool } from "../../servers/index.ts";
import type { Engine, EngineContext, EngineOutput, EngineTask, ServerLease } from "../port.ts";
import { type IopaintRun, prepareInpaint, preparePlugin, type PrepareRun } from "./prepare.ts";

type Pool = Pick<ServerPool, "acquire" | "report" | "noteTaken">;

export interface IopaintEngineInput {
  readonly pool: Pool;
  /** A server that has not answered after this time counts as lost. In ms, default half an hour: the run's own limit is shorter. */
  readonly answerLimitMs?: number;
  /** How long a server is kept for the answer of a run that was stopped, in ms. */
  readonly abandonMs: number;
}

/** Shares of the run before and after the server's own work, of which it says nothing. */
const startShare = 0.05;
const endShare = 0.95;

/** Keys of the message catalogue `stages`. */
const stageByKind: Partial<Record<JobKind, string>> = { upscale: "tile", remove_background: "edge" };

const prepareByKind: Partial<Record<JobKind, PrepareRun>> = {
  inpaint: prepareInpaint,
  upscale: preparePlugin("upscale"),
  remove_background: preparePlugin("remove_background"),
  restore_faces: preparePlugin("restore_faces"),
};

/**
 * Runs on IOPaint servers, one job at a time on each among all workers: they answer requests at the same time, but their
 * plugins keep a picture on one shared instance, so that a job would get another job's picture. They know no cancel:
 * the run ends at once, but the server is kept until it has answered.
 */
export function createIopaintEngine(input: IopaintEngineInput): Engine {
  const { pool, answerLimitMs = 30 * 60_000, abandonMs } = input;
  const requests = createRequests({ pool, answerLimitMs, abandonMs });
  return {
    name: facts.name,
    kinds: facts.kinds,
    run: (task, context) => work(task, context, { pool, requests }),
    close: () => requests.close(),
  };
}

async function work(
  task: EngineTask,
  context: EngineContext,
  { pool, requests }: { pool: Pool; requests: Requests },
): Promise<readonly EngineOutput[]> {
  const { signal } = context;
  signal.throwIfAborted();
  const startedAt = performance.now();
  context.onProgress(0, "reading");
  const prepared = await prepare(task);
  const taken = await acquire(pool, task, context);
  const { held } = taken;
  context.onBegin();
  context.onProgress(startShare, stageByKind[task.kind] ?? "sampling");
  const answer = await requests.send(prepared, taken, signal).catch((error: unknown) => {
    throw signal.aborted ? error : named(error, taken);
  });
  context.onProgress(endShare, "writing");
  const file = path.join(task.workDir, "result.png");
  await judge(pool, taken, () => prepared.finish(answer, file));
  signal.throwIfAborted();
  context.onProgress(1, "writing");
  const timeMs = Math.round(performance.now() - startedAt);
  return [{ path: file, mime: "image/png", facts: { server: held.label, timeMs } }];
}

async function prepare(task: EngineTask): Promise<IopaintRun> {
  const prepareRun = prepareByKind[task.kind];
  if (!prepareRun) throw new AppError("no_engine");
  return prepareRun(task);
}

/** A server that is this run's alone, among all workers. */
interface TakenServer {
  readonly held: HeldServer;
  readonly lease: ServerLease;
  readonly need: Need;
}

/** A server that no run of any worker uses; one that another worker has taken is busy for the pool, too. */
async function acquire(pool: Pool, task: EngineTask, context: EngineContext): Promise<TakenServer> {
  const { need, jobId, avoid } = task;
  for (;;) {
    const held = await pool.acquire({ need, jobId, avoid, prefer: null, signal: context.signal });
    if (!held) throw new AppError("server_busy", "No server can do this at the moment.");
    const lease = await leaseOf(held, context);
    if (lease) return { held, lease, need };
    pool.noteTaken(held.url);
    held.release();
  }
}

/** The lease of a server, with the server noted at the job; the server is released where that fails. */
async function leaseOf(held: HeldServer, context: EngineContext): Promise<ServerLease | null> {
  let lease: ServerLease | null = null;
  try {
    lease = await context.takeServer(held.url);
    context.signal.throwIfAborted();
    if (lease) await context.onSubmitting({ server: held.url, externalId: null });
    context.signal.throwIfAborted();
    return lease;
  } catch (error) {
    await lease?.end("over");
    held.release();
    throw error;
  }
}

/** Whether the server did well shows in its answer. */
async function judge(pool: Pool, taken: TakenServer, finish: () => Promise<void>): Promise<void> {
  const { held, need } = taken;
  try {
    await finish();
    pool.report(held.url, "ok", need);
  } catch (error) {
    const failure = named(error, taken);
    pool.report(held.url, failure, need);
    throw failure;
  }
}

/**
 * The error with the server's address, so that the next try can avoid it. A failure beside a run that was lost may be the
 * lost run's doing, so it costs the job nothing.
 */
function named(error: unknown, { held, lease }: TakenServer): AppError {
  const { code, message, details, cause } = toAppError(error);
  const known = { details: { ...details, server: held.url }, cause };
  if (code !== "engine_failed" || !lease.mayBeBusy) return new AppError(code, message, known);
  return new AppError("server_busy", "The server may still be busy with a lost run.", known);
}

interface RequestsInput {
  readonly pool: Pick<ServerPool, "report">;
  readonly answerLimitMs: number;
  readonly abandonMs: number;
}

/** The requests that are under way, also those whose run has ended. */
interface Requests {
  /**
   * The answer, or the signal's reason at once. Server and lease are released by the server's answer, or `abandonMs` after
   * the abort, not by the end of the run: a failed request is reported to the pool, a good answer is the caller's to judge.
   */
  send(run: IopaintRun, taken: TakenServer, signal: AbortSignal): Promise<Buffer>;
  close(): Promise<void>;
}

function createRequests({ pool, answerLimitMs, abandonMs }: RequestsInput): Requests {
  const closing = new AbortController();
  const open = new Set<Promise<void>>();
  return {
    send(run, { held, lease, need }, signal) {
      const { url, headers } = held;
      const abandon = abortAfter(signal, abandonMs);
      const bounds = AbortSignal.any([closing.signal, abandon.signal]);
      const answer = run.request({ url, headers }, { signal: bounds, timeoutMs: answerLimitMs });
      const ended = answer
        .then(
          () => "over" as const,
          (error: unknown) => {
            if (closing.signal.aborted) return "lost";
            pool.report(url, toAppError(error), need);
            return abandon.signal.aborted ? "given_up" : endOf(toAppError(error));
          },
        )
        .then(async (end) => {
          abandon.clear();
          // Before the release: the next job of this worker must find the server free.
          await lease.end(end);
          held.release();
          open.delete(ended);
        });
      open.add(ended);
      return orAborted(answer, signal);
    },
    async close() {
      closing.abort();
      await Promise.all(open);
    },
  };
}

/** Whether the server has ended the run by its answer; a connection that breaks says nothing about it. */
function endOf({ code, details }: AppError): ServerRunEnd {
  if (code === "proxy_error") return proxyGaveUp.includes(Number(details?.["status"])) ? "lost" : "over";
  if (code !== "server_lost" || details?.["reason"] === "refused") return "over";
  return details?.["reason"] === "timeout" ? "given_up" : "lost";
}

/** What proxies answer when the server behind them takes too long. */
const proxyGaveUp: readonly number[] = [408, 504, 522, 524];

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
