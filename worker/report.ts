import { persistProgress, type Job, type Lease } from "@atelier/server/jobs";
import type { Services } from "@atelier/server/services";

const liveMs = 200;

/** Reports of one run: live at most five times a second, to the row every few seconds. */
export interface Report {
  progress(fraction: number, stage: string): void;
  preview(bytes: Uint8Array): void;
  /** No report leaves after this. */
  end(): void;
}

interface Latest {
  readonly progress: number;
  readonly stage: string;
  readonly preview?: string;
}

export function createReport(services: Services, job: Job, lease: Lease): Report {
  let latest: Latest = { progress: 0, stage: "" };
  let timer: NodeJS.Timeout | null = null;
  let sentAtMs = -Infinity;
  let persistedAtMs = performance.now();
  let ended = false;

  const send = () => {
    timer = null;
    sentAtMs = performance.now();
    services.hints.publish({
      type: "progress",
      progress: { ownerId: job.ownerId, jobId: job.id, attempt: lease.attempt, ...latest },
    });
    if (sentAtMs - persistedAtMs >= services.config.timing.progressPersistMs) {
      persistedAtMs = sentAtMs;
      persistProgress(services, lease, latest).catch((error: unknown) => {
        services.log.warn({ err: error, jobId: job.id }, "progress not stored");
      });
    }
  };
  const schedule = (next: Latest) => {
    if (ended) return;
    latest = next;
    timer ??= setTimeout(send, Math.max(0, sentAtMs + liveMs - performance.now()));
  };
  return {
    progress: (fraction, stage) =>
      schedule({ ...latest, progress: Math.min(1, Math.max(latest.progress, fraction)), stage }),
    preview: (bytes) => schedule({ ...latest, preview: Buffer.from(bytes).toString("base64") }),
    end() {
      ended = true;
      if (timer) clearTimeout(timer);
    },
  };
}
