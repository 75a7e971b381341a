import { and, asc, eq, inArray, or, sql } from "drizzle-orm";
import { schema } from "../db/index.ts";
import { isOrphaned } from "../nodes/index.ts";
import type { Services } from "../services.ts";
import { completeStopped, heldBy, leaseOf, moveNow, type QuestionRow, stages } from "./life.ts";

const { assistantRuns } = schema;

/** The work on a question is for nothing: another worker has it, or it is gone. */
export class QuestionLost extends Error {
  constructor() {
    super("The question is no longer this worker's.");
    this.name = "QuestionLost";
  }
}

/** Which of a worker's questions were stopped by their users, and which it no longer has. */
export async function findEnds(
  { db }: Pick<Services, "db">,
  { nodeId, busyIds }: { readonly nodeId: string | null; readonly busyIds: readonly string[] },
): Promise<{ readonly stopped: readonly string[]; readonly lost: readonly string[] }> {
  if (busyIds.length === 0) return { stopped: [], lost: [] };
  const { id, nodeId: holder, stopRequestedAt } = assistantRuns;
  const rows = await db
    .select({ id, holder, stopRequestedAt })
    .from(assistantRuns)
    .where(inArray(id, [...busyIds]));
  const byId = new Map(rows.map((row) => [row.id, row]));
  return {
    stopped: rows.filter((row) => row.stopRequestedAt !== null).map((row) => row.id),
    // Between two stages no node has a question.
    lost: busyIds.filter((busyId) => {
      const row = byId.get(busyId);
      return !row || (row.holder !== null && row.holder !== nodeId);
    }),
  };
}

/** Workers that may die during a question before it fails, since its text may be the cause. */
const maxLosses = 3;

export interface RecoverInput {
  /** The node that asks. */
  readonly nodeId: string | null;
  /** The questions whose stages the node knows to have: called after the rows are read, since it may take others meanwhile. */
  readonly busyIds: () => readonly string[];
}

/**
 * Gives back the stages of workers that are gone, and those that this worker has by its row alone: a question of each
 * sweep, not an event. A stopped question ends, one that lost its third worker fails. Returns the number of questions that were changed.
 */
export async function recoverQuestions(
  services: Services,
  { nodeId, busyIds }: RecoverInput,
): Promise<number> {
  const isOwn = nodeId === null ? sql`false` : eq(assistantRuns.nodeId, nodeId);
  const isGone = isOrphaned(assistantRuns.nodeId);
  const isBetween = inArray(
    assistantRuns.status,
    stages.map(({ during }) => during),
  );
  const { id, status, attempt, losses, stopRequestedAt } = assistantRuns;
  const held = await services.db
    .select({ id, status, attempt, losses, stopRequestedAt, isGone: sql<boolean>`${isGone}` })
    .from(assistantRuns)
    .where(and(isBetween, or(isGone, isOwn)));
  const busy = new Set(busyIds());
  const lost = held.filter((run) => run.isGone || !busy.has(run.id));
  for (const run of lost) await giveBackLost(services, run);
  return lost.length;
}

type LostQuestion = Pick<QuestionRow, "id" | "status" | "attempt" | "losses" | "stopRequestedAt">;

async function giveBackLost(services: Services, run: LostQuestion): Promise<void> {
  if (run.stopRequestedAt !== null) {
    await completeStopped(services, leaseOf(run));
    return;
  }
  const stage = stages.find(({ during }) => during === run.status);
  if (!stage) return;
  const isLast = run.losses + 1 >= maxLosses;
  const failure = {
    errorCode: "worker_lost",
    errorMessage: "The workers that answered went away three times.",
  };
  await moveNow(services, {
    from: [stage.during],
    to: isLast ? "failed" : stage.from,
    where: heldBy(leaseOf(run)),
    set: { nodeId: null, losses: run.losses + 1, ...(isLast ? failure : {}) },
  });
}

/** Questions whose next stage nobody has taken, oldest first. */
export async function findDueQuestions({ db }: Services, limit: number): Promise<QuestionRow[]> {
  return db
    .select()
    .from(assistantRuns)
    .where(
      inArray(
        assistantRuns.status,
        stages.map(({ from }) => from),
      ),
    )
    .orderBy(asc(assistantRuns.createdAt))
    .limit(limit);
}
