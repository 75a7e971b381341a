import { comfyuiEngine as facts } from "@atelier/server/engines";
import { AppError, isAppError, type ErrorCode } from "@atelier/server/platform";
import type { HeldServer, ServerPool } from "../../servers/index.ts";
import type { Engine, EngineContext, EngineOutput, EngineTask } from "../port.ts";
import { preparePictures } from "./canvas/prepare-pictures.ts";
import { runOnServer } from "./run-on-server.ts";

export interface ComfyuiEngineOptions {
  readonly pool: ServerPool;
}

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
  const held = await acquire(pool, task, context.signal);
  try {
    const outputs = await runOnServer(held, { task, context, workflow, pictures });
    pool.report(held.url, "ok");
    return outputs;
  } catch (error) {
    throw judge(pool, held, { error, signal: context.signal });
  } finally {
    held.release();
  }
}

/** The server that has the job already, even if that means to wait for it; else any that is free. */
async function acquire(pool: ServerPool, task: EngineTask, signal: AbortSignal): Promise<HeldServer> {
  const { need, jobId, avoid, submission } = task;
  const input = { need, jobId, avoid, prefer: submission?.server ?? null, signal };
  if (submission && !avoid.includes(submission.server)) {
    const others = pool.list().flatMap(({ url }) => (url === submission.server ? [] : [url]));
    const held = await pool.acquire({ ...input, avoid: [...avoid, ...others] });
    if (held) return held;
  }
  const held = await pool.acquire(input);
  if (held) return held;
  throw new AppError("server_busy", "No server can take the picture at the moment.");
}

/** Failures that say something of the server. */
const serverCodes = new Set<ErrorCode>([
  "server_lost",
  "server_busy",
  "proxy_error",
  "engine_failed",
  "engine_interrupted",
  "engine_blocked",
  "gpu_out_of_memory",
  "out_of_memory",
  "model_missing",
  "node_missing",
  "graph_invalid",
]);

interface Failed {
  readonly error: unknown;
  readonly signal: AbortSignal;
}

/** Tells the pool how the run failed; the error to throw, which names the server. */
function judge(pool: ServerPool, { url }: HeldServer, { error, signal }: Failed): unknown {
  if (signal.aborted) {
    if (isTimeout(signal.reason))
      pool.report(url, new AppError("engine_timeout", undefined, { cause: error }));
    return error;
  }
  if (!isAppError(error)) return error;
  const code = error.code === "input_missing" ? "proxy_error" : error.code;
  if (!serverCodes.has(code)) return error;
  // It was uploaded a moment ago: what answers at this address is more than one server.
  const message =
    code === error.code ? error.message : "The server does not have the picture that it was given.";
  const told = new AppError(code, message, {
    details: { ...error.details, server: url },
    cause: error.cause,
  });
  pool.report(url, told);
  return told;
}

function isTimeout(reason: unknown): boolean {
  return reason instanceof DOMException && reason.name === "TimeoutError";
}
