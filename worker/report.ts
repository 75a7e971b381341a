import { persistProgress, type Lease } from "@atelier/server/jobs";
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

/** The newest preview of a run: made and sent once while a browser watches the job, and again on request. */
function createPreviews({ hints }: Services, jobId: string, onDue: () => void) {
  let newest: MakePreview | null = null;
  let isUnsent = false;
  let watchedUntilMs = -Infinity;
  const isWatched = () => performance.now() < watchedUntilMs;
  const close = hints.subscribe((message) => {
    if (message.type !== "watched" || !message.jobIds.includes(jobId)) return;
    const wantsLatest = message.wantsLatest || !isWatched();
    watchedUntilMs = performance.now() + watchedMs;
    if (!wantsLatest) return;
    isUnsent = newest !== null;
    onDue();
  });
  return {
    put(make: MakePreview) {
      newest = make;
      isUnsent = true;
      if (isWatched()) onDue();
    },
    /** The preview to send now, as base64; null when there is no new one or no browser watches the job. */
    async take(): Promise<string | null> {
      if (!newest || !isUnsent || !isWatched()) return null;
      isUnsent = false;
      const bytes = await newest().catch(() => null);
      return bytes && Buffer.from(bytes).toString("base64");
    },
    close,
  };
}
