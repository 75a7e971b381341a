import { createListeners } from "../ui/listeners.ts";

/** How far the studio's clock is ahead of the browser's, which may be wrong by hours or days. */
let aheadMs = 0;
const listeners = createListeners();

/** The time by the studio's clock, as moments in its answers are: what is compared with those begins here. */
export const studioNow = (): number => Date.now() + aheadMs;

/** An answer's `Date` is cut to the second. */
const cutMs = 1_000;

/**
 * Reads the studio's clock from an answer, which was written between request and answer: what is known changes only as far as
 * it does not fit into that time. A browser whose clock is right stays with its own.
 */
function readClock(response: Response, askedMs: number): void {
  const writtenMs = Date.parse(response.headers.get("date") ?? "");
  const answeredMs = Date.now();
  // Also without a date, and when the browser's clock was set back meanwhile.
  if (!(answeredMs >= askedMs && writtenMs > 0)) return;
  const next = Math.min(writtenMs + cutMs - askedMs, Math.max(writtenMs - answeredMs, aheadMs));
  if (next === aheadMs) return;
  aheadMs = next;
  listeners.notify();
}

/** `fetch` of what no cache keeps, which tells the studio's time, too. */
export async function fetchNow(...[input, init]: Parameters<typeof fetch>): Promise<Response> {
  const askedMs = Date.now();
  const response = await fetch(input, init);
  readClock(response, askedMs);
  return response;
}

/** Calls after each of these times, and when the studio's clock turned out to be another; returns how to stop. */
export function watchClock(look: () => void, everyMs: number): () => void {
  const timer = setInterval(look, everyMs);
  const forget = listeners.watch(look);
  return () => {
    clearInterval(timer);
    forget();
  };
}
