import { and, asc, eq, inArray, isNotNull, notInArray, or, type SQL, sql } from "drizzle-orm";
import type { PgUpdateSetSource } from "drizzle-orm/pg-core";
import { type Db, type RunStatus, schema, type Tx } from "../db/index.ts";
import { isActive, isOrphaned } from "../nodes/index.ts";
import { newId } from "../platform/index.ts";
import type { Services } from "../services.ts";

const { assistantMessages, assistantRuns, nodes } = schema;

export type Run = typeof assistantRuns.$inferSelect;

/** The work between two resting statuses of a run. */
export interface Stage {
  readonly name: "analyzer" | "assembler" | "responder";
  readonly from: RunStatus;
  readonly during: RunStatus;
  readonly to: RunStatus;
}

/** All stages in their order; the diagram is in `index.ts`. */
const stages: readonly Stage[] = [
  { name: "analyzer", from: "new", during: "analyzing", to: "analyzed" },
  { name: "assembler", from: "analyzed", during: "assembling", to: "ready" },
  { name: "responder", from: "ready", during: "responding", to: "completed" },
];

/** The stage that begins at a status, if one does. */
export function stageAt(status: RunStatus): Stage | null {
  return stages.find(({ from }) => from === status) ?? null;
}

export const endedStatuses: readonly RunStatus[] = ["completed", "failed"];

/** Whether a run never changes again. */
export function isEnded(status: RunStatus): boolean {
  return endedStatuses.includes(status);
}

/** SQL condition: the run has not ended. */
export const isOpen = notInArray(assistantRuns.status, [...endedStatuses]);

/** The right to do one stage of a run, given by `capture`; every write of the stage checks it. */
export interface RunLease {
  readonly runId: string;
  readonly attempt: number;
}

export function leaseOf({ id, attempt }: Run): RunLease {
  return { runId: id, attempt };
}

/** SQL condition: the lease is still the current one. The writes of a late worker match no row. */
function heldBy({ runId, attempt }: RunLease): SQL | undefined {
  return and(eq(assistantRuns.id, runId), eq(assistantRuns.attempt, attempt));
}

interface Move {
  readonly from: readonly RunStatus[];
  readonly to: RunStatus;
  readonly where: SQL | undefined;
  readonly set?: Omit<PgUpdateSetSource<typeof assistantRuns>, "status" | "revision">;
}

/**
 * The only writer of `status`; the trigger of the table writes the story and tells all processes. Returns the changed rows;
 * none means that another process was first.
 */
function move(db: Db | Tx, { from, to, where, set = {} }: Move): Promise<Run[]> {
  return db
    .update(assistantRuns)
    .set({ ...set, status: to, revision: sql`${assistantRuns.revision} + 1` })
    .where(and(where, inArray(assistantRuns.status, [...from])))
    .returning();
}

/** Takes a stage of a run for a worker. Null for all of several workers but the first, and when the node is not active. */
export async function capture(
  { db }: Services,
  { runId, stage, nodeId }: { readonly runId: string; readonly stage: Stage; readonly nodeId: string },
): Promise<Run | null> {
  const mayTake = sql`exists (select from ${nodes} n where n.id = ${nodeId} and ${isActive()})`;
  const [run] = await move(db, {
    from: [stage.from],
    to: stage.during,
    where: and(eq(assistantRuns.id, runId), mayTake),
    set: { attempt: sql`${assistantRuns.attempt} + 1`, nodeId },
  });
  return run ?? null;
}

/** Ends the analyzer's or the assembler's stage with its result. Null when the lease is no longer the current one. */
export async function endStage(
  { db }: Services,
  lease: RunLease,
  { stage, set }: { readonly stage: Stage; readonly set: Pick<Partial<Run>, "analysis" | "context"> },
): Promise<Run | null> {
  const [run] = await move(db, {
    from: [stage.during],
    to: stage.to,
    where: heldBy(lease),
    set: { ...set, nodeId: null },
  });
  return run ?? null;
}

/** What the responder was given is needed until the end; then only the names of what was used stay. */
const withoutWords = sql`context || '{"instructions": "", "messages": []}'::jsonb`;

export interface Answer {
  readonly text: string;
  readonly parts: Run["parts"];
  /** What the model thought before and between its words; shown, and never a part of the log. */
  readonly thinking: string;
  /** Whether its words come from the user and the model alone, so that they may be recalled. */
  readonly isRecalled: boolean;
}

/** Completes a run: its answer goes into the log in the same transaction. Null when the lease is no longer the current one. */
export async function completeRun(
  { db }: Services,
  lease: RunLease,
  { text, parts, thinking, isRecalled }: Answer,
): Promise<Run | null> {
  return db.transaction(async (tx) => {
    const answerId = newId();
    const ended = { nodeId: null, endedAt: sql`clock_timestamp()`, context: withoutWords };
    const set = { answer: text, parts, thinking, answerId: text === "" ? null : answerId, ...ended };
    const from = stages.map(({ during }) => during);
    const [run] = await move(tx, { from, to: "completed", where: heldBy(lease), set });
    // An answer that was stopped before its first word is no line of the log.
    if (!run || text === "") return run ?? null;
    const { conversationId, ownerId, id: runId, questionId } = run;
    const [question] = await tx
      .select({ isRecalled: assistantMessages.isRecalled })
      .from(assistantMessages)
      .where(eq(assistantMessages.id, questionId));
    await tx.insert(assistantMessages).values({
      id: answerId,
      conversationId,
      ownerId,
      role: "assistant",
      text,
      runId,
      isRecalled: isRecalled && question?.isRecalled === true,
    });
    return run;
  });
}

/** The answer of a run that was stopped before it had one. */
export const noAnswer: Answer = { text: "", parts: [], thinking: "", isRecalled: false };

/** Completes a stopped run that no worker has: its next stage would be work for no one. */
export async function completeStopped({ db }: Pick<Services, "db">, runId: string): Promise<void> {
  await move(db, {
    from: stages.map(({ from }) => from),
    to: "completed",
    where: and(eq(assistantRuns.id, runId), isNotNull(assistantRuns.stopRequestedAt)),
    set: { nodeId: null, endedAt: sql`clock_timestamp()`, context: withoutWords },
  });
}

/** The work on a run is for nothing: another worker has it, or it is gone. */
export class RunLost extends Error {
  constructor() {
    super("The run is no longer this worker's.");
    this.name = "RunLost";
  }
}

/** Which of a worker's runs were stopped by their users, and which it no longer has. */
export async function findEnds(
  { db }: Pick<Services, "db">,
  { nodeId, busyIds }: RecoverInput,
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
    // Between two stages no node has a run.
    lost: busyIds.filter((busyId) => {
      const row = byId.get(busyId);
      return !row || (row.holder !== null && row.holder !== nodeId);
    }),
  };
}

/** Gives a stage back, as a worker that stops does; another one begins it anew. */
export async function handBackStage({ db }: Services, lease: RunLease, stage: Stage): Promise<void> {
  await move(db, { from: [stage.during], to: stage.from, where: heldBy(lease), set: { nodeId: null } });
}

export interface RunFailure {
  readonly code: string;
  /** For the user. */
  readonly message: string;
}

/** Fails a run in a stage. False when the lease is no longer the current one. */
export async function failRun(
  { db }: Services,
  lease: RunLease,
  { code, message }: RunFailure,
): Promise<boolean> {
  const failed = await move(db, {
    from: stages.map(({ during }) => during),
    to: "failed",
    where: heldBy(lease),
    set: {
      errorCode: code,
      errorMessage: message,
      nodeId: null,
      endedAt: sql`clock_timestamp()`,
      context: withoutWords,
    },
  });
  return failed.length > 0;
}

/** Workers that may die during a run before it fails, since its question may be the cause. */
const maxLosses = 3;

export interface RecoverInput {
  /** The node that asks, and the runs whose stages it knows to have. */
  readonly nodeId: string | null;
  readonly busyIds: readonly string[];
}

/**
 * Gives back the stages of workers that are gone, and those that this worker has by its row alone: a question of each
 * sweep, not an event. A run that lost its third worker fails. Returns the number of runs that were changed.
 */
export async function recoverRuns({ db }: Services, { nodeId, busyIds }: RecoverInput): Promise<number> {
  const isForgotten = and(
    nodeId === null ? sql`false` : eq(assistantRuns.nodeId, nodeId),
    notInArray(assistantRuns.id, [...busyIds]),
  );
  const isGone = isOrphaned(assistantRuns.nodeId);
  const isBetween = inArray(
    assistantRuns.status,
    stages.map(({ during }) => during),
  );
  const lost = await db
    .select()
    .from(assistantRuns)
    .where(and(isBetween, or(isGone, isForgotten)));
  for (const run of lost) await giveBackLost(db, run);
  return lost.length;
}

async function giveBackLost(db: Db, run: Run): Promise<void> {
  const stage = stages.find(({ during }) => during === run.status);
  if (!stage) return;
  const isLast = run.losses + 1 >= maxLosses;
  const failure = {
    errorCode: "worker_lost",
    errorMessage: "The workers that answered went away three times.",
    endedAt: sql`clock_timestamp()`,
  };
  await move(db, {
    from: [stage.during],
    to: isLast ? "failed" : stage.from,
    where: heldBy(leaseOf(run)),
    set: { nodeId: null, losses: run.losses + 1, ...(isLast ? failure : {}) },
  });
}

/** Runs whose next stage nobody has taken, oldest first. */
export async function findDueRuns({ db }: Services, limit: number): Promise<Run[]> {
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

/** Stores what there is of the answer, so that a page that is opened now shows it. False when the lease has ended. */
export async function storePartialAnswer(
  { db }: Services,
  lease: RunLease,
  { answer, parts, thinking }: Pick<Run, "answer" | "parts" | "thinking">,
): Promise<{ readonly isHeld: boolean; readonly isStopped: boolean }> {
  const [row] = await db
    .update(assistantRuns)
    .set({ answer, parts, thinking })
    .where(and(heldBy(lease), eq(assistantRuns.status, "responding")))
    .returning({ stopRequestedAt: assistantRuns.stopRequestedAt });
  return { isHeld: row !== undefined, isStopped: row?.stopRequestedAt != null };
}
