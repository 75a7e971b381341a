import type { HintMessage, LiveProgress } from "../queue/index.ts";
import type { Services } from "../services/index.ts";
import { readRevisions } from "./feed-reads.ts";
import { createToldJobs, type ToldJobs } from "./told-jobs.ts";
import { createWantedJobs, type WantedJobs } from "./wanted-jobs.ts";
import { createWatchers, type FeedUpdate, type Watcher, type Watchers } from "./watchers.ts";

type ProgressUpdate = Extract<FeedUpdate, { type: "progress" }>;

/** The one reader of a web process: reads each hinted job once and feeds every watcher of its owner. */
export interface JobFeed {
  /** Watches until the returned function is called; without any watcher the feed asks nothing of the database. */
  add(watcher: Watcher): () => void;
  /** The newest live progress of a job, for those who come late. */
  lastProgress(jobId: string): ProgressUpdate | null;
}

interface Feed {
  readonly services: Services;
  readonly watchers: Watchers;
  readonly told: ToldJobs;
  readonly wanted: WantedJobs;
}

const pollMs = 1_000;
/** A poll also finds jobs that ended this long before the last successful one. */
const lookBackMs = 15_000;

function createJobFeed(services: Services): JobFeed {
  const watchers = createWatchers();
  const told = createToldJobs();
  const wanted = createWantedJobs(services, (ownerId, jobs) => {
    const newer = told.takeNewer(jobs);
    if (newer.length > 0) watchers.tell(ownerId, { type: "jobs", jobs: newer, at: new Date().toISOString() });
  });
  const feed: Feed = { services, watchers, told, wanted };
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
    lastProgress: (jobId) => told.lastProgress(jobId),
  };
}

/** Listens for hints and polls; the returned function ends both. */
function startFeeding(feed: Feed): () => void {
  const unsubscribe = feed.services.hints.subscribe((message) => onHint(feed, message));
  const poll = createPoll(feed);
  const timer = setInterval(() => void poll(), pollMs);
  timer.unref();
  return () => {
    clearInterval(timer);
    unsubscribe();
    feed.told.keepOnly(new Set());
  };
}

function onHint({ watchers, told, wanted }: Feed, message: HintMessage): void {
  if (message.type === "progress") {
    const { ownerId } = message.progress;
    if (!watchers.has(ownerId)) return;
    const update = toUpdate(message.progress);
    told.noteProgress(update);
    watchers.tell(ownerId, update);
  }
  if (message.type === "jobs") {
    for (const { ownerId, jobId, revision } of message.jobs)
      if (watchers.has(ownerId) && told.isNewer(jobId, revision)) wanted.add(jobId);
    void wanted.read();
  }
}

/** Finds what no hint told of. One poll at a time; what a failed one missed the next finds. */
function createPoll({ services, watchers, told, wanted }: Feed): () => Promise<void> {
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
      for (const { id, revision } of rows) if (told.isNewer(id, revision)) wanted.add(id);
      told.keepOnly(new Set(rows.map((row) => row.id)));
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
