import { findEnded } from "../accounts/index.ts";
import type { HintMessage, LiveProgress } from "../queue/index.ts";
import type { Services } from "../services.ts";
import {
  createPendingReads,
  createSentRevisions,
  type PendingReads,
  type ProgressUpdate,
  readRevisions,
  type SentRevisions,
} from "./live-changes.ts";
import type { JobsUpdate, JobView } from "./read.ts";

/** A message of the live feed: changed jobs, or progress between two revisions. */
export type FeedUpdate = Extract<JobsUpdate, { type: "jobs" | "progress" }>;

/** Receives the updates of the jobs of one owner. */
export interface Watcher {
  readonly ownerId: string;
  /** Workers make previews only while a watcher that receives progress is connected. */
  readonly reads: "jobs" | "jobs_and_progress";
  push(update: FeedUpdate): void;
  /** The owner was suspended or deleted: nothing more is pushed. */
  end(): void;
}

/** One feed per web process: reads each changed job once and sends it to all watchers of its owner. */
export interface JobFeed {
  /** Adds a watcher; the returned function removes it. Without watchers the feed sends no query. */
  add(watcher: Watcher): () => void;
  /** Call with jobs that a watcher has just read: the feed then requests their live progress. */
  noteSnapshot(ownerId: string, jobs: readonly JobView[]): void;
  /** The newest live progress of a job, for new watchers. */
  lastProgress(jobId: string): ProgressUpdate | null;
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

interface Feed {
  readonly services: Services;
  readonly watchers: Watchers;
  readonly sent: SentRevisions;
  readonly pending: PendingReads;
  /** Requests the live progress of watched jobs from the workers. */
  readonly askForProgress: () => void;
}

const pollMs = 1_000;
/** A poll also finds jobs that ended up to this long before the last successful poll. */
const lookBackMs = 15_000;
/** Workers treat a job as watched for three times this long. */
const askAgainMs = 2_000;

function createJobFeed(services: Services): JobFeed {
  const watchers = createWatchers();
  const sent = createSentRevisions();
  const askForProgress = createProgressRequests(services, { watchers, sent });
  const pending = createPendingReads(services, (ownerId, jobs) => {
    const newer = sent.takeNewer(ownerId, jobs);
    if (newer.length > 0) watchers.tell(ownerId, { type: "jobs", jobs: newer, at: new Date().toISOString() });
    askForProgress();
  });
  const feed: Feed = { services, watchers, sent, pending, askForProgress };
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
      for (const { id, status } of jobs) sent.note({ id, ownerId, isRunning: status === "processing" });
      askForProgress();
    },
    lastProgress: (jobId) => sent.lastProgress(jobId),
  };
}

/** Subscribes to hints and polls; the returned function stops both. */
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
    feed.sent.keepOnly(new Set(), Infinity);
    // Without running jobs this clears the times of its requests.
    feed.askForProgress();
  };
}

function onHint({ watchers, sent, pending }: Feed, message: HintMessage): void {
  if (message.type !== "jobs") return;
  for (const { ownerId, jobId, revision } of message.jobs)
    if (watchers.has(ownerId) && sent.isNewer(jobId, revision)) pending.add(jobId);
  void pending.read();
}

function onProgress({ watchers, sent }: Feed, progress: LiveProgress): void {
  const ownerId = sent.ownerOf(progress.jobId);
  if (ownerId === null || !watchers.has(ownerId)) return;
  const update = toUpdate(progress);
  sent.noteProgress(update);
  watchers.tell(ownerId, update);
}

/** Finds changes whose hint was lost. One poll at a time; the next poll finds what a failed one missed. */
function createPoll({ services, watchers, sent, pending, askForProgress }: Feed): () => Promise<void> {
  let polledAtMs = performance.now();
  let polling = false;
  return async () => {
    if (polling) return;
    polling = true;
    try {
      for (const ownerId of await findEnded(services, watchers.ownerIds())) watchers.end(ownerId);
      if (watchers.ownerIds().length === 0) return;
      const startedMs = performance.now();
      const withinMs = startedMs - polledAtMs + lookBackMs;
      const rows = await readRevisions(services, { ownerIds: watchers.ownerIds(), withinMs });
      polledAtMs = startedMs;
      for (const row of rows) {
        sent.note(row);
        if (sent.isNewer(row.id, row.revision)) pending.add(row.id);
      }
      sent.keepOnly(new Set(rows.map((row) => row.id)), startedMs);
      askForProgress();
      await pending.read();
    } catch (error) {
      services.log.warn({ err: error }, "poll of live jobs failed");
    } finally {
      polling = false;
    }
  };
}

/** Publishes which jobs are watched: at once for a new one, then every two seconds. */
function createProgressRequests(
  { hints }: Services,
  { watchers, sent }: Pick<Feed, "watchers" | "sent">,
): () => void {
  const askedAtMs = new Map<string, number>();
  return () => {
    const nowMs = performance.now();
    const watched = sent.running().filter(({ ownerId }) => watchers.readsProgress(ownerId));
    const ids = new Set(watched.map(({ jobId }) => jobId));
    for (const id of askedAtMs.keys()) if (!ids.has(id)) askedAtMs.delete(id);
    const unknown = [...ids].filter((id) => !askedAtMs.has(id));
    const due = [...ids].filter((id) => nowMs - (askedAtMs.get(id) ?? nowMs) >= askAgainMs);
    for (const id of [...unknown, ...due]) askedAtMs.set(id, nowMs);
    if (unknown.length > 0) hints.publish({ type: "watched", jobIds: unknown, wantsLatest: true });
    if (due.length > 0) hints.publish({ type: "watched", jobIds: due, wantsLatest: false });
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

/** The watchers of a process by owner. */
interface Watchers {
  add(watcher: Watcher): void;
  remove(watcher: Watcher): void;
  has(ownerId: string): boolean;
  /** Whether a watcher of this owner reads progress. */
  readsProgress(ownerId: string): boolean;
  ownerIds(): string[];
  tell(ownerId: string, update: FeedUpdate): void;
  end(ownerId: string): void;
}

function createWatchers(): Watchers {
  const byOwner = new Map<string, Set<Watcher>>();
  const readsProgress = (watcher: Watcher) => watcher.reads === "jobs_and_progress";
  return {
    add(watcher) {
      const own = byOwner.get(watcher.ownerId) ?? new Set();
      byOwner.set(watcher.ownerId, own.add(watcher));
    },
    remove(watcher) {
      const own = byOwner.get(watcher.ownerId);
      own?.delete(watcher);
      if (own?.size === 0) byOwner.delete(watcher.ownerId);
    },
    has: (ownerId) => byOwner.has(ownerId),
    readsProgress: (ownerId) => [...(byOwner.get(ownerId) ?? [])].some(readsProgress),
    ownerIds: () => [...byOwner.keys()],
    tell(ownerId, update) {
      for (const watcher of byOwner.get(ownerId) ?? [])
        if (update.type === "jobs" || readsProgress(watcher)) watcher.push(update);
    },
    end(ownerId) {
      for (const watcher of byOwner.get(ownerId) ?? []) watcher.end();
    },
  };
}
