import path from "node:path";
import { iopaintEngine as facts, type JobKind } from "@atelier/server/engines";
import { AppError, toAppError } from "@atelier/server/platform";
import type { HeldServer, ServerPool } from "../../servers/index.ts";
import type { Engine, EngineContext, EngineOutput, EngineTask } from "../port.ts";
import { createRequests, type Requests } from "./create-requests.ts";
import type { IopaintRun, PrepareRun } from "./iopaint-run.ts";
import { prepareInpaint } from "./prepare-inpaint.ts";
import { preparePlugin } from "./prepare-plugin.ts";

type Pool = Pick<ServerPool, "acquire" | "report">;

export interface IopaintEngineInput {
  readonly pool: Pool;
  /** A server that has not answered after this time counts as lost. In ms, default half an hour: the run's own limit is shorter. */
  readonly answerLimitMs?: number;
  /** How long a server is kept for the answer of a run that was stopped. In ms, default 2 minutes. */
  readonly abandonMs?: number;
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
 * Runs on IOPaint servers, one job at a time on each. They know no cancel: the run ends at once, but the server is kept
 * until it has answered, since it would only put the next job in line.
 */
export function createIopaintEngine(input: IopaintEngineInput): Engine {
  const { pool, answerLimitMs = 30 * 60_000, abandonMs = 2 * 60_000 } = input;
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
  const held = await acquire(pool, task, signal);
  if (signal.aborted) held.release();
  signal.throwIfAborted();
  context.onBegin();
  context.onProgress(startShare, stageByKind[task.kind] ?? "sampling");
  const answer = await requests.send(prepared, held, signal).catch((error: unknown) => {
    throw signal.aborted ? error : named(error, held);
  });
  context.onProgress(endShare, "writing");
  const file = path.join(task.workDir, "result.png");
  await judge(pool, held, () => prepared.finish(answer, file));
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

async function acquire(
  pool: Pool,
  { need, jobId, avoid }: EngineTask,
  signal: AbortSignal,
): Promise<HeldServer> {
  const held = await pool.acquire({ need, jobId, avoid, prefer: null, signal });
  if (!held) throw new AppError("server_busy", "No server can do this at the moment.");
  return held;
}

/** Whether the server did well shows in its answer. */
async function judge(pool: Pool, held: HeldServer, finish: () => Promise<void>): Promise<void> {
  try {
    await finish();
    pool.report(held.url, "ok");
  } catch (error) {
    const failure = named(error, held);
    pool.report(held.url, failure);
    throw failure;
  }
}

/** The error with the server's address, so that the next try can avoid it. */
function named(error: unknown, { url }: HeldServer): AppError {
  const { code, message, details, cause } = toAppError(error);
  return new AppError(code, message, { details: { ...details, server: url }, cause });
}
