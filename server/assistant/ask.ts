import { createHash } from "node:crypto";
import { and, eq, isNull, sql } from "drizzle-orm";
import { z } from "zod";
import { lockTopic, schema } from "../db/index.ts";
import { findBegun, ownKeyName, type RequestKey } from "../jobs/index.ts";
import { AppError, isId, isStorable, lineOfText, newId } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { getImages } from "../images/index.ts";
import { mostGiven } from "./given.ts";
import { completeStopped, hintQuestions, isOpen } from "./life.ts";
import { noteTimeZone } from "./settings.ts";
import { titleOf } from "./talks.ts";

const { assistantConversations, assistantMessages, assistantRuns, assistantSettings, idempotencyKeys } =
  schema;

/** Characters of a question. */
export const maxQuestionLength = 8_000;

export const askSchema = z.object({
  text: z
    .string()
    .trim()
    .min(1, "The question is empty.")
    .max(maxQuestionLength)
    .refine(isStorable, "must hold no NUL characters"),
  /** Own pictures that the question is about. */
  imageIds: z
    .array(z.string())
    .max(mostGiven)
    .transform((ids) => [...new Set(ids.map((id) => id.toLowerCase()))])
    .optional(),
  /** Who the asker was told would see them; no other model is shown them, and none without it. */
  imagesTo: z.string().max(300).refine(isStorable, "must hold no NUL characters").optional(),
  /** Without one a new conversation begins. */
  conversationId: z.string().optional(),
  /** Makes it one question however often it is sent; the same for no two questions. */
  idempotencyKey: lineOfText.min(1).max(200).optional(),
  /** Of the browser, such as `Asia/Tokyo`: "yesterday" is a day of the user. An unknown one changes nothing. */
  timeZone: z.string().max(100).optional(),
});

export interface Question extends z.infer<typeof askSchema> {
  readonly ownerId: string;
  /** The API key that asks, whose cap holds for the calls of models; none for a session. */
  readonly apiKeyId?: string | undefined;
}

/** Where the answer to a question is found. */
export interface AcceptedQuestion {
  readonly runId: string;
  readonly conversationId: string;
}

/**
 * Accepts a question: it is logged, and its row is stored as `new`, which a hint tells the workers. Questions of one
 * user take turns, since each counts the open ones. A question that is sent again under its key gives the first one. Throws
 * `not_found` for a conversation of nobody or somebody else, `conflict` while the conversation still has an open question or
 * when what the key began was removed, `idempotency_mismatch` for another text under a key, `quota_exceeded`, and
 * `not_found` for pictures that are not the asker's.
 */
export async function ask(services: Services, question: Question): Promise<AcceptedQuestion> {
  const conversationId = question.conversationId ?? newId();
  if (!isId(conversationId)) throw new AppError("not_found");
  const isNew = question.conversationId === undefined;
  const { timeZone, ownerId, imageIds = [] } = question;
  if (timeZone !== undefined) await noteTimeZone(services, { userId: ownerId, timeZone });
  const asked: Asked = { ...question, conversationId, isNew, runId: newId(), key: keyOf(question) };
  try {
    await getImages(services, { ownerId, ids: imageIds });
  } catch (error) {
    // Of a question that is asked again they may be gone by now.
    const known = await findRepeated(services, question, asked.key);
    if (known) return known;
    throw error;
  }
  const verdict = await accept(services, asked).catch((error: unknown) => {
    // Of two questions at the same moment the second.
    if (isOneOpenViolation(error)) return { isAccepted: false, isAnswering: true, isFull: false };
    throw error;
  });
  if (verdict?.isAccepted) {
    hintQuestions(services, [{ id: asked.runId, ownerId, status: "new" }]);
    return { runId: asked.runId, conversationId };
  }
  const known = await findRepeated(services, question, asked.key);
  if (known) return known;
  if (!verdict) throw new AppError("not_found");
  if (verdict.isFull)
    throw new AppError("quota_exceeded", "You have too many open questions. Wait until some are answered.");
  throw stillAnswering();
}

const findRepeated = (services: Services, { idempotencyKey }: Question, key: RequestKey) =>
  idempotencyKey === undefined ? null : findKnown(services, key);

interface Asked extends Question {
  readonly conversationId: string;
  /** Whether the question begins the conversation. */
  readonly isNew: boolean;
  readonly runId: string;
  readonly key: RequestKey;
}

/** The keys of questions are beside those of jobs, and never the same. A question without a key has one of its own. */
function keyOf(question: Question): RequestKey {
  const { ownerId, idempotencyKey = newId(), text, conversationId, imageIds = [] } = question;
  const pictures = imageIds.length > 0 ? [imageIds] : [];
  const sha256 = createHash("sha256")
    .update(JSON.stringify([text, conversationId ?? null, ...pictures]))
    .digest("hex");
  return { ownerId, name: ownKeyName(`ask:${idempotencyKey}`), sha256 };
}

interface Verdict extends Record<string, unknown> {
  readonly isAccepted: boolean;
  readonly isFull: boolean;
  readonly isAnswering: boolean;
}

/** Stores the question with its row and key, or nothing; undefined when the conversation is not the owner's. */
async function accept(services: Services, asked: Asked): Promise<Verdict | undefined> {
  const { ownerId, text, conversationId, isNew, runId, key, imageIds = [], imagesTo = null } = asked;
  const questionId = newId();
  const place = isNew
    ? sql`select ${conversationId}::uuid as id`
    : sql`select id from ${assistantConversations} where id = ${conversationId} and owner_id = ${ownerId}`;
  // Of two requests with one key the second waits here for the first, and then stores nothing.
  const keyed = sql`insert into ${idempotencyKeys} (owner_id, key, request_sha256, job_id)
    select ${ownerId}, ${key.name}, ${key.sha256}, ${runId}::uuid from judged where not is_full and not is_answering
    on conflict do nothing returning key`;
  const conversation = isNew
    ? sql`insert into ${assistantConversations} (id, owner_id, title)
        select ${conversationId}::uuid, ${ownerId}, ${titleOf(text)} from keyed returning id`
    : sql`update ${assistantConversations} set last_at = clock_timestamp()
        where id = ${conversationId} and exists (select from keyed) returning id`;
  const ownOpen = sql`select count(*) from ${assistantRuns} where owner_id = ${ownerId} and ${isOpen}`;
  const openHere = sql`select from ${assistantRuns} where conversation_id = ${conversationId} and ${isOpen}`;
  const isPaused = sql`exists (select from ${assistantSettings} where user_id = ${ownerId} and is_memory_paused)`;
  const statement = sql`
    with place as (${place}), judged as (
      select id, (${ownOpen}) >= ${services.config.assistant.openRuns} as is_full, exists (${openHere}) as is_answering from place
    ), keyed as (${keyed}), conversation as (${conversation}), logged as (
      insert into ${assistantMessages} (id, conversation_id, owner_id, role, text, run_id, image_ids, images_to, is_recalled, archived_at)
      select ${questionId}::uuid, id, ${ownerId}, 'user', ${text}, ${runId}::uuid, ${sql.param(imageIds)}::uuid[], ${imagesTo},
        not ${isPaused}, case when ${isPaused} then clock_timestamp() end from conversation
    ), started as (
      insert into ${assistantRuns} (id, owner_id, conversation_id, question_id, api_key_id, status)
      select ${runId}::uuid, ${ownerId}, id, ${questionId}::uuid, ${asked.apiKeyId ?? null}, 'new' from conversation returning id
    )
    select is_full as "isFull", is_answering as "isAnswering", exists (select from started) as "isAccepted" from judged`;
  return services.db.transaction(async (tx) => {
    await lockTopic(tx, "assistant_ask", ownerId);
    const [verdict] = await tx.execute<Verdict>(statement);
    return verdict;
  });
}

/** What an earlier request with the key began; null when the key is new. */
async function findKnown({ db }: Services, key: RequestKey): Promise<AcceptedQuestion | null> {
  const runId = await findBegun(db, key);
  if (runId === null) return null;
  const [run] = await db
    .select({ conversationId: assistantRuns.conversationId })
    .from(assistantRuns)
    .where(eq(assistantRuns.id, runId));
  if (!run)
    throw new AppError("conflict", "This question was asked before, and its conversation was deleted.");
  return { runId, conversationId: run.conversationId };
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

/**
 * Ends an answer early: what there is of it stays, and what no worker has yet ends at once. Throws `not_found`; a question
 * that has ended stays as it is.
 */
export async function stopQuestion(
  services: Services,
  { ownerId, id }: { readonly ownerId: string; readonly id: string },
): Promise<void> {
  if (!isId(id)) throw new AppError("not_found");
  const { db } = services;
  const own = and(eq(assistantRuns.id, id), eq(assistantRuns.ownerId, ownerId));
  const [stopped] = await db
    .update(assistantRuns)
    .set({ stopRequestedAt: sql`clock_timestamp()` })
    .where(and(own, isOpen, isNull(assistantRuns.stopRequestedAt)))
    .returning({ id: assistantRuns.id });
  if (stopped) await completeStopped(services, { runId: id });
  // Also when it was asked for before, as the first hint may be lost; the worker finds it by its sweep, too.
  services.hints.publish({ type: "stop", runId: id });
  if (stopped) return;
  const [known] = await db.select({ id: assistantRuns.id }).from(assistantRuns).where(own);
  if (!known) throw new AppError("not_found");
}
