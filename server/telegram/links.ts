import { lackOf, type Maker, recordChange, requireStanding, wordsFor } from "../accounts/plain.ts";
import type { Words } from "../words.ts";
import { randomBytes } from "node:crypto";
import { and, eq, isNull, ne, or, sql } from "drizzle-orm";
import { lockTopic, schema, type Tx } from "../db/index.ts";
import { AppError, hashOfToken, isId, newId } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { telegramOf } from "./client.ts";
import { TelegramError } from "./errors.ts";

const { deliveries, notificationSettings, telegramCodes, telegramLinks, telegramRequests, users } = schema;

const codeBytes = 16;
const codeMinutes = 15;
const nameMs = 10_000;
const noticeMs = 20_000;

/** The settings' view of the bot. Times are ISO 8601, UTC. */
export interface TelegramState {
  /** Whether this studio has a bot. */
  readonly isOffered: boolean;
  readonly link: { readonly name: string; readonly linkedAt: string } | null;
}

export async function readTelegramState({ db, env }: Services, userId: string): Promise<TelegramState> {
  const [row] = await db.select().from(telegramLinks).where(eq(telegramLinks.userId, userId));
  return {
    isOffered: env.TELEGRAM_BOT_TOKEN !== undefined,
    link: row ? { name: row.name, linkedAt: row.createdAt.toISOString() } : null,
  };
}

export interface DeepLink {
  readonly url: string;
  readonly expiresAt: string;
}

/**
 * A deep link to the bot that links the chat which opens it, once, after a confirmation there; links made before end.
 * Throws `conflict` without a bot, `internal` when its name cannot be asked for.
 */
export async function createLink(services: Services, userId: string, maker?: Maker): Promise<DeepLink> {
  const name = await readBotName(services);
  const code = randomBytes(codeBytes).toString("base64url");
  const codeHash = hashOfToken(code);
  const expiresAt = await services.db.transaction(async (tx) => {
    if (maker) await requireStanding(tx, maker);
    await tx.delete(telegramCodes).where(eq(telegramCodes.userId, userId));
    const [row] = await tx
      .insert(telegramCodes)
      .values({
        id: newId(),
        userId,
        codeHash,
        expiresAt: sql`clock_timestamp() + ${codeMinutes} * interval '1 minute'`,
      })
      .returning({ expiresAt: telegramCodes.expiresAt });
    return row?.expiresAt ?? new Date();
  });
  return { url: `https://t.me/${name}?start=${code}`, expiresAt: expiresAt.toISOString() };
}

async function readBotName({ env, log }: Services): Promise<string> {
  const telegram = telegramOf(env);
  if (!telegram) throw new AppError("conflict", "This studio has no Telegram bot.");
  try {
    return await telegram.getName(AbortSignal.timeout(nameMs));
  } catch (error) {
    log.warn({ err: error }, "the name of the bot could not be read");
    throw new AppError("internal", "Telegram does not answer at the moment. Try again later.", {
      cause: error,
    });
  }
}

/** What the bot asks a chat that opened a deep link. */
export interface LinkQuestion {
  readonly codeId: string;
  /**
   * Address and name of the account, so that nobody links a chat to the account of somebody else unknowingly. The address comes
   * first: the owner writes the name, which may look like another address.
   */
  readonly account: string;
  /** In the language of the account. */
  readonly words: Words;
}

/** The question for a code; null when it is wrong, too old, or another chat has used it. Asking again changes nothing. */
export async function openCode(
  services: Services,
  { code, chatId }: { readonly code: string; readonly chatId: string },
): Promise<LinkQuestion | null> {
  const { db } = services;
  const [row] = await db
    .update(telegramCodes)
    .set({ chatId })
    .where(
      and(
        eq(telegramCodes.codeHash, hashOfToken(code)),
        sql`${telegramCodes.expiresAt} > clock_timestamp()`,
        or(isNull(telegramCodes.chatId), eq(telegramCodes.chatId, chatId)),
      ),
    )
    .returning({ codeId: telegramCodes.id, userId: telegramCodes.userId });
  if (!row) return null;
  const [user] = await db.select().from(users).where(eq(users.id, row.userId));
  if (!user) return null;
  const name = user.name.trim();
  const { email } = user;
  const words = await wordsFor(services, user.id);
  const account = name && name !== email ? words.t("bot.namedAccount", { email, name }) : email;
  return { codeId: row.codeId, account, words };
}

export interface ConfirmInput {
  readonly codeId: string;
  readonly chatId: string;
  /** The person's name in Telegram. */
  readonly name: string;
}

/**
 * Links the chat that opened the code, and turns its notifications on. A link that the chat or the account had before is
 * replaced. False when the code is too old or was used, and for an id that is none: programs press buttons that were never shown.
 */
export async function confirmLink(
  services: Services,
  { codeId, chatId, name }: ConfirmInput,
): Promise<boolean> {
  if (!isId(codeId)) return false;
  const replaced = await services.db.transaction(async (tx) => {
    // The users first, as where all ways into an account end: the code is gone after that.
    await tx.execute(sql`select from users where id = (select user_id from telegram_codes where id = ${codeId})
      or id in (select user_id from telegram_links where chat_id = ${chatId}) for share`);
    const [code] = await tx
      .delete(telegramCodes)
      .where(
        and(
          eq(telegramCodes.id, codeId),
          eq(telegramCodes.chatId, chatId),
          sql`${telegramCodes.expiresAt} > clock_timestamp()`,
        ),
      )
      .returning({ userId: telegramCodes.userId });
    if (!code) return null;
    const { userId } = code;
    // Two accounts that confirm in the same chat at once take turns here.
    await lockTopic(tx, "telegram chat", chatId);
    const others = await tx
      .select()
      .from(telegramLinks)
      .where(or(eq(telegramLinks.chatId, chatId), eq(telegramLinks.userId, userId)));
    for (const other of others) await removeLink(services, tx, other);
    await tx.insert(telegramLinks).values({ userId, chatId, name });
    await tx
      .insert(notificationSettings)
      .values({ ownerId: userId, channel: "telegram", target: chatId, isOn: true })
      .onConflictDoUpdate({
        target: [notificationSettings.ownerId, notificationSettings.channel],
        set: { target: chatId, isOn: true, updatedAt: sql`now()` },
      });
    await recordChange(services, tx, { kind: "account.chat_linked", by: userId });
    return others.filter((other) => other.chatId !== chatId);
  });
  for (const { chatId: old, userId } of replaced ?? [])
    await notify(services, { chatId: old, userId }, "replaced");
  return replaced !== null;
}

/** Gives up a code that the chat opened. */
export async function refuseLink(
  { db }: Services,
  { codeId, chatId }: { readonly codeId: string; readonly chatId: string },
): Promise<void> {
  if (!isId(codeId)) return;
  await db.delete(telegramCodes).where(and(eq(telegramCodes.id, codeId), eq(telegramCodes.chatId, chatId)));
}

/** Ends the link of an account and tells the chat; false when there was none. */
export async function unlink(services: Services, userId: string): Promise<boolean> {
  const gone = await unlinkWhere(services, eq(telegramLinks.userId, userId));
  await services.db.delete(telegramCodes).where(eq(telegramCodes.userId, userId));
  if (gone) await notify(services, gone, "unlinkedInSettings");
  return gone !== null;
}

/** Ends the link of a chat; false when there was none. */
export async function unlinkChat(services: Services, chatId: string): Promise<boolean> {
  return (await unlinkWhere(services, eq(telegramLinks.chatId, chatId))) !== null;
}

type Link = typeof telegramLinks.$inferSelect;

async function unlinkWhere(services: Services, where: ReturnType<typeof eq>): Promise<Link | null> {
  return services.db.transaction(async (tx) => {
    // The user first, here too: the message about it needs that row.
    await tx.execute(
      sql`select from users where id in (select user_id from ${telegramLinks} where ${where}) for key share`,
    );
    const [link] = await tx.select().from(telegramLinks).where(where).for("update");
    if (link) await removeLink(services, tx, link);
    return link ?? null;
  });
}

/** With what is still owed to the chat and what was being asked there. */
async function removeLink(services: Services, tx: Tx, { userId, chatId }: Link): Promise<void> {
  await tx
    .delete(telegramLinks)
    .where(and(eq(telegramLinks.userId, userId), eq(telegramLinks.chatId, chatId)));
  await recordChange(services, tx, { kind: "account.chat_unlinked", by: userId });
  await tx.delete(telegramRequests).where(eq(telegramRequests.chatId, chatId));
  await tx.execute(sql`delete from ${schema.telegramJobs} where chat_id = ${chatId}`);
  await tx
    .delete(notificationSettings)
    .where(and(eq(notificationSettings.ownerId, userId), eq(notificationSettings.channel, "telegram")));
  await tx.execute(sql`
    update ${deliveries} set failed_at = clock_timestamp(), last_error = 'The chat is no longer linked.'
    where owner_id = ${userId} and channel = 'telegram' and target = ${chatId}
      and delivered_at is null and failed_at is null and delivering_at is null`);
}

/** A message that nothing depends on. */
async function notify(
  services: Services,
  { chatId, userId }: { readonly chatId: string; readonly userId: string },
  text: "replaced" | "unlinkedInSettings",
): Promise<void> {
  const { env, log, later } = services;
  const telegram = telegramOf(env);
  if (!telegram) return;
  const { t } = await wordsFor(services, userId);
  const sent = telegram
    .sendText({ chatId, text: t(`bot.${text}`) }, AbortSignal.timeout(noticeMs))
    .catch((error: unknown) => {
      const kind = error instanceof TelegramError ? error.kind : "unknown";
      log.info({ kind }, "a notice was not delivered by Telegram");
    });
  later(sent.then(() => undefined));
}

/** The account of a chat, as the one who submits. */
export interface LinkedUser {
  readonly userId: string;
  readonly isGuest: false;
  readonly isAdmin: boolean;
  readonly name: string;
}

/** The account that a chat is linked to; null without one, and for one that is suspended or being deleted. */
export async function findLinkedUser(services: Services, chatId: string): Promise<LinkedUser | null> {
  const [user] = await services.db
    .select({ userId: users.id, role: users.role, name: users.name })
    .from(telegramLinks)
    .innerJoin(users, eq(users.id, telegramLinks.userId))
    .where(
      and(
        eq(telegramLinks.chatId, chatId),
        isNull(users.deletedAt),
        sql`not (coalesce(${users.banned}, false) and (${users.banExpires} is null or ${users.banExpires} > now()))`,
      ),
    );
  if (!user) return null;
  const { userId, name } = user;
  const isAdmin = user.role === "admin" && (await lackOf(services, { userId, sessionId: null })) === null;
  return { userId, isGuest: false, isAdmin, name };
}

/** Whether the chat is the account's at this moment. */
export async function isLinked(
  { db }: Pick<Services, "db">,
  { userId, chatId }: { readonly userId: string; readonly chatId: string },
): Promise<boolean> {
  const own = and(eq(telegramLinks.userId, userId), eq(telegramLinks.chatId, chatId));
  return (await db.$count(telegramLinks, own)) > 0;
}

/** Gives a chat its new id wherever it is stored; Telegram names it when a group becomes a supergroup. */
export async function moveChat(
  { db }: Services,
  { userId, from, to }: { readonly userId: string; readonly from: string; readonly to: string },
): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.delete(telegramLinks).where(and(eq(telegramLinks.chatId, to), ne(telegramLinks.userId, userId)));
    await tx
      .update(telegramLinks)
      .set({ chatId: to })
      .where(and(eq(telegramLinks.userId, userId), eq(telegramLinks.chatId, from)));
    await tx.execute(sql`update ${schema.telegramJobs} set chat_id = ${to} where chat_id = ${from}`);
    await tx.execute(sql`
      update ${notificationSettings} set target = ${to}
      where owner_id = ${userId} and channel = 'telegram' and target = ${from}`);
    await tx.execute(sql`
      update ${deliveries} d set target = ${to}
      where owner_id = ${userId} and channel = 'telegram' and target = ${from} and not exists (
        select from ${deliveries} o where o.job_id = d.job_id and o.channel = d.channel and o.event = d.event and o.target = ${to})`);
  });
}
