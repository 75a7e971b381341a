import { createHash, randomInt } from "node:crypto";
import { and, eq, getTableColumns, sql } from "drizzle-orm";
import { codeCountOf, countTry, forgetTry, refuseGuest, wordsFor } from "../accounts/plain.ts";
import { ago, type ChannelName, schema } from "../db/index.ts";
import { AppError, offersEmail } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { sendCode } from "./email.ts";

const { notificationSettings, users } = schema;

/** What a user may choose; a channel that the studio does not offer is missing. */
export interface NotificationView {
  readonly channel: Exclude<ChannelName, "webhook">;
  readonly isOn: boolean;
  /** The confirmed address or chat; null before the confirmation. */
  readonly target: string | null;
  /** The address that a code was sent to which is still valid. */
  readonly codeSentTo: string | null;
}

/** A code was sent that can still be typed, by the clock that it is checked by. */
const isWaiting = sql<boolean>`(code_hash is not null and coalesce(code_until > now(), false))`;

/** The channels for people, as they are set for a user. */
export async function readNotifications(services: Services, ownerId: string): Promise<NotificationView[]> {
  const rows = await services.db
    .select({ ...getTableColumns(notificationSettings), isWaiting })
    .from(notificationSettings)
    .where(eq(notificationSettings.ownerId, ownerId));
  // A chat is confirmed where it is linked, in server/telegram: without a row there is none.
  const chat = services.env.TELEGRAM_BOT_TOKEN && rows.find(({ channel }) => channel === "telegram");
  const telegram = chat
    ? [{ channel: "telegram", isOn: chat.isOn, target: chat.target, codeSentTo: null } as const]
    : [];
  const row = rows.find(({ channel }) => channel === "email");
  if (!offersEmail(services.env)) return telegram;
  const isConfirmed = row !== undefined && row.codeHash === null;
  return [
    {
      channel: "email",
      isOn: row?.isOn ?? false,
      target: isConfirmed ? row.target : null,
      codeSentTo: row?.isWaiting === true ? row.target : null,
    },
    ...telegram,
  ];
}

const codeMinutes = 15;
const maxTries = 5;
/** A further code is sent at the earliest after this time. */
const resendMs = 60_000;
/** Nobody has proved the address yet: it may be that of a stranger, whose mailbox nobody may fill, and each code may be guessed at. */
const codesPerDay = { windowMs: 86_400_000, max: 10 } as const;

const hashOf = (ownerId: string, code: string) =>
  createHash("sha256").update(`${ownerId} ${code}`).digest("hex");

/**
 * Sends a code to the account's address, which proves that the account's owner reads it. Throws `forbidden` for a guest,
 * `conflict` where no e-mail is sent, `rate_limited` within a minute of the last code and above ten a day.
 */
export async function requestEmailCode(services: Services, ownerId: string): Promise<{ address: string }> {
  if (!offersEmail(services.env)) throw new AppError("conflict", "This studio sends no e-mail.");
  const [user] = await services.db.select().from(users).where(eq(users.id, ownerId));
  if (!user) throw new AppError("not_found");
  refuseGuest({ isGuest: user.isAnonymous === true });
  const code = String(randomInt(1_000_000)).padStart(6, "0");
  const codeUntil = sql`now() + ${codeMinutes} * interval '1 minute'`;
  const set = {
    isOn: false,
    target: user.email,
    codeHash: hashOf(ownerId, code),
    codeUntil,
    codeTries: 0,
    updatedAt: sql`now()`,
  };
  await services.db.transaction(async (tx) => {
    const stored = await tx
      .insert(notificationSettings)
      .values({ ownerId, channel: "email", ...set })
      .onConflictDoUpdate({
        target: [notificationSettings.ownerId, notificationSettings.channel],
        set,
        setWhere: sql`${notificationSettings.codeHash} is null
          or ${notificationSettings.updatedAt} < ${ago(resendMs)}`,
      })
      .returning({ ownerId: notificationSettings.ownerId });
    if (stored.length === 0) throw new AppError("rate_limited", "A code was sent a moment ago.");
    // Last, so that a refusal leaves the code of before as it is.
    if (!(await countTry(tx, codeCountOf(ownerId), codesPerDay)))
      throw new AppError("rate_limited", "Ten codes were sent today. Try again tomorrow.");
  });
  try {
    await sendCode(services, await wordsFor(services, ownerId), { to: user.email, code });
  } catch (error) {
    // What was not sent fills no mailbox.
    await forgetTry(services.db, codeCountOf(ownerId));
    throw error;
  }
  return { address: user.email };
}

/** Turns e-mail on. Throws `bad_request` for a wrong or old code; after five wrong ones another code is needed. */
export async function confirmEmail(
  { db }: Services,
  { ownerId, code }: { ownerId: string; code: string },
): Promise<void> {
  // One statement counts the try and compares, so that parallel guesses cannot pass the limit.
  const rows = await db.execute<{ isOn: boolean }>(sql`
    update ${notificationSettings} s set code_tries = code_tries + 1, updated_at = now(),
      is_on = s.code_hash = ${hashOf(ownerId, code)},
      code_hash = case when s.code_hash = ${hashOf(ownerId, code)} then null else s.code_hash end
    where owner_id = ${ownerId} and channel = 'email' and code_hash is not null and code_until > now()
      and code_tries < ${maxTries}
    returning is_on as "isOn"`);
  if (!rows[0]?.isOn) throw new AppError("bad_request", "The code is wrong or too old. Ask for another one.");
}

/** Turns a confirmed channel on or off. Throws `conflict` when it has to be confirmed first. */
export async function setNotification(
  { db }: Services,
  input: { ownerId: string; channel: NotificationView["channel"]; isOn: boolean },
): Promise<void> {
  const { ownerId, channel, isOn } = input;
  const rows = await db
    .update(notificationSettings)
    .set({ isOn, updatedAt: sql`now()` })
    .where(
      and(
        eq(notificationSettings.ownerId, ownerId),
        eq(notificationSettings.channel, channel),
        ...(isOn ? [sql`${notificationSettings.codeHash} is null`] : []),
      ),
    )
    .returning({ ownerId: notificationSettings.ownerId });
  if (rows.length === 0 && isOn) throw new AppError("conflict", "Confirm the address first.");
}
