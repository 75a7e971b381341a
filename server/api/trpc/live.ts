import type { RunUpdate } from "../../assistant/index.ts";
import { watchRuns } from "../../assistant/index.ts";
import { type JobsUpdate, watch } from "../../jobs/index.ts";
import type { Services } from "../../services.ts";

/** Everything that the live stream of a browser tells: jobs, and questions to the assistant. */
export type LiveUpdate = JobsUpdate | RunUpdate;

export interface WatchInput {
  readonly ownerId: string;
  readonly since: Date | null;
  readonly signal: AbortSignal;
}

/** One stream of both; it ends with that of the jobs, which knows when the user may see no more. */
export async function* watchAll(services: Services, input: WatchInput): AsyncGenerator<LiveUpdate> {
  const { ownerId, signal } = input;
  const ended = new AbortController();
  const runs = watchRuns(services, { ownerId, signal: AbortSignal.any([signal, ended.signal]) });
  const jobs = watch(services, input);
  const next = <T>(source: AsyncGenerator<T>) => source.next().then((result) => ({ source, result }));
  const waiting = new Map<AsyncGenerator<LiveUpdate>, ReturnType<typeof next<LiveUpdate>>>([
    [jobs, next<LiveUpdate>(jobs)],
    [runs, next<LiveUpdate>(runs)],
  ]);
  try {
    for (;;) {
      const { source, result } = await Promise.race(waiting.values());
      if (!result.done) {
        yield result.value;
        waiting.set(source, next<LiveUpdate>(source));
      } else if (source === jobs) return;
      else waiting.delete(source);
    }
  } finally {
    ended.abort();
    await Promise.allSettled([jobs.return(undefined), runs.return(undefined)]);
  }
}
