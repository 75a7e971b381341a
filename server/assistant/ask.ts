import { and, eq, isNull, sql } from "drizzle-orm";
import { z } from "zod";
import { schema } from "../db/index.ts";
import { AppError, isId, isStorable, newId } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { isOpen } from "./run.ts";

const { assistantConversations, assistantMessages, assistantRuns, assistantSettings } = schema;

/** Characters of a question. */
export const maxQuestionLength = 8_000;
const titleLength = 80;

export const askSchema = z.object({
  text: z
    .string()
    .trim()
    .min(1, "The question is empty.")
    .max(maxQuestionLength)
    .refine(isStorable, "must hold no NUL characters"),
  /** Without one a new conversation begins. */
  conversationId: z.string().optional(),
});

export interface Question extends z.infer<typeof askSchema> {
  readonly ownerId: string;
}

/** Where the answer to a question is found. */
export interface AskedRun {
  readonly runId: string;
  readonly conversationId: string;
}

/**
 * Accepts a question with one statement: it is logged, and a run is stored as `new`, of which the database tells the
 * workers. Throws `not_found` for a conversation of nobody or somebody else, `conflict` while the conversation still has
 * an open run, and `quota_exceeded`.
 */
export async function ask(services: Services, question: Question): Promise<AskedRun> {
  const { ownerId, text, conversationId = newId() } = question;
  if (!isId(conversationId)) throw new AppError("not_found");
  const isNew = question.conversationId === undefined;
  const [runId, questionId] = [newId(), newId()];
  const conversation = isNew
    ? sql`insert into ${assistantConversations} (id, owner_id, title)
        values (${conversationId}, ${ownerId}, ${titleOf(text)}) returning id`
    : sql`update ${assistantConversations} set last_at = clock_timestamp()
        where id = ${conversationId} and owner_id = ${ownerId} returning id`;
  const ownOpen = sql`select count(*) from ${assistantRuns} where owner_id = ${ownerId} and ${isOpen}`;
  const openHere = sql`select from ${assistantRuns} where conversation_id = ${conversationId} and ${isOpen}`;
  const isPaused = sql`exists (select from ${assistantSettings} where user_id = ${ownerId} and is_memory_paused)`;
  const rows = await services.db
    .execute<{ isAccepted: boolean; isFull: boolean; isAnswering: boolean }>(
      sql`
      with asked as (${conversation}), judged as (
        select id, (${ownOpen}) >= ${services.config.assistant.openRuns} as is_full, exists (${openHere}) as is_answering from asked
      ), accepted as (select id from judged where not is_full and not is_answering), logged as (
        insert into ${assistantMessages} (id, conversation_id, owner_id, role, text, run_id, is_recalled, archived_at)
        select ${questionId}::uuid, id, ${ownerId}, 'user', ${text}, ${runId}::uuid,
          not ${isPaused}, case when ${isPaused} then clock_timestamp() end from accepted
      ), started as (
        insert into ${assistantRuns} (id, owner_id, conversation_id, question_id, status)
        select ${runId}::uuid, ${ownerId}, id, ${questionId}::uuid, 'new' from accepted returning id
      )
      select is_full as "isFull", is_answering as "isAnswering", exists (select from started) as "isAccepted" from judged`,
    )
    .catch((error: unknown) => {
      // Of two questions at the same moment the second.
      throw isOneOpenViolation(error) ? stillAnswering() : error;
    });
  const [verdict] = rows;
  if (!verdict) throw new AppError("not_found");
  if (verdict.isAnswering) throw stillAnswering();
  if (verdict.isFull)
    throw new AppError("quota_exceeded", "You have too many open questions. Wait until some are answered.");
  return { runId, conversationId };
}

const stillAnswering = () =>
  new AppError("conflict", "The assistant is still answering in this conversation.");

function isOneOpenViolation(error: unknown): boolean {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  return (
    cause instanceof Error &&
    "constraint_name" in cause &&
    cause.constraint_name === "assistant_runs_one_open"
  );
}

/** The first line of a question, cut at a word. */
function titleOf(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  if (line.length <= titleLength) return line;
  const cut = line.slice(0, titleLength);
  const end = cut.lastIndexOf(" ");
  return `${(end > titleLength / 2 ? cut.slice(0, end) : cut).trimEnd()}…`;
}

/** Ends an answer early: what there is of it stays. Throws `not_found`; a run that has ended stays as it is. */
export async function stopRun(
  { db }: Services,
  { ownerId, id }: { readonly ownerId: string; readonly id: string },
): Promise<void> {
  if (!isId(id)) throw new AppError("not_found");
  const own = and(eq(assistantRuns.id, id), eq(assistantRuns.ownerId, ownerId));
  const [stopped] = await db
    .update(assistantRuns)
    .set({ stopRequestedAt: sql`clock_timestamp()` })
    .where(and(own, isOpen, isNull(assistantRuns.stopRequestedAt)))
    .returning({ id: assistantRuns.id });
  if (stopped) return;
  const [known] = await db.select({ id: assistantRuns.id }).from(assistantRuns).where(own);
  if (!known) throw new AppError("not_found");
}
