import { and, eq, getTableColumns, inArray, sql } from "drizzle-orm";
import { z } from "zod";
import { recordAct } from "../audit/index.ts";
import { latestFirst, schema, toPage, type Tx } from "../db/index.ts";
import { AppError, isId, isStorable, newId } from "../platform/index.ts";
import type { Services } from "../services.ts";

const { assistantConversations, assistantMessages, memories } = schema;

/** A memory as its user sees it. Times are ISO 8601, UTC. */
export interface MemoryView {
  readonly id: string;
  readonly summary: string;
  readonly tags: readonly string[];
  readonly from: string;
  readonly to: string;
  /** Whether the archivist made it, or the user wrote it. */
  readonly origin: "archive" | "user";
  readonly sourceCount: number;
}

type Row = typeof memories.$inferSelect;

function viewOf({ id, summary, tags, periodStart, periodEnd, origin, sourceIds }: Row): MemoryView {
  return {
    id,
    summary,
    tags,
    from: periodStart.toISOString(),
    to: periodEnd.toISOString(),
    origin,
    sourceCount: sourceIds.length,
  };
}

/** Characters of a memory. */
const maxLength = 2_000;

export const memoryText = z
  .string()
  .trim()
  .min(1, "The memory is empty.")
  .max(maxLength)
  .refine(isStorable, "must hold no NUL characters");

export const listMemoriesSchema = z.object({
  search: z.string().trim().max(200).optional(),
  /** `next` of the page before. */
  cursor: z.string().max(100).optional(),
});

interface OwnId {
  readonly ownerId: string;
  readonly id: string;
}

const ofOwner = ({ ownerId, id }: OwnId) => and(eq(memories.id, id), eq(memories.ownerId, ownerId));

const perPage = 30;

const pages = latestFirst(memories.periodEnd, memories.id);

/** Own memories, the latest first; with a search those that have all of its stems, or the very text. */
export async function listMemories(
  { db }: Services,
  { ownerId, search, cursor }: z.infer<typeof listMemoriesSchema> & { readonly ownerId: string },
): Promise<{ items: MemoryView[]; next: string | null }> {
  const older = cursor === undefined ? undefined : pages.isBehind(cursor);
  const pattern = `%${(search ?? "").replaceAll(/[\\%_]/g, String.raw`\$&`)}%`;
  const matching = search
    ? sql`(${memories.terms} @> recall_terms(${ownerId}, ${search}) and recall_terms(${ownerId}, ${search}) <> '{}'
        or ${memories.summary} ilike ${pattern})`
    : undefined;
  const rows = await db
    .select({ ...getTableColumns(memories), cursor: pages.cursor })
    .from(memories)
    .where(and(eq(memories.ownerId, ownerId), older, matching))
    .orderBy(...pages.order)
    .limit(perPage + 1);
  const { items: shown, nextCursor } = toPage(rows, perPage, "cursor");
  return { items: shown.map(viewOf), next: nextCursor };
}

/** What was said that an own memory was made from; lines that were deleted or pruned are left out. Throws `not_found`. */
export async function readSources(
  { db }: Services,
  own: OwnId,
): Promise<{ id: string; text: string; at: string }[]> {
  const [memory] = isId(own.id) ? await db.select().from(memories).where(ofOwner(own)) : [];
  if (!memory) throw new AppError("not_found");
  if (memory.sourceIds.length === 0) return [];
  const rows = await db
    .select({ id: assistantMessages.id, text: assistantMessages.text, at: assistantMessages.at })
    .from(assistantMessages)
    .where(and(eq(assistantMessages.ownerId, own.ownerId), inArray(assistantMessages.id, memory.sourceIds)))
    .orderBy(assistantMessages.at, assistantMessages.id);
  return rows.map(({ at, ...row }) => ({ ...row, at: at.toISOString() }));
}

/** Stores what the user wants to be remembered. */
export async function addMemory(
  { db }: Services,
  { ownerId, text }: { readonly ownerId: string; readonly text: string },
): Promise<MemoryView> {
  const now = new Date();
  const [row] = await db
    .insert(memories)
    .values({
      id: newId(),
      ownerId,
      summary: text,
      tags: [],
      periodStart: now,
      periodEnd: now,
      sourceIds: [],
      origin: "user",
    })
    .returning();
  if (!row) throw new AppError("internal");
  return viewOf(row);
}

/** Corrects an own memory; the search knows the new words from then on. Throws `not_found`. */
export async function editMemory(
  { db }: Services,
  { text, ...own }: OwnId & { readonly text: string },
): Promise<MemoryView> {
  const [row] = isId(own.id)
    ? await db.update(memories).set({ summary: text, updatedAt: new Date() }).where(ofOwner(own)).returning()
    : [];
  if (!row) throw new AppError("not_found");
  return viewOf(row);
}

/**
 * Removes an own memory for good, with the lines that it was made from and their answers: otherwise the search would find what
 * was to be forgotten there. Throws `not_found`.
 */
export async function deleteMemory({ db }: Services, own: OwnId): Promise<void> {
  const row = await db.transaction(async (tx) => {
    const [deleted] = isId(own.id) ? await tx.delete(memories).where(ofOwner(own)).returning() : [];
    if (deleted && deleted.sourceIds.length > 0) await forgetLines(tx, deleted);
    if (deleted) await recordAct(tx, { kind: "assistant.memory_deleted", by: own.ownerId, object: own.id });
    return deleted;
  });
  if (!row) throw new AppError("not_found");
}

/** The lines first: an answer that is being stored meanwhile has read its question, which is waited for, or finds it forgotten. */
async function forgetLines(tx: Tx, { ownerId, sourceIds }: Pick<Row, "ownerId" | "sourceIds">) {
  const { id, conversationId, runId } = assistantMessages;
  const isOwn = eq(assistantMessages.ownerId, ownerId);
  const forgotten = { isRecalled: false };
  const lines = await tx
    .update(assistantMessages)
    .set(forgotten)
    .where(and(isOwn, inArray(id, sourceIds)))
    .returning({ conversationId, runId });
  const runIds = lines.flatMap((line) => line.runId ?? []);
  const talkIds = lines.map((line) => line.conversationId);
  if (runIds.length > 0)
    await tx
      .update(assistantMessages)
      .set(forgotten)
      .where(and(isOwn, inArray(conversationId, talkIds), inArray(runId, runIds)));
}

/** Removes everything that the assistant knows of a user: conversations with their questions, and memories. */
export async function forgetEverything({ db }: Services, ownerId: string): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.delete(memories).where(eq(memories.ownerId, ownerId));
    await tx.delete(assistantConversations).where(eq(assistantConversations.ownerId, ownerId));
    await recordAct(tx, { kind: "assistant.memory_deleted", by: ownerId });
  });
}

/** All own memories, for a file. */
export async function exportMemories({ db }: Services, ownerId: string): Promise<MemoryView[]> {
  const rows = await db
    .select()
    .from(memories)
    .where(eq(memories.ownerId, ownerId))
    .orderBy(memories.periodStart);
  return rows.map(viewOf);
}
