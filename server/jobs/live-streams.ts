import { sql } from "drizzle-orm";
import type { Services } from "../services/index.ts";
import { feedOf } from "./live-feed.ts";
import type { JobsUpdate, JobView } from "./read.ts";
import { loadViews } from "./load-views.ts";
import { createMailbox } from "./mailbox.ts";
import { openStatuses } from "./status.ts";
import type { FeedUpdate, Watcher } from "./watchers.ts";

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
/** Covers commits that are a little apart; a job seen twice is dropped by its revision. */
const overlapMs = 5_000;

/** What happens to an owner's jobs: first a snapshot, then changed jobs and live progress until the signal or the end. */
export async function* watch(
  services: Services,
  { ownerId, since, signal }: WatchInput,
): AsyncGenerator<JobsUpdate> {
  const mailbox = createMailbox();
  const watcher: Watcher = {
    ownerId,
    reads: "jobs_and_progress",
    push: (update) => mailbox.put(update),
  };
  const feed = feedOf(services);
  // Watched before the snapshot is read, so that no change falls in between.
  const remove = feed.add(watcher);
  const endsAtMs = performance.now() + streamMs;
  try {
    const now = await readClock(services);
    const snapshot = {
      type: "snapshot",
      jobs: await readSnapshot(services, ownerId, since),
      at: now(),
    } as const;
    feed.noteSnapshot(ownerId, snapshot.jobs);
    yield snapshot;
    for (const job of snapshot.jobs) {
      const progress = feed.lastProgress(job.id);
      if (progress) yield progress;
    }
    const dropOlder = createOlderFilter(snapshot.jobs);
    while (!signal.aborted && performance.now() < endsAtMs) {
      const letters = await mailbox.take(aliveMs, signal);
      if (letters.length === 0 && !signal.aborted) yield { type: "alive", at: now() };
      for (const letter of dropOlder(letters))
        yield letter.type === "jobs" ? { ...letter, at: now() } : letter;
    }
  } finally {
    remove();
  }
}

/** The database's clock, which also wrote the times that `since` is compared with: this process's may be off. */
async function readClock({ db }: Services): Promise<() => string> {
  const result = await db.execute<{ ms: number }>(
    sql`select (extract(epoch from now()) * 1000)::float8 as ms`,
  );
  const offsetMs = (result.rows[0]?.ms ?? Date.now()) - Date.now();
  return () => new Date(Date.now() + offsetMs).toISOString();
}

/** A letter may have been read before the snapshot: whatever is not newer than what was sent is left out. */
function createOlderFilter(jobs: readonly JobView[]) {
  const sent = new Map(jobs.map((job) => [job.id, job.revision]));
  return (letters: readonly FeedUpdate[]): FeedUpdate[] =>
    letters.flatMap((letter): FeedUpdate[] => {
      if (letter.type !== "jobs") return [letter];
      const newer = letter.jobs.filter((job) => (sent.get(job.id) ?? 0) < job.revision);
      for (const job of newer) sent.set(job.id, job.revision);
      return newer.length > 0 ? [{ ...letter, jobs: newer }] : [];
    });
}

async function readSnapshot({ db }: Services, ownerId: string, since: Date | null): Promise<JobView[]> {
  const from = since
    ? sql`${new Date(since.getTime() - overlapMs).toISOString()}::timestamptz`
    : sql`now() - ${firstLookBackMs} * interval '1 millisecond'`;
  return loadViews(
    db,
    sql`jobs.owner_id = ${ownerId} and (jobs.status in ${[...openStatuses]} or jobs.ended_at > ${from})`,
    sql`order by jobs.id desc limit 1000`,
  );
}
