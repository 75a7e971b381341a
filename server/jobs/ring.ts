import type { Services } from "../services/index.ts";
import type { Job } from "./job.ts";

const ringTimeoutMs = 2_000;

/** Rings for queued rows after their commit. A bell that cannot be rung is only logged: the sweep rings again. */
export async function ring(
  { bells, log }: Pick<Services, "bells" | "log">,
  jobs: readonly Job[],
): Promise<void> {
  const byQueue = Map.groupBy(jobs, (job) => job.queue);
  await Promise.all(
    [...byQueue].map(async ([queue, rows]) => {
      const calls = rows.map(({ id, attempt, ring: number }) => ({ jobId: id, attempt, ring: number }));
      try {
        await withTimeout(bells.ring(queue, calls));
      } catch (error) {
        log.warn({ err: error, queue, jobIds: rows.map((row) => row.id) }, "bell not rung, the sweep will");
      }
    }),
  );
}

async function withTimeout(work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () => reject(new Error(`no answer of the queue within ${ringTimeoutMs} ms`)),
      ringTimeoutMs,
    );
  });
  try {
    await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
