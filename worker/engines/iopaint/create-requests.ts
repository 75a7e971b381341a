import type { Need } from "@atelier/server/engines";
import type { ServerRunEnd } from "@atelier/server/nodes";
import { AppError, toAppError } from "@atelier/server/platform";
import type { HeldServer, ServerPool } from "../../servers/index.ts";
import { orAborted } from "../../or-aborted.ts";
import type { ServerLease } from "../port.ts";
import type { IopaintRun } from "./iopaint-run.ts";

/** A server that is this run's alone, among all workers. */
export interface TakenServer {
  readonly held: HeldServer;
  readonly lease: ServerLease;
  readonly need: Need;
}

export interface RequestsInput {
  readonly pool: Pick<ServerPool, "report">;
  readonly answerLimitMs: number;
  readonly abandonMs: number;
}

/** The requests that are under way, also those whose run has ended. */
export interface Requests {
  /**
   * The answer, or the signal's reason at once. Server and lease are released by the server's answer, or `abandonMs` after
   * the abort, not by the end of the run: a failed request is reported to the pool, a good answer is the caller's to judge.
   */
  send(run: IopaintRun, taken: TakenServer, signal: AbortSignal): Promise<Buffer>;
  close(): Promise<void>;
}

export function createRequests({ pool, answerLimitMs, abandonMs }: RequestsInput): Requests {
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
