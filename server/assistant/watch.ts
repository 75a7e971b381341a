import { streamMs } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { type AnswerNotice, type AssistantNotice, onAssistantNotice } from "./events.ts";
import { readLiveRuns, readRun, type RunView } from "./read.ts";
import { lookBackMs, runLooksOf } from "./run-looks.ts";

/** Messages of the live stream of a browser. A run replaces the known one if its revision is not older. */
export type RunUpdate =
  | { readonly type: "runs"; readonly runs: readonly RunView[] }
  /** Words of an answer behind the first `at` characters of it; characters after those are replaced. */
  | (Pick<AnswerNotice, "type" | "at" | "text" | "attempt"> & { readonly runId: string });

export interface WatchRunsInput {
  readonly ownerId: string;
  readonly signal: AbortSignal;
}

/** All updates of an owner's runs: first those that are open or ended lately, then each change and the words of answers. */
export async function* watchRuns(
  services: Services,
  { ownerId, signal }: WatchRunsInput,
): AsyncGenerator<RunUpdate> {
  const box = createBox();
  // Before the first look, so that no change is missed.
  const remove = onAssistantNotice(services, (notice) => {
    if (notice.type !== "stop" && notice.ownerId === ownerId) box.put(notice);
  });
  const looks = runLooksOf(services);
  let isDue = true;
  const removeLook = looks.add(ownerId, () => {
    isDue = true;
    box.wake();
  });
  const endsAtMs = performance.now() + streamMs(services.env);
  const sent = new Map<string, string>();
  try {
    while (!signal.aborted && performance.now() < endsAtMs) {
      if (isDue) {
        isDue = false;
        const since = new Date(Date.now() - lookBackMs);
        yield* changed(sent, await readLiveRuns(services, { ownerId, since }));
        continue;
      }
      const notices = await box.take(endsAtMs - performance.now(), signal);
      const ids = new Set(notices.filter(({ type }) => type === "run").map(({ id }) => id));
      if (ids.size > 0) {
        yield* changed(sent, await readChanged(services, ownerId, ids));
        looks.soon();
      }
      yield* notices.filter((notice) => notice.type === "answer").map(toUpdate);
    }
  } finally {
    remove();
    removeLook();
  }
}

function toUpdate({ type, id, at, text, attempt }: AnswerNotice): RunUpdate {
  return { type, runId: id, at, text, attempt };
}

/** Runs that differ from what was sent. The answer of an open run counts by its length alone. */
function* changed(sent: Map<string, string>, runs: readonly RunView[]): Generator<RunUpdate> {
  const newer = runs.filter((run) => {
    const mark = `${run.revision} ${run.answer.length} ${run.parts.length} ${run.proposals.map(({ state }) => state).join()}`;
    if (sent.get(run.id) === mark) return false;
    sent.set(run.id, mark);
    return true;
  });
  if (newer.length > 0) yield { type: "runs", runs: newer };
}

async function readChanged(
  services: Services,
  ownerId: string,
  ids: ReadonlySet<string>,
): Promise<RunView[]> {
  const runs = await Promise.all(
    // A run may be deleted meanwhile.
    [...ids].map((id) => readRun(services, { ownerId, id }).catch(() => null)),
  );
  return runs.filter((run) => run !== null);
}

/** Collects notices for a slow reader. */
function createBox() {
  const notices: Exclude<AssistantNotice, { type: "stop" }>[] = [];
  let wake: () => void = () => undefined;
  return {
    put(notice: (typeof notices)[number]) {
      notices.push(notice);
      wake();
    },
    /** Ends a wait without a notice. */
    wake: () => wake(),
    /** Waits for notices; empty after `waitMs` or when the signal aborts. */
    async take(waitMs: number, signal: AbortSignal) {
      if (notices.length === 0 && !signal.aborted && waitMs > 0) {
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
      }
      return notices.splice(0);
    },
  };
}
