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
  try {
    yield* mergeStreams<LiveUpdate>(watch(services, input), runs, () => ended.abort());
  } finally {
    ended.abort();
  }
}

interface Arrival<T> {
  readonly source: AsyncGenerator<T>;
  readonly result: IteratorResult<T, unknown> | null;
  readonly error?: unknown;
}

/**
 * The values of both streams until `main` ends; `onEnd` then makes the other one end. Each has at most one value in
 * the mailbox, so that a slow reader holds back both. No promise outlives a value: a race against the silent stream
 * would keep every value that the other one sent.
 */
export async function* mergeStreams<T>(
  main: AsyncGenerator<T>,
  other: AsyncGenerator<T>,
  onEnd: () => void,
): AsyncGenerator<T> {
  const mailbox: Arrival<T>[] = [];
  let wake: () => void = () => undefined;
  const put = (arrival: Arrival<T>) => {
    mailbox.push(arrival);
    wake();
  };
  const pull = (source: AsyncGenerator<T>) => {
    source.next().then(
      (result) => put({ source, result }),
      (error: unknown) => put({ source, result: null, error }),
    );
  };
  pull(main);
  pull(other);
  try {
    for (;;) {
      const arrival = mailbox.shift();
      if (!arrival) {
        await new Promise<void>((resolve) => (wake = resolve));
        continue;
      }
      const { source, result, error } = arrival;
      if (!result) throw error;
      if (result.done && source === main) return;
      if (result.done) continue;
      yield result.value;
      pull(source);
    }
  } finally {
    onEnd();
    await Promise.allSettled([main.return(undefined), other.return(undefined)]);
  }
}
