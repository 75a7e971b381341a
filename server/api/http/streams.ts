import { AppError } from "../../platform/index.ts";
import type { Services } from "../../services/index.ts";
import { streamLimits } from "../stream-limits.ts";

interface OpenStreams {
  readonly byUser: Map<string, number>;
  total: number;
}

const openByServices = new WeakMap<Services, OpenStreams>();

/** Counts one more open stream of a user until the returned function is called. Throws `rate_limited` above a limit. */
export function takeStreamPlace(services: Services, userId: string): () => void {
  const open = openByServices.get(services) ?? { byUser: new Map(), total: 0 };
  openByServices.set(services, open);
  const own = open.byUser.get(userId) ?? 0;
  if (own >= streamLimits.openPerUser)
    throw new AppError("rate_limited", `You have ${own} open event streams, which is the limit.`);
  if (open.total >= streamLimits.openPerProcess)
    throw new AppError("rate_limited", "This server has too many open event streams. Try again later.");
  open.byUser.set(userId, own + 1);
  open.total += 1;
  let isGivenBack = false;
  return () => {
    if (isGivenBack) return;
    isGivenBack = true;
    open.total -= 1;
    const left = (open.byUser.get(userId) ?? 1) - 1;
    if (left === 0) open.byUser.delete(userId);
    else open.byUser.set(userId, left);
  };
}

export interface StreamReader {
  readonly userId: string;
  /** Aborts when the client leaves; it may have left already. */
  readonly signal: AbortSignal;
}

/**
 * Counts a reader's stream until it ends: when the returned function is called, when the client leaves, or when the
 * reader takes nothing for too long. Then calls `onEnd` once.
 */
export function holdStreamPlace(services: Services, reader: StreamReader, onEnd: () => void): () => void {
  const giveBack = takeStreamPlace(services, reader.userId);
  let hasEnded = false;
  const end = () => {
    if (hasEnded) return;
    hasEnded = true;
    clearTimeout(timer);
    reader.signal.removeEventListener("abort", end);
    giveBack();
    onEnd();
  };
  const timer = setTimeout(end, streamLimits.stalledMs);
  timer.unref();
  // Not every server cancels the body of a client that has left.
  if (reader.signal.aborted) end();
  else reader.signal.addEventListener("abort", end, { once: true });
  return end;
}
