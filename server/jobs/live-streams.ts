import { sql } from "drizzle-orm";
import type { Services } from "../services.ts";
import { isFinal, openStatuses } from "./job.ts";
import {
  feedOf,
  type FeedUpdate as Letter,
  type FeedUpdate,
  type ProgressUpdate,
  type Watcher,
  withLastPreview,
} from "./live-feed.ts";
import {
  get,
  type JobAddress,
  type JobEventView,
  type JobsUpdate,
  type JobView,
  loadViews,
  readEvents,
} from "./read.ts";

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

/** Holds what a slow reader has not taken yet: of each job only the newest state and the newest progress. */
interface Mailbox {
  put(letter: Letter): void;
  /** Waits for letters; empty after `waitMs` or when the signal aborts. */
  take(waitMs: number, signal: AbortSignal): Promise<Letter[]>;
}

function createMailbox(): Mailbox {
  const jobs = new Map<string, JobView>();
  const progress = new Map<string, ProgressUpdate>();
  let at = "";
  let wake: (() => void) | null = null;
  return {
    put(letter) {
      if (letter.type === "progress")
        progress.set(letter.jobId, withLastPreview(letter, progress.get(letter.jobId) ?? null));
      else {
        at = letter.at;
        for (const job of letter.jobs) jobs.set(job.id, job);
      }
      wake?.();
    },
    async take(waitMs, signal) {
      if (jobs.size === 0 && progress.size === 0 && !signal.aborted) {
        await new Promise<void>((resolve) => {
          const done = () => {
            clearTimeout(timer);
            signal.removeEventListener("abort", done);
            resolve();
          };
          const timer = setTimeout(done, waitMs);
          signal.addEventListener("abort", done);
          wake = done;
        });
        wake = null;
      }
      const letters: Letter[] = [...progress.values()];
      if (jobs.size > 0) letters.push({ type: "jobs", jobs: [...jobs.values()], at });
      jobs.clear();
      progress.clear();
      return letters;
    },
  };
}
