import { and, type AnyColumn, asc, eq, getTableColumns, inArray, isNull, sql } from "drizzle-orm";
import { deleteInBatches, duration, schema } from "../db/index.ts";
import { newId } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { isOpen, keyOfTalk } from "./life.ts";
import { textArray } from "./recall/stems.ts";

const { assistantMessages, assistantRuns, memories, proposals } = schema;

/** A part of a talk that has ended by a silence, and that no memory holds yet. */
export interface EndedPart {
  readonly ownerId: string;
  readonly conversationId: string;
  /** The API key that asked last. */
  readonly apiKeyId: string | null;
  /** What the user said; words of the assistant are never archived. */
  readonly messages: readonly { readonly id: string; readonly text: string; readonly at: Date }[];
  /** Titles and prompts of the jobs that the user started meanwhile. */
  readonly jobs: readonly string[];
}

/** A conversation whose unarchived messages are many is archived in several rounds. */
const maxMessages = 200;
const conversationsPerRound = 50;

interface FindInput {
  /** Also parts of talks that may still go on. */
  readonly takesYoung: boolean;
  /** Talks that have to wait, and users. */
  readonly leftOut: { readonly conversationIds: readonly string[]; readonly ownerIds: readonly string[] };
}

/** The next parts of talks to be archived, oldest first. */
export async function findEndedParts(
  { db, config }: Services,
  { takesYoung, leftOut }: FindInput,
): Promise<EndedPart[]> {
  const gapMs = config.assistant.conversationGapS * 1_000;
  const rows = await db.execute<
    Pick<EndedPart, "conversationId" | "ownerId" | "apiKeyId"> & Record<string, unknown>
  >(sql`
    select conversation_id as "conversationId", min(owner_id) as "ownerId", ${keyOfTalk(sql`${assistantMessages.conversationId}`)} as "apiKeyId" from ${assistantMessages}
    where archived_at is null and conversation_id <> all(${textArray(leftOut.conversationIds)}::uuid[])
      and owner_id <> all(${textArray(leftOut.ownerIds)}) group by conversation_id order by min(at) limit ${conversationsPerRound}`);
  const isYoung = sql<boolean>`${assistantMessages.at} > clock_timestamp() - ${duration(gapMs)}`;
  const parts: EndedPart[] = [];
  for (const { conversationId, ownerId, apiKeyId } of rows) {
    const messages = await db
      .select({ ...getTableColumns(assistantMessages), isYoung })
      .from(assistantMessages)
      .where(and(eq(assistantMessages.conversationId, conversationId), isNull(assistantMessages.archivedAt)))
      .orderBy(asc(assistantMessages.at), asc(assistantMessages.id))
      .limit(maxMessages);
    const [first] = splitAtGaps(messages, gapMs);
    const last = first?.at(-1);
    if (!first || !last || (last.isYoung && !takesYoung)) continue;
    parts.push({
      ownerId,
      conversationId,
      apiKeyId,
      messages: first.map(({ id, text, at, role }) => ({ id, text: role === "user" ? text : "", at })),
      jobs: await readJobs(
        { db },
        first.map(({ runId }) => runId).filter((runId) => runId !== null),
      ),
    });
  }
  return parts;
}

/** Cuts messages where the talk was silent for longer than the gap. */
export function splitAtGaps<Message extends { readonly at: Date }>(
  messages: readonly Message[],
  gapMs: number,
): Message[][] {
  const parts: Message[][] = [];
  for (const message of messages) {
    const part = parts.at(-1);
    const last = part?.at(-1);
    if (part && last && message.at.getTime() - last.at.getTime() <= gapMs) part.push(message);
    else parts.push([message]);
  }
  return parts;
}

async function readJobs({ db }: Pick<Services, "db">, runIds: readonly string[]): Promise<string[]> {
  if (runIds.length === 0) return [];
  const rows = await db
    .select({ title: proposals.title, request: proposals.request })
    .from(proposals)
    .where(and(inArray(proposals.runId, [...new Set(runIds)]), eq(proposals.state, "approved")));
  return rows.map(({ title, request }) => {
    const params = request["params"];
    const prompt = typeof params === "object" && params !== null ? Reflect.get(params, "prompt") : undefined;
    return typeof prompt === "string" ? `${title}: ${prompt}` : title;
  });
}

export interface NewMemory {
  readonly summary: string;
  readonly tags: readonly string[];
}

/**
 * Stores the memory of a part and marks its messages, in one transaction. False when another archivist was first, or a
 * message was deleted meanwhile: then nothing is stored. Without a memory the messages are only marked.
 */
export async function storePart(
  { db }: Services,
  { ownerId, conversationId, messages }: EndedPart,
  memory: NewMemory | null,
): Promise<boolean> {
  const ids = messages.map(({ id }) => id);
  const said = messages.filter(({ text }) => text !== "");
  try {
    await db.transaction(async (tx) => {
      const marked = await tx
        .update(assistantMessages)
        .set({ archivedAt: sql`clock_timestamp()` })
        .where(and(inArray(assistantMessages.id, ids), isNull(assistantMessages.archivedAt)))
        .returning({ id: assistantMessages.id });
      if (marked.length < ids.length) throw new PartTaken();
      const [first, last] = [said.at(0), said.at(-1)];
      if (memory && first && last)
        await tx.insert(memories).values({
          id: newId(),
          ownerId,
          conversationId,
          summary: memory.summary,
          tags: [...memory.tags],
          periodStart: first.at,
          periodEnd: last.at,
          sourceIds: said.map(({ id }) => id),
          origin: "archive",
        });
    });
    return true;
  } catch (error) {
    if (error instanceof PartTaken) return false;
    throw error;
  }
}

class PartTaken extends Error {}

/** Whether questions are being answered: they go before archiving and descriptions. */
export async function hasOpenQuestions({ db }: Pick<Services, "db">): Promise<boolean> {
  const [open] = await db.select({ id: assistantRuns.id }).from(assistantRuns).where(isOpen).limit(1);
  return open !== undefined;
}

/** Removes ended questions, and lines of the log that the memory holds, after their times; in batches, the rest the next time. */
export async function pruneTalks({ db, config }: Services): Promise<void> {
  const { assistantConversations, modelCalls } = schema;
  const { assistantRunsMs, assistantLogMs, providerAttemptsMs } = config.retention;
  const isOlder = (at: AnyColumn, ms: number) => sql`${at} < clock_timestamp() - ${duration(ms)}`;
  await deleteInBatches(db, assistantRuns, isOlder(assistantRuns.endedAt, assistantRunsMs));
  await deleteInBatches(
    db,
    assistantMessages,
    sql`${assistantMessages.archivedAt} is not null and ${isOlder(assistantMessages.at, assistantLogMs)}`,
  );
  await deleteInBatches(
    db,
    assistantConversations,
    sql`${isOlder(assistantConversations.lastAt, assistantLogMs)}
      and not exists (select from ${assistantMessages} where ${assistantMessages.conversationId} = ${assistantConversations.id})`,
  );
  await deleteInBatches(db, modelCalls, isOlder(modelCalls.startedAt, providerAttemptsMs));
}
