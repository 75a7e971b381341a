import type { Services } from "../services/index.ts";
import { feedOf } from "./live-feed.ts";
import { get, readEvents, type JobAddress } from "./get.ts";
import type { JobEventView } from "./read.ts";
import { createMailbox } from "./mailbox.ts";
import { isFinal } from "./status.ts";

const waitMs = 1_000;

/**
 * The story of one job, each line once and in order, from after a revision until the job's end. Resuming with the last
 * seen revision continues exactly there. Yields null when nothing happened for a while, to keep the connection alive.
 */
export async function* streamEvents(
  services: Services,
  { ownerId, id, after, signal }: JobAddress & { after: number; signal: AbortSignal },
): AsyncGenerator<JobEventView | null> {
  const mailbox = createMailbox();
  const remove = feedOf(services).add({
    ownerId,
    reads: "jobs",
    push: (update) => {
      if (update.type === "jobs" && update.jobs.some((job) => job.id === id)) mailbox.put(update);
    },
  });
  try {
    await get(services, { ownerId, id });
    let revision = after;
    let ended = false;
    while (!ended && !signal.aborted) {
      const events = await readEvents(services, { id, after: revision });
      yield* events;
      const last = events.at(-1);
      revision = last?.revision ?? revision;
      ended = last ? isFinal(last.status) : await hasEnded(services, { ownerId, id }, revision);
      if (!last && !ended) yield null;
      if (!ended) await mailbox.take(waitMs, signal);
    }
  } finally {
    remove();
  }
}

/** Pruned stories and resumes after the end have nothing more to say. */
async function hasEnded(services: Services, address: JobAddress, revision: number): Promise<boolean> {
  const job = await get(services, address);
  return isFinal(job.status) && job.revision <= revision;
}
