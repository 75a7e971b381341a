import { setTimeout as sleep } from "node:timers/promises";
import { jobSource, type JobsUpdate, type JobView } from "../jobs/index.ts";
import { createMailbox, feedOf } from "../live/index.ts";
import type { Services } from "../services.ts";
import { type BatchAddress, type BatchPlace, type BatchView, getBatch } from "./read.ts";

const waitMs = 1_000;
/** The feed tells of each change; should it ever not, a reader finds out after this time. */
const unaskedReadMs = 15_000;
/** Jobs of a batch end in bursts, and each read is of all of them. */
const restMs = 250;

/** The batch as it is now, with the places that changed since the last event; the first event has all of them. */
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
  const leaving = new AbortController();
  const stopped = AbortSignal.any([signal, leaving.signal]);
  const mailbox = createMailbox<JobView, JobsUpdate>({ waitMs, signal: stopped });
  const known = new Map<number, string>();
  const remove = feedOf(services).add(jobSource, {
    ownerId: address.ownerId,
    wantsLive: false,
    end: () => leaving.abort(),
    push: (event) => {
      if (event.type === "rows") mailbox.put({ ...event, source: jobSource });
    },
  });
  try {
    while (!stopped.aborted) {
      const batch = await getBatch(services, address);
      const changed = batch.jobs.filter((place) => known.get(place.position) !== stateOf(place));
      for (const place of changed) known.set(place.position, stateOf(place));
      if (changed.length > 0) yield { ...batch, jobs: changed };
      if (batch.status === "ended") return;
      await sleep(restMs, undefined, { signal: stopped }).catch(() => undefined);
      const readUntilMs = performance.now() + (batch.jobs.some(isBetween) ? waitMs : unaskedReadMs);
      while ((await mailbox.take()).length === 0 && performance.now() < readUntilMs && !stopped.aborted)
        yield null;
    }
  } finally {
    mailbox.close();
    remove();
  }
}

function stateOf({ job, steps }: BatchPlace): string {
  const stopped = steps?.stopped?.code ?? "";
  return job === null ? "removed" : `${job.id} ${job.revision} ${steps?.begun ?? 0} ${stopped}`;
}

/** A step that is refused changes no job, so nothing tells of it. */
const isBetween = ({ job, steps }: BatchPlace) =>
  job?.status === "completed" && steps !== null && steps.begun < steps.count && steps.stopped === null;
