import type { HintMessage, LiveProgress } from "../queue/index.ts";
import type { Services } from "../services/index.ts";
import { readRevisions } from "./live-reads.ts";
import type { JobView } from "./read.ts";
import { createToldJobs, type ProgressUpdate, type ToldJobs } from "./told-jobs.ts";
import { createWantedJobs, type WantedJobs } from "./wanted-jobs.ts";
import { createWatchers, type Watcher, type Watchers } from "./watchers.ts";

/** The one reader of a web process: reads each hinted job once and feeds every watcher of its owner. */
export interface JobFeed {
  /** Watches until the returned function is called; without any watcher the feed asks nothing of the database. */
  add(watcher: Watcher): () => void;
  /** An owner's jobs that a watcher has just read: their live progress is wanted from now on. */
  noteSnapshot(ownerId: string, jobs: readonly JobView[]): void;
  /** The newest live progress of a job, for those who come late. */
  lastProgress(jobId: string): ProgressUpdate | null;
}

interface Feed {
  readonly services: Services;
  readonly watchers: Watchers;
  readonly told: ToldJobs;
  readonly wanted: WantedJobs;
  /** Asks the workers for the live progress of what is watched. */
  readonly askForProgress: () => void;
}

const pollMs = 1_000;
/** A poll also finds jobs that ended this long before the last successful one. */
const lookBackMs = 15_000;
/** Workers take a job for watched for three times as long. */
const askAgainMs = 2_000;

function createJobFeed(services: Services): JobFeed {
  const watchers = createWatchers();
  const told = createToldJobs();
  const askForProgress = createProgressRequests(services, { watchers, told });
  const wanted = createWantedJobs(services, (ownerId, jobs) => {
    const newer = told.takeNewer(ownerId, jobs);
    if (newer.length > 0) watchers.tell(ownerId, { type: "jobs", jobs: newer, at: new Date().toISOString() });
    askForProgress();
  });
  const feed: Feed = { services, watchers, told, wanted, askForProgress };
  let stop: (() => void) | null = null;
  return {
    add(watcher) {
      watchers.add(watcher);
      stop ??= startFeeding(feed);
      return () => {
        watchers.remove(watcher);
        if (watchers.ownerIds().length > 0) return;
        stop?.();
        stop = null;
      };
    },
    noteSnapshot(ownerId, jobs) {
      for (const { id, status } of jobs) told.note({ id, ownerId, isRunning: status === "processing" });
      askForProgress();
    },
    lastProgress: (jobId) => told.lastProgress(jobId),
  };
}

/** Listens for hints and polls; the returned function ends both. */
function startFeeding(feed: Feed): () => void {
  const { hints } = feed.services;
  const unsubscribe = hints.subscribe((message) => onHint(feed, message));
  const unsubscribeProgress = hints.subscribeProgress((progress) => onProgress(feed, progress));
  const poll = createPoll(feed);
  const timer = setInterval(() => void poll(), pollMs);
  timer.unref();
  return () => {
    clearInterval(timer);
    unsubscribe();
    unsubscribeProgress();
    feed.told.keepOnly(new Set(), Infinity);
    // Without jobs left it forgets what it asked for.
    feed.askForProgress();
  };
}

function onProgress({ watchers, told }: Feed, progress: LiveProgress): void {
  const ownerId = told.ownerOf(progress.jobId);
  if (ownerId === null || !watchers.has(ownerId)) return;
  const update = toUpdate(progress);
  told.noteProgress(update);
  watchers.tell(ownerId, update);
}

function onHint({ watchers, told, wanted }: Feed, message: HintMessage): void {
  if (message.type !== "jobs") return;
  for (const { ownerId, jobId, revision } of message.jobs)
    if (watchers.has(ownerId) && told.isNewer(jobId, revision)) wanted.add(jobId);
  void wanted.read();
}

/** Tells the workers which jobs are watched: at once when a job becomes so, then now and then. */
function createProgressRequests(
  { hints }: Services,
  { watchers, told }: Pick<Feed, "watchers" | "told">,
): () => void {
  const askedAtMs = new Map<string, number>();
  return () => {
    const nowMs = performance.now();
    const watched = told.running().filter(({ ownerId }) => watchers.readsProgress(ownerId));
    const ids = new Set(watched.map(({ jobId }) => jobId));
    for (const id of askedAtMs.keys()) if (!ids.has(id)) askedAtMs.delete(id);
    const unknown = [...ids].filter((id) => !askedAtMs.has(id));
    const due = [...ids].filter((id) => nowMs - (askedAtMs.get(id) ?? nowMs) >= askAgainMs);
    for (const id of [...unknown, ...due]) askedAtMs.set(id, nowMs);
    if (unknown.length > 0) hints.publish({ type: "watched", jobIds: unknown, wantsLatest: true });
    if (due.length > 0) hints.publish({ type: "watched", jobIds: due, wantsLatest: false });
  };
}

/** Finds what no hint told of. One poll at a time; what a failed one missed the next finds. */
function createPoll({ services, watchers, told, wanted, askForProgress }: Feed): () => Promise<void> {
  let polledAtMs = performance.now();
  let polling = false;
  return async () => {
    if (polling) return;
    polling = true;
    try {
      const startedMs = performance.now();
      const withinMs = startedMs - polledAtMs + lookBackMs;
      const rows = await readRevisions(services, { ownerIds: watchers.ownerIds(), withinMs });
      polledAtMs = startedMs;
      for (const row of rows) {
        told.note(row);
        if (told.isNewer(row.id, row.revision)) wanted.add(row.id);
      }
      told.keepOnly(new Set(rows.map((row) => row.id)), startedMs);
      askForProgress();
      await wanted.read();
    } catch (error) {
      services.log.warn({ err: error }, "poll of live jobs failed");
    } finally {
      polling = false;
    }
  };
}

function toUpdate({ jobId, attempt, progress, stage, preview }: LiveProgress): ProgressUpdate {
  return {
    type: "progress",
    jobId,
    attempt,
    progress,
    stage,
    preview: preview ? `data:image/jpeg;base64,${preview}` : null,
  };
}

const feeds = new WeakMap<Services, JobFeed>();

/** The feed of this process, opened on first use. */
export function feedOf(services: Services): JobFeed {
  const known = feeds.get(services);
  if (known) return known;
  const feed = createJobFeed(services);
  feeds.set(services, feed);
  return feed;
}
