import path from "node:path";
import { iopaintEngine as facts, type JobKind, type Need } from "@atelier/server/engines";
import type { ServerRunEnd } from "@atelier/server/nodes";
import { AppError, isAppError, isOwnMemory, orAborted, toAppError } from "@atelier/server/platform";
import { excused } from "../../clients/comfyui/index.ts";
import type { HeldServer, ServerPool } from "../../servers/index.ts";
import type { Engine, EngineContext, EngineOutput, EngineTask, ServerLease } from "../port.ts";
import {
  type IopaintRun,
  prepareInpaint,
  preparePlugin,
  type PrepareRun,
  prepareSegment,
} from "./prepare.ts";

type Pool = Pick<ServerPool, "acquire" | "report" | "noteTaken">;

export interface IopaintEngineInput {
  readonly pool: Pool;
  /** A server that does not answer for this long counts as lost. Default 30 min; the limit of the run is shorter. */
  readonly answerLimitMs?: number;
  /** How long a server is kept after its run was stopped, until it answers. */
  readonly abandonMs: number;
}

/** Progress before and after the request; the server reports none in between. */
const startShare = 0.05;
const endShare = 0.95;

/** Keys of the message catalogue `stages`. */
const stageByKind: Partial<Record<JobKind, string>> = {
  upscale: "tile",
  remove_background: "edge",
  segment: "segment",
};

const prepareByKind: Partial<Record<JobKind, PrepareRun>> = {
  inpaint: prepareInpaint,
  upscale: preparePlugin("upscale"),
  remove_background: preparePlugin("remove_background"),
  restore_faces: preparePlugin("restore_faces"),
  segment: prepareSegment,
};

/**
 * Runs jobs on IOPaint servers, one at a time per server among all workers: plugins keep their picture on a shared instance,
 * so that concurrent requests can get each other's picture. IOPaint cannot cancel: an aborted run ends at once, but its
 * server is kept until it has answered.
 *
 *   held (pool) -> taken (server lease) -> request -> answer      -> lease "over", server released
 *                                             |   \-> abort       -> answer within `abandonMs`: "over", else "given_up"
 *                                             +-----> connection lost -> "lost": the server stays taken until that run must be over
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
  await finishAndReport(pool, taken, () => prepared.finish(answer, file));
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

/** A server that only this run uses, among all workers. */
interface TakenServer {
  readonly held: HeldServer;
  readonly lease: ServerLease;
  readonly need: Need;
}

/** Takes a server that no run of any worker uses. Reports to the pool the servers that another worker has taken. */
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

/** Takes the lease of a held server and stores the server with the job. Releases the server on failure. */
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

/** Finishes the result and reports the run to the pool: a bad picture counts as a failure of the server, what this machine lacks does not. */
async function finishAndReport(pool: Pool, taken: TakenServer, finish: () => Promise<void>): Promise<void> {
  const { held, need } = taken;
  try {
    await finish();
    pool.report(held.url, "ok", need);
  } catch (error) {
    const { code } = toAppError(error);
    if (code === "storage_unavailable" || (isAppError(error) && isOwnMemory(error))) {
      pool.report(held.url, "ok", need);
      throw error;
    }
    const failure = named(error, taken);
    pool.report(held.url, failure, need);
    throw failure;
  }
}

/**
 * The error with the server's address, so that the next attempt avoids the server. While a lost run may still be running
 * there, a failure becomes `server_busy`, which costs the job nothing.
 */
function named(error: unknown, { held, lease }: TakenServer): AppError {
  const { code, message, details, cause } = toAppError(error);
  const known = { details: { ...details, server: held.url }, cause };
  if (code !== "engine_failed" || !lease.mayBeBusy) return excused(new AppError(code, message, known), held);
  return new AppError("server_busy", "The server may still be busy with a lost run.", known);
}

interface RequestsInput {
  readonly pool: Pick<ServerPool, "report">;
  readonly answerLimitMs: number;
  readonly abandonMs: number;
}

/** The requests under way, also those whose run has ended. */
interface Requests {
  /**
   * Resolves with the answer, rejects at once on abort. Server and lease are released at the server's answer, or `abandonMs`
   * after the abort. A failed request is reported to the pool here; the caller reports a good answer.
   */
  send(run: IopaintRun, taken: TakenServer, signal: AbortSignal): Promise<Buffer>;
  close(): Promise<void>;
}

function createRequests({ pool, answerLimitMs, abandonMs }: RequestsInput): Requests {
  const closing = new AbortController();
  const open = new Set<Promise<void>>();
  return {
    send(run, { held, lease, need }, signal) {
      const { url, headers, query } = held;
      const abandon = abortAfter(signal, abandonMs);
      const bounds = AbortSignal.any([closing.signal, abandon.signal]);
      const answer = run.request({ url, headers, query }, { signal: bounds, timeoutMs: answerLimitMs });
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
          // Before the release: the next job of this worker must find the lease free.
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

/** `over` when the answer shows that the server ended the run; after a broken connection it may still run. */
function endOf({ code, details }: AppError): ServerRunEnd {
  if (code === "proxy_error") return proxyGaveUp.includes(Number(details?.["status"])) ? "lost" : "over";
  if (code !== "server_lost" || details?.["reason"] === "refused") return "over";
  return details?.["reason"] === "timeout" ? "given_up" : "lost";
}

/** Status codes of proxies whose server takes too long. */
const proxyGaveUp: readonly number[] = [408, 504, 522, 524];

/** A signal that aborts `delayMs` after another one. */
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
