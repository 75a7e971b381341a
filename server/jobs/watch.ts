import { sql } from "drizzle-orm";
import type { Services } from "../services/index.ts";
import { feedOf, type Watcher } from "./feed.ts";
import type { JobsUpdate, JobView } from "./job-view.ts";
import { loadViews } from "./load-views.ts";
import { createMailbox } from "./mailbox.ts";
import { openStatuses } from "./status.ts";

export interface WatchInput {
  readonly ownerId: string;
  /** The `at` of the last update that the client has; ended jobs since then are in the snapshot. */
  readonly since: Date | null;
  readonly signal: AbortSignal;
}

const aliveMs = 10_000;
/** Streams end before a platform's time limit would cut them; the client opens the next one with `since`. */
const streamMs = 25 * 60_000;
const firstLookBackMs = 10 * 60_000;
/** Covers clocks and commits that are a little apart; a job seen twice is dropped by its revision. */
const overlapMs = 5_000;

/** What happens to an owner's jobs: first a snapshot, then changed jobs and live progress until the signal or the end. */
export async function* watch(
  services: Services,
  { ownerId, since, signal }: WatchInput,
): AsyncGenerator<JobsUpdate> {
  const mailbox = createMailbox();
  const watcher: Watcher = { ownerId, push: (update) => mailbox.put(update) };
  const feed = feedOf(services);
  // Watched before the snapshot is read, so that no change falls in between.
  const remove = feed.add(watcher);
  const endsAtMs = performance.now() + streamMs;
  try {
    const at = new Date().toISOString();
    const jobs = await readSnapshot(services, ownerId, since);
    yield { type: "snapshot", jobs, at };
    for (const job of jobs) {
      const progress = feed.lastProgress(job.id);
      if (progress) yield progress;
    }
    while (!signal.aborted && performance.now() < endsAtMs) {
      const updates = await mailbox.take(aliveMs, signal);
      if (updates.length === 0 && !signal.aborted) yield { type: "alive", at: new Date().toISOString() };
      yield* updates;
    }
  } finally {
    remove();
  }
}

async function readSnapshot({ db }: Services, ownerId: string, since: Date | null): Promise<JobView[]> {
  const from = since ? new Date(since.getTime() - overlapMs) : new Date(Date.now() - firstLookBackMs);
  return loadViews(
    db,
    sql`jobs.owner_id = ${ownerId} and (jobs.status in ${[...openStatuses]} or jobs.ended_at > ${from.toISOString()}::timestamptz)`,
    sql`order by jobs.id desc limit 1000`,
  );
}
