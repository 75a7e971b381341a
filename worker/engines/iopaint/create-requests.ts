import { AppError, toAppError } from "@atelier/server/platform";
import type { HeldServer, ServerPool } from "../../servers/index.ts";
import { orAborted } from "../../or-aborted.ts";
import type { IopaintRun } from "./iopaint-run.ts";

export interface RequestsInput {
  readonly pool: Pick<ServerPool, "report">;
  readonly answerLimitMs: number;
  readonly abandonMs: number;
}

/** The requests that are under way, also those whose run has ended. */
export interface Requests {
  /**
   * The answer, or the signal's reason at once. The server is released by its answer, or `abandonMs` after the abort, not
   * by the end of the run: a failed request is reported to the pool, a good answer is the caller's to judge.
   */
  send(run: IopaintRun, held: HeldServer, signal: AbortSignal): Promise<Buffer>;
  close(): Promise<void>;
}

export function createRequests({ pool, answerLimitMs, abandonMs }: RequestsInput): Requests {
  const closing = new AbortController();
  const open = new Set<Promise<void>>();
  return {
    send(run, held, signal) {
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
      return orAborted(answer, signal);
    },
    async close() {
      closing.abort();
      await Promise.all(open);
    },
  };
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
