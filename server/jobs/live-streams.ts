import { sql } from "drizzle-orm";
import { streamMs } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { isFinal, openStatuses } from "./job.ts";
import { type ProgressUpdate, withLastPreview } from "./live-changes.ts";
import { feedOf, type FeedUpdate, type Watcher } from "./live-feed.ts";
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
  /** The `at` of the last update that the client received; the snapshot includes jobs that ended since. */
  readonly since: Date | null;
  readonly signal: AbortSignal;
}

const aliveMs = 10_000;
const firstLookBackMs = 10 * 60_000;
/** Covers commits that become visible late; a job that is read twice is dropped by its revision. */
const overlapMs = 5_000;

/** All updates of an owner's jobs: first a snapshot, then changed jobs and live progress until the stream ends. */
export async function* watch(
  services: Services,
  { ownerId, since, signal }: WatchInput,
): AsyncGenerator<JobsUpdate> {
  const mailbox = createMailbox();
  const ended = new AbortController();
  const stopped = AbortSignal.any([signal, ended.signal]);
  const watcher: Watcher = {
    ownerId,
    reads: "jobs_and_progress",
    push: (update) => mailbox.put(update),
    end: () => ended.abort(),
  };
  const feed = feedOf(services);
  // Added before the snapshot is read, so that no change is missed.
  const remove = feed.add(watcher);
  // The client opens the next stream with `since`.
  const endsAtMs = performance.now() + streamMs(services.env);
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
    while (!stopped.aborted && performance.now() < endsAtMs) {
      const updates = await mailbox.take(Math.min(aliveMs, endsAtMs - performance.now()), stopped);
      if (updates.length === 0 && !stopped.aborted) yield { type: "alive", at: now() };
      for (const update of dropOlder(updates))
        yield update.type === "jobs" ? { ...update, at: now() } : update;
    }
  } finally {
    remove();
  }
}

/** The clock of the database, which also wrote the times that `since` is compared with; the local clock may differ. */
async function readClock({ db }: Services): Promise<() => string> {
  const result = await db.execute<{ ms: number }>(
    sql`select (extract(epoch from now()) * 1000)::float8 as ms`,
  );
  const offsetMs = (result[0]?.ms ?? Date.now()) - Date.now();
  return () => new Date(Date.now() + offsetMs).toISOString();
}

/** Drops jobs that are not newer than the last sent revision: an update may have been read before the snapshot. */
function createOlderFilter(jobs: readonly JobView[]) {
  const sent = new Map(jobs.map((job) => [job.id, job.revision]));
  return (updates: readonly FeedUpdate[]): FeedUpdate[] =>
    updates.flatMap((update): FeedUpdate[] => {
      if (update.type !== "jobs") return [update];
      const newer = update.jobs.filter((job) => (sent.get(job.id) ?? 0) < job.revision);
      for (const job of newer) sent.set(job.id, job.revision);
      return newer.length > 0 ? [{ ...update, jobs: newer }] : [];
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
 * The events of one job after a revision, each once and in order, until the job ends. A client resumes with the last
 * revision it received. Yields null after a second without an event, to keep the connection alive.
 */
export async function* streamEvents(
  services: Services,
  { ownerId, id, after, signal }: JobAddress & { after: number; signal: AbortSignal },
): AsyncGenerator<JobEventView | null> {
  const mailbox = createMailbox();
  const leaving = new AbortController();
  const stopped = AbortSignal.any([signal, leaving.signal]);
  const remove = feedOf(services).add({
    ownerId,
    reads: "jobs",
    end: () => leaving.abort(),
    push: (update) => {
      if (update.type === "jobs" && update.jobs.some((job) => job.id === id)) mailbox.put(update);
    },
  });
  try {
    await get(services, { ownerId, id });
    let revision = after;
    let ended = false;
    while (!ended && !stopped.aborted) {
      const events = await readEvents(services, { id, after: revision });
      yield* events;
      const last = events.at(-1);
      revision = last?.revision ?? revision;
      ended = last ? isFinal(last.status) : await hasEnded(services, { ownerId, id }, revision);
      if (!last && !ended) yield null;
      if (!ended) await mailbox.take(waitMs, stopped);
    }
  } finally {
    remove();
  }
}

/** Whether no event can follow: the job has ended and the story was pruned, or the client has the last revision. */
async function hasEnded(services: Services, address: JobAddress, revision: number): Promise<boolean> {
  const job = await get(services, address);
  return isFinal(job.status) && job.revision <= revision;
}

/** Buffer for a slow reader: of each job it keeps only the newest state and the newest progress. */
interface Mailbox {
  put(update: FeedUpdate): void;
  /** Waits for updates; returns an empty list after `waitMs` or when the signal aborts. */
  take(waitMs: number, signal: AbortSignal): Promise<FeedUpdate[]>;
}

function createMailbox(): Mailbox {
  const jobs = new Map<string, JobView>();
  const progress = new Map<string, ProgressUpdate>();
  let at = "";
  let wake: (() => void) | null = null;
  return {
    put(update) {
      if (update.type === "progress")
        progress.set(update.jobId, withLastPreview(update, progress.get(update.jobId) ?? null));
      else {
        at = update.at;
        for (const job of update.jobs) jobs.set(job.id, job);
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
      const updates: FeedUpdate[] = [...progress.values()];
      if (jobs.size > 0) updates.push({ type: "jobs", jobs: [...jobs.values()], at });
      jobs.clear();
      progress.clear();
      return updates;
    },
  };
}
