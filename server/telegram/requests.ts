import { and, asc, eq, isNull, lte, sql } from "drizzle-orm";
import { fromNow, lockTopic, schema, type Tx } from "../db/index.ts";
import { isId, newId } from "../platform/index.ts";
import type { Services } from "../services.ts";
import type { SentFile } from "./updates.ts";

const { telegramRequests } = schema;

/** Pictures of a chat, or a text alone, that a job is to be made of; at most one job comes of it. */
export type PictureRequest = Pick<
  typeof telegramRequests.$inferSelect,
  "id" | "userId" | "chatId" | "photos" | "caption"
>;

/** What the person is asked to pay for. */
export type PriceOffer = NonNullable<(typeof telegramRequests.$inferSelect)["offer"]>;

export interface SentPicture {
  readonly updateId: number;
  readonly userId: string;
  readonly chatId: string;
  readonly fileId: string;
  readonly name: string | null;
  readonly caption: string | null;
  readonly groupId: string | null;
  /** The picture that it was sent as a reply to: the two belong together, the older one first. */
  readonly repliedTo: SentFile | null;
}

/** How long a picture without a caption waits for a second one. */
const pairMinutes = 10;
/** The pictures of an album are updates of their own, which arrive within moments. */
const albumMs = 1_200;
/** Questions due within this time are waited for. */
const soonMs = 2_000;

type Row = typeof telegramRequests.$inferSelect;

/** A price holds for the pictures that were there, in their order. */
const noOffer = { offer: null, offerUntil: null };

/**
 * Adds a picture: to its album, to the single picture before it when neither has a caption, else as a request of its own.
 * The request becomes due for its question, an album's a moment later. A picture that was added before changes nothing.
 */
export async function addPicture({ db }: Pick<Services, "db">, sent: SentPicture): Promise<void> {
  await db.transaction(async (tx) => {
    await lockTopic(tx, "telegram requests", sent.chatId);
    const [known] = await tx
      .select({ id: telegramRequests.id })
      .from(telegramRequests)
      .where(and(ofChat(sent), sql`photos @> ${JSON.stringify([{ updateId: sent.updateId }])}::jsonb`));
    if (known) return;
    const open = await findOpen(tx, sent);
    const photo = { updateId: sent.updateId, fileId: sent.fileId, name: sent.name };
    const { repliedTo } = sent;
    // Its own update is before this one, and was handled.
    const earlier = repliedTo
      ? [{ updateId: sent.updateId - 1, fileId: repliedTo.fileId, name: repliedTo.fileName }]
      : [];
    const asksAt = fromNow(sent.groupId === null ? 0 : albumMs);
    if (open) {
      const photos = [...open.photos, photo].toSorted((a, b) => a.updateId - b.updateId);
      const caption = open.caption ?? sent.caption;
      await tx
        .update(telegramRequests)
        .set({ photos, caption, asksAt, ...noOffer })
        .where(eq(telegramRequests.id, open.id));
      return;
    }
    const { userId, chatId, groupId, caption } = sent;
    await tx
      .insert(telegramRequests)
      .values({ id: newId(), userId, chatId, groupId, caption, photos: [...earlier, photo], asksAt });
  });
}

const ofChat = ({ chatId, userId }: Pick<SentPicture, "chatId" | "userId">) =>
  and(eq(telegramRequests.chatId, chatId), eq(telegramRequests.userId, userId));

/** The request that a picture joins. */
async function findOpen(tx: Tx, sent: SentPicture): Promise<Row | null> {
  if (sent.groupId === null && (sent.caption !== null || sent.repliedTo !== null)) return null;
  const fits =
    sent.groupId === null
      ? sql`group_id is null and caption is null and jsonb_array_length(photos) = 1
          and id = (select max(id::text)::uuid from ${telegramRequests} where ${ofChat(sent)} and photos <> '[]')
          and created_at > clock_timestamp() - ${pairMinutes} * interval '1 minute'`
      : sql`group_id = ${sent.groupId}`;
  const [row] = await tx
    .select()
    .from(telegramRequests)
    .where(and(ofChat(sent), isNull(telegramRequests.endedAt), fits));
  return row ?? null;
}

/** Requests whose question is due, oldest first, and whether others become due soon. */
export async function findDueRequests({
  db,
}: Pick<Services, "db">): Promise<{ readonly due: readonly PictureRequest[]; readonly awaitsMore: boolean }> {
  const open = and(isNull(telegramRequests.endedAt), sql`${telegramRequests.asksAt} is not null`);
  const due = await db
    .select()
    .from(telegramRequests)
    .where(and(open, lte(telegramRequests.asksAt, sql`clock_timestamp()`)))
    .orderBy(asc(telegramRequests.id))
    .limit(20);
  const soon = await db.$count(telegramRequests, and(open, lte(telegramRequests.asksAt, fromNow(soonMs))));
  return { due, awaitsMore: soon > due.length };
}

/** A chat that is refused for longer is asked at this time all the same. */
const longestRestMs = 3_600_000;

/** Notes that the question was asked, or that it has to be asked again after that time. */
export async function noteAsked(
  { db }: Pick<Services, "db">,
  id: string,
  againMs: number | null,
): Promise<void> {
  const asksAt = againMs === null ? null : fromNow(Math.min(againMs, longestRestMs));
  await db.update(telegramRequests).set({ asksAt }).where(eq(telegramRequests.id, id));
}

/** An open request of the chat; null for one that ended, is too old or is another chat's. */
export async function findRequest(
  { db }: Pick<Services, "db">,
  { id, chatId, userId }: { readonly id: string; readonly chatId: string; readonly userId: string },
): Promise<PictureRequest | null> {
  if (!isId(id)) return null;
  const [row] = await db
    .select()
    .from(telegramRequests)
    .where(and(eq(telegramRequests.id, id), ofChat({ chatId, userId }), isNull(telegramRequests.endedAt)));
  return row ?? null;
}

/** Person and garment change places. */
export async function swapPictures(
  { db }: Pick<Services, "db">,
  { id, photos }: PictureRequest,
): Promise<void> {
  await db
    .update(telegramRequests)
    .set({ photos: photos.toReversed(), ...noOffer })
    .where(eq(telegramRequests.id, id));
}

/** Stores a text that a job is to be made of, once its price was agreed to. */
export async function addText(
  { db }: Pick<Services, "db">,
  { userId, chatId, text }: { readonly userId: string; readonly chatId: string; readonly text: string },
): Promise<PictureRequest> {
  const request = { id: newId(), userId, chatId, caption: text, photos: [] };
  await db.insert(telegramRequests).values(request);
  return request;
}

/** How long a price may be agreed to. */
export const offerMinutes = 15;

/** Stores what the person is asked to pay for; it takes the place of an earlier offer for the request. */
export async function offerPrice(
  { db }: Pick<Services, "db">,
  { id }: Pick<PictureRequest, "id">,
  offer: PriceOffer,
): Promise<void> {
  const offerUntil = sql`clock_timestamp() + ${offerMinutes} * interval '1 minute'`;
  await db.update(telegramRequests).set({ offer, offerUntil }).where(eq(telegramRequests.id, id));
}

/** The offer for an open request; null without one, and when it has expired. */
export async function findOffer(
  { db }: Pick<Services, "db">,
  { id }: Pick<PictureRequest, "id">,
): Promise<PriceOffer | null> {
  const [row] = await db
    .select({ offer: telegramRequests.offer })
    .from(telegramRequests)
    .where(
      and(
        eq(telegramRequests.id, id),
        isNull(telegramRequests.endedAt),
        sql`${telegramRequests.offerUntil} > clock_timestamp()`,
      ),
    );
  return row?.offer ?? null;
}

/** Ends a request: a job was made of it, or it is given up. */
export async function endRequest({ db }: Pick<Services, "db">, id: string): Promise<void> {
  await db
    .update(telegramRequests)
    .set({ endedAt: sql`now()`, asksAt: null })
    .where(eq(telegramRequests.id, id));
}

/** Gives up what is open in a chat; returns how much that was. */
export async function endRequestsOf({ db }: Pick<Services, "db">, chatId: string): Promise<number> {
  const rows = await db
    .update(telegramRequests)
    .set({ endedAt: sql`now()`, asksAt: null })
    .where(and(eq(telegramRequests.chatId, chatId), isNull(telegramRequests.endedAt)))
    .returning({ id: telegramRequests.id });
  return rows.length;
}
