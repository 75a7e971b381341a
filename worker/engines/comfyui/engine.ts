import { comfyuiEngine as facts, type Need } from "@atelier/server/engines";
import { AppError, isAppError, isOwnMemory, isTimeout, type ErrorCode } from "@atelier/server/platform";
import { findWishes, type Wish, wishesOf } from "@atelier/server/workflows";
import { excused } from "../../clients/comfyui/index.ts";
import type { HeldServer, ServerPool } from "../../servers/index.ts";
import type { Engine, EngineContext, EngineOutput, EngineTask } from "../port.ts";
import { preparePictures } from "./canvas.ts";
import { adoptOnServer, runOnServer, type ServerRun } from "./on-server.ts";

export interface ComfyuiEngineOptions {
  readonly pool: ServerPool;
}

/** How long to wait for a server that has the prompt already: longer than a new worker takes to find its servers. */
const adoptPatienceMs = 10_000;

/** Runs workflows on the ComfyUI servers of a pool, one job at once on each. */
export function createComfyuiEngine({ pool }: ComfyuiEngineOptions): Engine {
  return {
    name: facts.name,
    kinds: facts.kinds,
    run: (task, context) => run(pool, task, context),
    close: () => Promise.resolve(),
  };
}

async function run(pool: ServerPool, task: EngineTask, context: EngineContext): Promise<EngineOutput[]> {
  const { workflow } = task;
  if (!workflow) throw new AppError("workflow_unknown");
  context.signal.throwIfAborted();
  const pictures = await preparePictures(task, workflow);
  const serverRun = { task, context, workflow, pictures };
  return (await adopt(pool, serverRun)) ?? (await runFromStart(pool, serverRun));
}

/** Adopts the prompt of an earlier attempt at its server, also when the job may not run there now; null without one. */
async function adopt(pool: ServerPool, serverRun: ServerRun): Promise<EngineOutput[] | null> {
  const { task, context } = serverRun;
  if (!task.submission) return null;
  const { jobId, need, submission } = task;
  const request = { url: submission.server, jobId, patienceMs: adoptPatienceMs, signal: context.signal };
  const held = await pool.acquireHolder(request);
  if (!held) return null;
  const work = () => adoptOnServer(held, tellBegin(pool, held, serverRun));
  return use(pool, held, { work, need, signal: context.signal });
}

async function runFromStart(pool: ServerPool, serverRun: ServerRun): Promise<EngineOutput[]> {
  const { task, context } = serverRun;
  const { need, jobId, avoid, submission } = task;
  const prefer = submission?.server ?? null;
  const wishes = wishesOf(serverRun.workflow, task.params);
  requireWishes(pool, task, wishes);
  const held = await pool.acquire({ need, jobId, avoid, prefer, wishes, signal: context.signal });
  if (!held) throw new AppError("server_busy", "No server can take the picture at the moment.");
  const work = () => runOnServer(held, tellBegin(pool, held, serverRun));
  return use(pool, held, { work, need, signal: context.signal });
}

/** The same run, of whose begin the pool learns too: from then on the server loads its models. */
function tellBegin(pool: ServerPool, { url }: HeldServer, serverRun: ServerRun): ServerRun {
  const { context, task } = serverRun;
  const onBegin = () => {
    pool.report(url, "begun", task.need);
    context.onBegin();
  };
  return { ...serverRun, context: { ...context, onBegin } };
}

/**
 * Throws `server_busy` while none of the servers that could run the job has its LoRAs and checkpoint: it goes to other servers, and waits
 * where there are none, since they were there when it was accepted.
 */
function requireWishes(pool: ServerPool, { need, avoid }: EngineTask, wishes: readonly Wish[]): void {
  if (wishes.length === 0) return;
  const able = pool
    .list()
    .filter(({ state, needs, url }) => state === "healthy" && needs.includes(need) && !avoid.includes(url));
  const [first] = able;
  // A name that may be any of several files is not away: nothing would end a wait for it.
  const isThere = able.some((server) => findWishes(wishes, server.choices).lacking.length === 0);
  if (!first || isThere) return;
  const away = wishes.map(({ name }) => name);
  throw new AppError(
    "server_busy",
    `No connected server has now: ${away.join(", ")}. The job waits for one.`,
    {
      details: { server: first.url, away },
    },
  );
}

interface Use<T> {
  /** Resolves with null when the server did not run anything. */
  readonly work: () => Promise<T>;
  readonly need: Need;
  readonly signal: AbortSignal;
}

async function use<T>(pool: ServerPool, held: HeldServer, { work, need, signal }: Use<T>): Promise<T> {
  try {
    const result = await work();
    if (result !== null) pool.report(held.url, "ok", need);
    return result;
  } catch (error) {
    throw reportFailure(pool, held, { error, need, signal });
  } finally {
    held.release();
  }
}

/** Failures that concern the server and not only the job. */
const serverCodes = new Set<ErrorCode>([
  "server_lost",
  "server_busy",
  "proxy_error",
  "engine_failed",
  "node_failed",
  "engine_interrupted",
  "engine_blocked",
  "gpu_out_of_memory",
  "out_of_memory",
  "model_missing",
  "node_missing",
  "graph_invalid",
  "request_too_large",
]);

interface Failed {
  readonly error: unknown;
  readonly need: Need;
  readonly signal: AbortSignal;
}

/** Reports the failure to the pool and returns the error to throw, with the server in its details. */
function reportFailure(pool: ServerPool, held: HeldServer, { error, need, signal }: Failed): unknown {
  const { url } = held;
  if (signal.aborted) {
    if (isTimeout(signal.reason))
      pool.report(url, new AppError("engine_timeout", undefined, { cause: error }), need);
    return error;
  }
  if (!isAppError(error)) return error;
  const code = error.code === "input_missing" ? "proxy_error" : error.code;
  if (!serverCodes.has(code) || isOwnMemory(error)) return error;
  // The input was uploaded a moment ago, so several servers answer at this address.
  const message =
    code === error.code ? error.message : "The server does not have the picture that it was given.";
  const reported = new AppError(code, message, {
    details: { ...error.details, server: url },
    cause: error.cause,
  });
  pool.report(url, reported, need);
  return excused(reported, held);
}
