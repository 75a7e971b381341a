import { and, asc, count, desc, eq, isNotNull, isNull, type SQL, sql } from "drizzle-orm";
import { z } from "zod";
import { recordAct } from "../audit/index.ts";
import { latestFirst, lockTopic, schema, toPage, type Tx } from "../db/index.ts";
import { cleanTitle } from "../images/index.ts";
import { AppError, isId } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { hintQuestions } from "./life.ts";

const { assistantConversations, assistantMessages, assistantRuns } = schema;

export interface ConversationView {
  readonly id: string;
  readonly title: string;
  readonly isPinned: boolean;
  /** ISO 8601, UTC. */
  readonly lastAt: string;
}

export interface OwnId {
  readonly ownerId: string;
  readonly id: string;
}

type Row = Pick<typeof assistantConversations.$inferSelect, "id" | "title" | "pinnedAt" | "lastAt">;

export function toConversation({ id, title, pinnedAt, lastAt }: Row): ConversationView {
  return { id, title: title ?? "", isPinned: pinnedAt !== null, lastAt: lastAt.toISOString() };
}

/** SQL condition: this conversation of this owner. Throws `not_found` for a malformed id. */
export function ownTalk({ ownerId, id }: OwnId): SQL | undefined {
  if (!isId(id)) throw new AppError("not_found");
  return and(eq(assistantConversations.id, id), eq(assistantConversations.ownerId, ownerId));
}

const conversationsPerPage = 30;
const mostPinned = 50;

const pages = latestFirst(assistantConversations.lastAt, assistantConversations.id);

/**
 * Own conversations, the last used first; the first page begins with those that are pinned, the last pinned first. `cursor` is
 * the `next` of the page before. Throws `bad_request` for a wrong one.
 */
export async function listConversations(
  { db }: Pick<Services, "db">,
  { ownerId, cursor }: { readonly ownerId: string; readonly cursor: string | undefined },
): Promise<{ items: ConversationView[]; next: string | null }> {
  const { id, title, pinnedAt, lastAt } = assistantConversations;
  const own = eq(assistantConversations.ownerId, ownerId);
  const isBehind = cursor === undefined ? undefined : pages.isBehind(cursor);
  const pinned =
    cursor === undefined
      ? await db
          .select()
          .from(assistantConversations)
          .where(and(own, isNotNull(pinnedAt)))
          .orderBy(desc(pinnedAt), desc(id))
      : [];
  const rows = await db
    .select({ id, title, pinnedAt, lastAt, cursor: pages.cursor })
    .from(assistantConversations)
    .where(and(own, isNull(pinnedAt), isBehind))
    .orderBy(...pages.order)
    .limit(conversationsPerPage + 1);
  const { items: shown, nextCursor } = toPage(rows, conversationsPerPage, "cursor");
  return { items: [...pinned, ...shown].map(toConversation), next: nextCursor };
}

export const changeConversationSchema = z.strictObject({
  id: z.string(),
  /** Cleaned to one line of printable text. An empty one brings back the beginning of the first question. */
  title: z.string().max(1_000).optional(),
  isPinned: z.boolean().optional(),
});

interface ChangeInput extends z.output<typeof changeConversationSchema> {
  readonly ownerId: string;
}

/** Names or pins an own conversation; open pages are told. Throws `not_found`, `bad_request` for more pins than are kept. */
export async function changeConversation(
  services: Pick<Services, "db" | "hints">,
  { title, isPinned, ...own }: ChangeInput,
): Promise<ConversationView> {
  const { db, hints } = services;
  const which = ownTalk(own);
  const changed = await db.transaction(async (tx) => {
    if (isPinned === true) await requireRoomForPin(tx, own);
    const named = title === undefined ? undefined : cleanTitle(title) || (await readFirstWords(tx, own));
    // The id changes nothing: it keeps the statement whole when nothing is asked for.
    const [row] = await tx
      .update(assistantConversations)
      .set({ id: own.id, ...(named === undefined ? {} : { title: named }), ...pinOf(isPinned) })
      .where(which)
      .returning();
    return row;
  });
  if (!changed) throw new AppError("not_found");
  const { id, ownerId, status, createdAt, conversationId } = assistantRuns;
  const newest = await db
    .select({ id, ownerId, status })
    .from(assistantRuns)
    .where(eq(conversationId, own.id))
    .orderBy(desc(createdAt))
    .limit(1);
  hintQuestions({ hints }, newest);
  return toConversation(changed);
}

/** Pinned again, one keeps its place. */
function pinOf(isPinned: boolean | undefined) {
  if (isPinned === undefined) return {};
  return { pinnedAt: isPinned ? sql`coalesce(${assistantConversations.pinnedAt}, clock_timestamp())` : null };
}

/** Until the transaction ends no other one pins for this owner. */
async function requireRoomForPin(tx: Tx, { ownerId, id }: OwnId): Promise<void> {
  const { pinnedAt } = assistantConversations;
  await lockTopic(tx, "pins", ownerId);
  const [pinned] = await tx
    .select({ others: count() })
    .from(assistantConversations)
    .where(
      and(
        eq(assistantConversations.ownerId, ownerId),
        isNotNull(pinnedAt),
        sql`${assistantConversations.id} <> ${id}`,
      ),
    );
  if (pinned && pinned.others >= mostPinned)
    throw new AppError("bad_request", `You can pin ${mostPinned} conversations.`);
}

async function readFirstWords(tx: Tx, { id }: OwnId): Promise<string> {
  const { text, conversationId, at } = assistantMessages;
  const [first] = await tx
    .select({ text })
    .from(assistantMessages)
    .where(eq(conversationId, id))
    .orderBy(asc(at), asc(assistantMessages.id))
    .limit(1);
  return titleOf(first?.text ?? "");
}

const titleLength = 80;

/** The first line of a question, cut at a word. */
export function titleOf(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  if (line.length <= titleLength) return line;
  const cut = line.slice(0, titleLength).replace(/[\uD800-\uDBFF]$/, "");
  const end = cut.lastIndexOf(" ");
  return `${(end > titleLength / 2 ? cut.slice(0, end) : cut).trimEnd()}…`;
}

/** Removes an own conversation with its questions and messages; memories that were made from it stay. Throws `not_found`. */
export async function deleteConversation({ db }: Pick<Services, "db">, own: OwnId): Promise<void> {
  const which = ownTalk(own);
  await db.transaction(async (tx) => {
    const deleted = await tx
      .delete(assistantConversations)
      .where(which)
      .returning({ id: assistantConversations.id });
    if (deleted.length === 0) throw new AppError("not_found");
    await recordAct(tx, { kind: "assistant.conversation_deleted", by: own.ownerId, object: own.id });
  });
}
