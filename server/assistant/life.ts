import { and, eq, inArray, isNotNull, notInArray, type SQL, sql } from "drizzle-orm";
import type { PgUpdateSetSource } from "drizzle-orm/pg-core";
import { type Db, type RunStatus, schema, type Tx } from "../db/index.ts";
import { isActive } from "../nodes/index.ts";
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
export const stages: readonly Stage[] = [
  { name: "analyzer", from: "new", during: "analyzing", to: "analyzed" },
  { name: "assembler", from: "analyzed", during: "assembling", to: "ready" },
  { name: "responder", from: "ready", during: "responding", to: "completed" },
];

/** The stage that begins at a status, if one does. */
export function stageAt(status: string | null): Stage | null {
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
export function heldBy({ runId, attempt }: RunLease): SQL | undefined {
  return and(eq(assistantRuns.id, runId), eq(assistantRuns.attempt, attempt));
}

export interface Move {
  readonly from: readonly RunStatus[];
  readonly to: RunStatus;
  readonly where: SQL | undefined;
  readonly set?: Omit<PgUpdateSetSource<typeof assistantRuns>, "status" | "revision">;
}

/**
 * The only writer of `status`; the trigger of the table writes the story. Returns the changed rows; none means that
 * another process was first. The caller publishes them after the commit, see `moveNow`.
 */
function move(db: Db | Tx, { from, to, where, set = {} }: Move): Promise<Run[]> {
  return db
    .update(assistantRuns)
    .set({ ...set, status: to, revision: sql`${assistantRuns.revision} + 1` })
    .where(and(where, inArray(assistantRuns.status, [...from])))
    .returning();
}

/** `move` on its own, published at once. */
export async function moveNow(services: Pick<Services, "db" | "hints">, change: Move): Promise<Run[]> {
  const runs = await move(services.db, change);
  hintRuns(services, runs);
  return runs;
}

/** Publishes after the commit which runs changed. What is not heard the workers find by their sweep, and the live feed by its next look. */
export function hintRuns(
  { hints }: Pick<Services, "hints">,
  runs: readonly Pick<Run, "id" | "ownerId" | "status">[],
): void {
  for (const { id, ownerId, status } of runs) hints.publish({ type: "run", runId: id, ownerId, status });
}

/** Takes a stage of a run for a worker. Null for all of several workers but the first, and when the node is not active. */
export async function capture(
  services: Services,
  { runId, stage, nodeId }: { readonly runId: string; readonly stage: Stage; readonly nodeId: string },
): Promise<Run | null> {
  const mayTake = sql`exists (select from ${nodes} n where n.id = ${nodeId} and ${isActive()})`;
  const [run] = await moveNow(services, {
    from: [stage.from],
    to: stage.during,
    where: and(eq(assistantRuns.id, runId), mayTake),
    set: { attempt: sql`${assistantRuns.attempt} + 1`, nodeId },
  });
  return run ?? null;
}

/** Ends the analyzer's or the assembler's stage with its result. Null when the lease is no longer the current one. */
export async function endStage(
  services: Services,
  lease: RunLease,
  { stage, set }: { readonly stage: Stage; readonly set: Pick<Partial<Run>, "analysis" | "context"> },
): Promise<Run | null> {
  const [run] = await moveNow(services, {
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
  services: Services,
  lease: RunLease,
  { text, parts, thinking, isRecalled }: Answer,
): Promise<Run | null> {
  const completed = await services.db.transaction(async (tx) => {
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
  if (completed) hintRuns(services, [completed]);
  return completed;
}

/** The answer of a run that was stopped before it had one. */
export const noAnswer: Answer = { text: "", parts: [], thinking: "", isRecalled: false };

/** Completes a stopped run that no worker has: its next stage would be work for no one. */
export async function completeStopped(
  services: Pick<Services, "db" | "hints">,
  runId: string,
): Promise<void> {
  await moveNow(services, {
    from: stages.map(({ from }) => from),
    to: "completed",
    where: and(eq(assistantRuns.id, runId), isNotNull(assistantRuns.stopRequestedAt)),
    set: { nodeId: null, endedAt: sql`clock_timestamp()`, context: withoutWords },
  });
}

/** Gives a stage back, as a worker that stops does; another one begins it anew. */
export async function handBackStage(services: Services, lease: RunLease, stage: Stage): Promise<void> {
  await moveNow(services, {
    from: [stage.during],
    to: stage.from,
    where: heldBy(lease),
    set: { nodeId: null },
  });
}

export interface RunFailure {
  readonly code: string;
  /** For the user. */
  readonly message: string;
}

/** Fails a run in a stage. False when the lease is no longer the current one. */
export async function failRun(
  services: Services,
  lease: RunLease,
  { code, message }: RunFailure,
): Promise<boolean> {
  const failed = await moveNow(services, {
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
