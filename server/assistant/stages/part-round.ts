import { backoffMs, keptBy } from "../../platform/index.ts";
import type { CallServices } from "./calls.ts";
import { ModelError } from "./model-errors.ts";

interface Failure {
  readonly count: number;
  /** Of them, those that were of this part alone. */
  readonly refusals: number;
  /** By the clock of `performance`. */
  readonly dueMs: number;
}

/** What failed in this process. */
const failuresOf = keptBy((_db: CallServices["db"]) => ({
  archivist: new Map<string, Failure>(),
  vectors: new Map<string, Failure>(),
}));

const firstWaitMs = 10 * 60_000;
const longestWaitMs = 24 * 3_600_000;
/** The oldest are forgotten, and tried as if they were new. */
const mostKept = 2_000;
/** So many refusals in a row, without an answer between them, are no matter of what was sent. */
const mostRefused = 3;

/**
 * One round of a work that calls a model for many parts, such as talks or texts. One part never stops the others: a part that
 * failed waits, longer after each failure, and comes after all that have not failed. An error of the whole service ends the
 * round.
 */
export interface PartRound {
  /** Parts that are left out now. */
  leftOut(): string[];
  /** To be called when all others are done: goes over to parts that failed before this round and are due; false without any. */
  takeFailed(): boolean;
  failuresOf(id: string): number;
  /** The failures that were of the part alone, not of the whole service. */
  refusalsOf(id: string): number;
  /** Whether the model has answered in this round. */
  hasAnswered(): boolean;
  noteAnswer(): void;
  noteDone(ids: readonly string[]): void;
  /** Keeps a failure with its parts. Throws the error when the next part would fail, too. */
  noteFailed(ids: readonly string[], error: unknown): void;
}

/** `isForced`: no part has to wait. */
export function startRound(
  { db }: Pick<CallServices, "db">,
  work: "archivist" | "vectors",
  { isForced }: { readonly isForced: boolean },
): PartRound {
  const failures = failuresOf(db)[work];
  const failedNow = new Set<string>();
  let isSecondHalf = false;
  let hasAnswered = false;
  let refused = 0;
  const isDue = ([id, { dueMs }]: readonly [string, Failure]) =>
    !failedNow.has(id) && (isForced || dueMs <= performance.now());
  const note = (id: string, isPart: boolean) => {
    const { count: before, refusals } = failures.get(id) ?? { count: 0, refusals: 0 };
    const count = before + 1;
    const waitMs = backoffMs(count, { firstMs: firstWaitMs, mostMs: longestWaitMs });
    failures.delete(id);
    failures.set(id, { count, refusals: refusals + Number(isPart), dueMs: performance.now() + waitMs });
    failedNow.add(id);
  };
  return {
    leftOut() {
      const others = [...failures].filter((failure) => !isSecondHalf || !isDue(failure));
      return [...failedNow.union(new Set(others.map(([id]) => id)))];
    },
    takeFailed() {
      if (isSecondHalf) return false;
      isSecondHalf = true;
      return [...failures].some(isDue);
    },
    failuresOf: (id) => failures.get(id)?.count ?? 0,
    refusalsOf: (id) => failures.get(id)?.refusals ?? 0,
    hasAnswered: () => hasAnswered,
    noteAnswer() {
      hasAnswered = true;
      refused = 0;
    },
    noteDone(ids) {
      for (const id of ids) failures.delete(id);
    },
    noteFailed(ids, error) {
      const isPart = error instanceof ModelError && error.reach === "part";
      for (const id of ids) note(id, isPart);
      for (const id of failures.keys()) {
        if (failures.size <= mostKept) break;
        failures.delete(id);
      }
      if (!isPart || (refused += 1) >= mostRefused) throw error;
    },
  };
}
