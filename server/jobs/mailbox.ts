import type { JobView } from "./read.ts";
import { withLastPreview, type ProgressUpdate } from "./told-jobs.ts";
import type { FeedUpdate as Letter } from "./watchers.ts";

/** Holds what a slow reader has not taken yet: of each job only the newest state and the newest progress. */
export interface Mailbox {
  put(letter: Letter): void;
  /** Waits for letters; empty after `waitMs` or when the signal aborts. */
  take(waitMs: number, signal: AbortSignal): Promise<Letter[]>;
}

export function createMailbox(): Mailbox {
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
