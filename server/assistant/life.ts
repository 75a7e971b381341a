import { and, eq, inArray, isNotNull, notInArray, type SQL, sql } from "drizzle-orm";
import type { PgUpdateSetSource } from "drizzle-orm/pg-core";
import { type Db, endedQuestionStatuses, type QuestionStatus, schema, type Tx } from "../db/index.ts";
import { isActive } from "../nodes/index.ts";
import { newId } from "../platform/index.ts";
import type { Services } from "../services.ts";

const { assistantMessages, assistantRuns, nodes } = schema;

export type QuestionRow = typeof assistantRuns.$inferSelect;

/** The work between two resting statuses of a question. */
export interface Stage {
  readonly name: "analyzer" | "assembler" | "responder";
  readonly from: QuestionStatus;
  readonly during: QuestionStatus;
  readonly to: QuestionStatus;
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

/** Whether a question never changes again. */
export function isEnded(status: QuestionStatus): boolean {
  const ended: readonly QuestionStatus[] = endedQuestionStatuses;
  return ended.includes(status);
}

/** SQL condition: the question has not ended. */
export const isOpen = notInArray(assistantRuns.status, [...endedQuestionStatuses]);

/** SQL expression: the API key that asked last in a talk, if one did. */
export const keyOfTalk = (conversationId: SQL): SQL =>
  sql`(select r.api_key_id from ${assistantRuns} r where r.conversation_id = ${conversationId} order by r.created_at desc limit 1)`;

/** The right to do one stage of a question, given by `capture`; every write of the stage checks it. */
export interface QuestionLease {
  readonly runId: string;
  readonly attempt: number;
}

export function leaseOf({ id, attempt }: Pick<QuestionRow, "id" | "attempt">): QuestionLease {
  return { runId: id, attempt };
}

/** SQL condition: the lease is still the current one. The writes of a late worker match no row. */
export function heldBy({ runId, attempt }: QuestionLease): SQL | undefined {
  return and(eq(assistantRuns.id, runId), eq(assistantRuns.attempt, attempt));
}

export interface Move {
  readonly from: readonly QuestionStatus[];
  readonly to: QuestionStatus;
  readonly where: SQL | undefined;
  readonly set?: Omit<PgUpdateSetSource<typeof assistantRuns>, "status" | "revision">;
}

/** What each end sets. What the responder was given is needed until then; only the names of what was used stay. */
const ended = {
  nodeId: null,
  endedAt: sql`clock_timestamp()`,
  context: sql`context || '{"instructions": "", "messages": []}'::jsonb`,
};

/**
 * The only writer of `status`; the trigger of the table writes the story. Returns the changed rows; none means that
 * another process was first. The caller publishes them after the commit, see `moveNow`.
 */
function move(db: Db | Tx, { from, to, where, set = {} }: Move): Promise<QuestionRow[]> {
  return db
    .update(assistantRuns)
    .set({ ...set, ...(isEnded(to) ? ended : {}), status: to, revision: sql`${assistantRuns.revision} + 1` })
    .where(and(where, inArray(assistantRuns.status, [...from])))
    .returning();
}

/** `move` on its own, published at once. */
export async function moveNow(
  services: Pick<Services, "db" | "hints">,
  change: Move,
): Promise<QuestionRow[]> {
  const runs = await move(services.db, change);
  hintQuestions(services, runs);
  return runs;
}

/** Publishes after the commit which questions changed. What is not heard the workers find by their sweep, and the live feed by its next look. */
export function hintQuestions(
  { hints }: Pick<Services, "hints">,
  runs: readonly Pick<QuestionRow, "id" | "ownerId" | "status">[],
): void {
  for (const { id, ownerId, status } of runs) hints.publish({ type: "run", runId: id, ownerId, status });
}

/** Takes a stage of a question for a worker. Null for all of several workers but the first, and when the node is not active. */
export async function capture(
  services: Services,
  { runId, stage, nodeId }: { readonly runId: string; readonly stage: Stage; readonly nodeId: string },
): Promise<QuestionRow | null> {
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
  lease: QuestionLease,
  { stage, set }: { readonly stage: Stage; readonly set: Pick<Partial<QuestionRow>, "analysis" | "context"> },
): Promise<QuestionRow | null> {
  const [run] = await moveNow(services, {
    from: [stage.during],
    to: stage.to,
    where: heldBy(lease),
    set: { ...set, nodeId: null },
  });
  return run ?? null;
}

export interface Answer {
  readonly text: string;
  readonly parts: QuestionRow["parts"];
  /** What the model thought before and between its words; shown, and never a part of the log. */
  readonly thinking: string;
  /** Whether its words come from the user and the model alone, so that they may be recalled. */
  readonly isRecalled: boolean;
}

/** Completes a question: its answer goes into the log in the same transaction. Null when the lease is no longer the current one. */
export function completeQuestion(
  services: Services,
  lease: QuestionLease,
  { text, parts, thinking, isRecalled }: Answer,
): Promise<QuestionRow | null> {
  const set = { answer: text, parts, thinking };
  return complete(services, { from: during, where: heldBy(lease), set, isRecalled });
}

/**
 * Completes a stopped question with the words that it has, which may be those of a worker that was lost: the user has read
 * them. Without a lease it is one that no worker has, whose next stage would be work for no one.
 */
export function completeStopped(
  services: Pick<Services, "db" | "hints">,
  question: QuestionLease | Pick<QuestionLease, "runId">,
): Promise<QuestionRow | null> {
  if ("attempt" in question)
    return complete(services, { from: during, where: heldBy(question), isRecalled: false });
  const where = and(eq(assistantRuns.id, question.runId), isNotNull(assistantRuns.stopRequestedAt));
  return complete(services, { from: resting, where, isRecalled: false });
}

const during = stages.map((stage) => stage.during);
const resting = stages.map((stage) => stage.from);

interface Completion extends Omit<Move, "to" | "set"> {
  readonly set?: Omit<Answer, "text" | "isRecalled"> & { readonly answer: string };
  readonly isRecalled: boolean;
}

async function complete(
  services: Pick<Services, "db" | "hints">,
  { from, where, set, isRecalled }: Completion,
): Promise<QuestionRow | null> {
  const answerId = newId();
  const completed = await services.db.transaction(async (tx) => {
    const text = set ? sql`${set.answer}::text` : assistantRuns.answer;
    const answerIdOf = sql`case when ${text} <> '' then ${answerId}::uuid end`;
    const [run] = await move(tx, { from, to: "completed", where, set: { ...set, answerId: answerIdOf } });
    // An answer that was stopped before its first word is no line of the log.
    if (!run || run.answer === "") return run ?? null;
    const { conversationId, ownerId, id: runId, questionId } = run;
    const [question] = await tx
      .select({ isRecalled: assistantMessages.isRecalled })
      .from(assistantMessages)
      .where(eq(assistantMessages.id, questionId))
      // Its memory may be deleted at this moment, which must find this answer, or be seen here.
      .for("share");
    await tx.insert(assistantMessages).values({
      id: answerId,
      conversationId,
      ownerId,
      role: "assistant",
      text: run.answer,
      runId,
      isRecalled: isRecalled && question?.isRecalled === true,
    });
    return run;
  });
  if (completed) hintQuestions(services, [completed]);
  return completed;
}

/** Gives a stage back, as a worker that stops does; another one begins it anew. */
export async function handBackStage(services: Services, lease: QuestionLease, stage: Stage): Promise<void> {
  await moveNow(services, {
    from: [stage.during],
    to: stage.from,
    where: heldBy(lease),
    set: { nodeId: null },
  });
}

export interface QuestionFailure {
  readonly code: string;
  /** For the user. */
  readonly message: string;
}

/** Fails a question in a stage. False when the lease is no longer the current one. */
export async function failQuestion(
  services: Services,
  lease: QuestionLease,
  { code, message }: QuestionFailure,
): Promise<boolean> {
  const failed = await moveNow(services, {
    from: during,
    to: "failed",
    where: heldBy(lease),
    set: { errorCode: code, errorMessage: message },
  });
  return failed.length > 0;
}

/** Stores what there is of the answer, so that a page that is opened now shows it. `isHeld` is false when the lease has ended. */
export async function storePartialAnswer(
  { db }: Services,
  lease: QuestionLease,
  { answer, parts, thinking }: Pick<QuestionRow, "answer" | "parts" | "thinking">,
): Promise<{ readonly isHeld: boolean; readonly isStopped: boolean }> {
  const [row] = await db
    .update(assistantRuns)
    .set({ answer, parts, thinking })
    .where(and(heldBy(lease), eq(assistantRuns.status, "responding")))
    .returning({ stopRequestedAt: assistantRuns.stopRequestedAt });
  return { isHeld: row !== undefined, isStopped: row?.stopRequestedAt != null };
}
