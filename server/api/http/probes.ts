import { orLate } from "../../platform/index.ts";
import type { Services } from "../../services.ts";

/** A part that answers later than this counts as down. */
const probeTimeoutMs = 3_000;
/** Callers need no session, so their number must not become work: an answer is given out again for this long. */
export const cachedMs = 2_000;
/** One late or refused answer of the bucket takes no process out of service. */
const faultLastsMs = 10_000;

/** A part of the studio at a check. */
export interface PartCheck {
  readonly ok: boolean;
  readonly latencyMs: number;
  /** When this was true, ms of the own monotonic clock; null when nothing is known. */
  readonly atMs: number | null;
  /** Why it is not ok; null when it is. */
  readonly reason: string | null;
}

interface ProbeInput<T> {
  readonly part: string;
  /** Told when it fails; the error itself is logged only. */
  readonly reason: string;
  readonly ask: () => Promise<T>;
  /** So long after a good answer a late one changes nothing. */
  readonly forgivenMs?: number;
}

export type Probed<T> = PartCheck & { readonly value: T | null };

/** A part asked by at most one question at a time: while a late one is under way, the next check waits for it. */
export function createProbe<T>(
  { log }: Services,
  { part, reason, ask, forgivenMs = 0 }: ProbeInput<T>,
): () => Promise<Probed<T>> {
  const late = new Error(`no answer within ${probeTimeoutMs} ms`);
  let underWay: Promise<T> | null = null;
  let good: { readonly value: T; readonly atMs: number } | null = null;
  return async () => {
    const startedAtMs = performance.now();
    const times = (atMs = performance.now()) => ({ latencyMs: Math.round(atMs - startedAtMs), atMs });
    underWay ??= ask().finally(() => (underWay = null));
    try {
      const value = await orLate(underWay, probeTimeoutMs, () => {
        throw late;
      });
      good = { value, atMs: performance.now() };
      return { ok: true, ...times(), reason: null, value };
    } catch (error) {
      log.warn({ err: error, part }, "health check failed");
      if (error === late && good && performance.now() - good.atMs < forgivenMs)
        return { ok: true, ...times(), ...good, reason: null };
      return { ok: false, ...times(), reason, value: null };
    }
  };
}

/** Repeats a good answer, with its time, for so long. */
export function keepFor<T>(keptMs: number, probe: () => Promise<Probed<T>>): () => Promise<Probed<T>> {
  let last: Probed<T> | null = null;
  return async () => {
    const isKept = last?.ok && last.atMs !== null && performance.now() - last.atMs < keptMs;
    if (!last || !isKept) last = await probe();
    return last;
  };
}

/** Returns why a part has failed for a while, by what is known, and asks it for the next call. */
export function watchFault({ later }: Services, probe: () => Promise<Probed<unknown>>): () => string | null {
  let asksAtMs = 0;
  let failedAtMs: number | null = null;
  let fault: string | null = null;
  const ask = async () => {
    const { ok, reason } = await probe();
    const nowMs = performance.now();
    failedAtMs = ok ? null : (failedAtMs ?? nowMs);
    fault = failedAtMs !== null && nowMs - failedAtMs >= faultLastsMs ? reason : null;
  };
  return () => {
    if (performance.now() >= asksAtMs) {
      asksAtMs = performance.now() + cachedMs;
      later(ask());
    }
    return fault;
  };
}
