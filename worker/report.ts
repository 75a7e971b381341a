import { persistProgress, type Lease } from "@atelier/server/jobs";
import { keptBy } from "@atelier/server/platform";
import type { Services } from "@atelier/server/services";
import type { MakePreview } from "./engines/index.ts";

const liveMs = 200;
/** Web processes repeat the ids of watched jobs every 2 s; one lost message must not stop the previews. */
const watchedMs = 6_000;

/** Progress and previews of one run: as live hints at most five times a second, into the row every few seconds. */
export interface Report {
  progress(fraction: number, stage: string): void;
  preview(make: MakePreview): void;
  /** Nothing is sent after this. */
  end(): void;
}

export function createReport(services: Services, lease: Lease): Report {
  const { jobId, attempt } = lease;
  let latest = { progress: 0, stage: "" };
  let timer: NodeJS.Timeout | null = null;
  let hasNews = false;
  let sentAtMs = -Infinity;
  let persistedAtMs = performance.now();
  let ended = false;

  const send = async () => {
    hasNews = false;
    sentAtMs = performance.now();
    const preview = await previews.take();
    timer = null;
    if (ended || (latest.stage === "" && !preview)) return;
    const live = { jobId, attempt, ...latest, ...(preview ? { preview } : {}) };
    services.hints.publish({ type: "progress", progress: live });
    if (sentAtMs - persistedAtMs >= services.config.timing.progressPersistMs) {
      persistedAtMs = sentAtMs;
      persistProgress(services, lease, latest).catch((error: unknown) => {
        services.log.warn({ err: error, jobId }, "progress not stored");
      });
    }
    if (hasNews) schedule();
  };
  const schedule = () => {
    if (ended) return;
    hasNews = true;
    timer ??= setTimeout(() => void send(), Math.max(0, sentAtMs + liveMs - performance.now()));
  };
  const previews = createPreviews(services, jobId, schedule);
  return {
    progress(fraction, stage) {
      latest = { progress: Math.min(1, Math.max(latest.progress, fraction)), stage };
      schedule();
    },
    preview: (make) => previews.put(make),
    end() {
      ended = true;
      if (timer) clearTimeout(timer);
      previews.close();
    },
  };
}

/**
 * Which jobs browsers watch, as this process has heard. It listens from before its first claim (`hearWatchers`): a browser
 * asks the moment a job is processing, when the run has no report yet, and asks again only after 2 s.
 */
const watchersOf = keptBy(
  ({ hints }: Services) => {
    const watchedUntilMs = new Map<string, number>();
    const followers = new Map<string, () => void>();
    const isWatched = (jobId: string) => performance.now() < (watchedUntilMs.get(jobId) ?? -Infinity);
    const close = hints.subscribe((message) => {
      if (message.type !== "watched") return;
      const nowMs = performance.now();
      for (const [jobId, untilMs] of watchedUntilMs) if (untilMs <= nowMs) watchedUntilMs.delete(jobId);
      for (const jobId of message.jobIds) {
        const wantsLatest = message.wantsLatest || !isWatched(jobId);
        watchedUntilMs.set(jobId, nowMs + watchedMs);
        if (wantsLatest) followers.get(jobId)?.();
      }
    });
    return {
      isWatched,
      /** Calls the listener whenever a browser wants the newest preview of the job. Returns what ends it. */
      follow(jobId: string, onWanted: () => void): () => void {
        followers.set(jobId, onWanted);
        return () => {
          if (followers.get(jobId) === onWanted) followers.delete(jobId);
        };
      },
      close,
    };
  },
  ({ close }) => close(),
);

/** From here on the process knows which jobs are watched. */
export function hearWatchers(services: Services): void {
  watchersOf(services);
}

/** The newest preview of a run: made and sent once while a browser watches the job, and again on request. */
function createPreviews(services: Services, jobId: string, onDue: () => void) {
  const watchers = watchersOf(services);
  let newest: MakePreview | null = null;
  let isUnsent = false;
  const close = watchers.follow(jobId, () => {
    isUnsent = newest !== null;
    onDue();
  });
  return {
    put(make: MakePreview) {
      newest = make;
      isUnsent = true;
      if (watchers.isWatched(jobId)) onDue();
    },
    /** The preview to send now, as base64; null when there is no new one or no browser watches the job. */
    async take(): Promise<string | null> {
      if (!newest || !isUnsent || !watchers.isWatched(jobId)) return null;
      isUnsent = false;
      const bytes = await newest().catch(() => null);
      return bytes && Buffer.from(bytes).toString("base64");
    },
    close,
  };
}
