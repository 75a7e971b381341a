import type { Hints } from "../queue/index.ts";
import type { Services } from "../services.ts";

type OnEnded = (jobIds: readonly string[]) => void;

/** Listeners by the hints of their process. */
const listenersByHints = new WeakMap<Hints, Set<OnEnded>>();

/** Calls back with the jobs that this process has ended, after the commit. Returns the function that ends this. */
export function onJobsEnded({ hints }: Pick<Services, "hints">, listener: OnEnded): () => void {
  const listeners = listenersByHints.get(hints) ?? new Set();
  listenersByHints.set(hints, listeners.add(listener));
  return () => void listeners.delete(listener);
}

/** Saves the deliveries of jobs that ended in this process the wait for the next poll. */
export function noteEnded({ hints }: Pick<Services, "hints">, jobIds: readonly string[]): void {
  if (jobIds.length === 0) return;
  for (const listener of listenersByHints.get(hints) ?? []) listener(jobIds);
}
