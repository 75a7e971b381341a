import { setTimeout as sleep } from "node:timers/promises";
import { newsOf } from "../jobs/index.ts";
import type { Services } from "../services.ts";
import { type BatchAddress, type BatchPlace, type BatchView, getBatch } from "./read.ts";

/** Jobs of a batch end in bursts, and each read is of all of them. */
const restMs = 250;

/** The batch as it is now, with the places that changed since the last event; the first event has all of them, the last one may have none. */
export interface BatchEvent extends BatchView {
  readonly jobs: readonly BatchPlace[];
}

/**
 * Follows a batch until none of its jobs is open. A client that connects again gets the whole state first. Yields null
 * after a second without a change. Throws `not_found`.
 */
export async function* streamBatch(
  services: Services,
  { signal, ...address }: BatchAddress & { readonly signal: AbortSignal },
): AsyncGenerator<BatchEvent | null> {
  const known = new Map<number, string>();
  let told: BatchView["status"] | null = null;
  let isRestless = false;
  const { ownerId } = address;
  for await (const news of newsOf(services, { ownerId, signal, isRestless: () => isRestless })) {
    if (news === null) {
      yield null;
      continue;
    }
    const batch = await getBatch(services, address);
    const changed = batch.jobs.filter((place) => known.get(place.position) !== stateOf(place));
    for (const place of changed) known.set(place.position, stateOf(place));
    // Its counts are read beside the jobs, so that its end may be told after the last of them.
    if (changed.length > 0 || batch.status !== told) yield { ...batch, jobs: changed };
    told = batch.status;
    if (batch.status === "ended") return;
    isRestless = batch.jobs.some(isBetween);
    await sleep(restMs, undefined, { signal }).catch(() => undefined);
  }
}

function stateOf({ job, steps }: BatchPlace): string {
  const stopped = steps?.stopped?.code ?? "";
  return job === null ? "removed" : `${job.id} ${job.revision} ${steps?.begun ?? 0} ${stopped}`;
}

/** A step that is refused changes no job, so nothing tells of it. */
const isBetween = ({ job, steps }: BatchPlace) =>
  job?.status === "completed" && steps !== null && steps.begun < steps.count && steps.stopped === null;
