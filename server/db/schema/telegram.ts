import { sql } from "drizzle-orm";
import {
  bigint,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  timestamp,
  uuid,
} from "drizzle-orm/pg-core";
import type { JobKind } from "../../engines.ts";
import { users } from "./accounts.ts";
import { jobs } from "./jobs.ts";

const at = (name: string) => timestamp(name, { withTimezone: true, precision: 3 });
const createdAt = () =>
  at("created_at")
    .notNull()
    .default(sql`clock_timestamp()`);

/** The private chat of an account; each has one of the other at most. */
export const telegramLinks = pgTable("telegram_links", {
  userId: text("user_id")
    .primaryKey()
    .references(() => users.id, { onDelete: "cascade" }),
  /** Telegram's id of the chat, which may exceed 32 bits. */
  chatId: text("chat_id").notNull().unique(),
  /** The person's name in Telegram when the chat was linked. */
  name: text("name").notNull(),
  createdAt: createdAt(),
});

/** A one-time code of a deep link. */
export const telegramCodes = pgTable(
  "telegram_codes",
  {
    id: uuid("id").primaryKey(),
    userId: text("user_id")
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    /** SHA-256 of the code. */
    codeHash: text("code_hash").notNull().unique(),
    /** The chat that opened the link and has not confirmed it yet; no other chat can use the code from then on. */
    chatId: text("chat_id"),
    expiresAt: at("expires_at").notNull(),
    createdAt: createdAt(),
  },
  (table) => [index("telegram_codes_user").on(table.userId)],
);

/** A picture that was sent to the bot, as Telegram names it. */
export interface TelegramPhoto {
  readonly updateId: number;
  readonly fileId: string;
  readonly name: string | null;
}

/** A job that costs money, as the person was asked about it. */
export interface TelegramOffer {
  readonly kind: JobKind;
  readonly params: Readonly<Record<string, unknown>>;
  /** Idempotency key of the job. */
  readonly key: string;
  /** US dollars; null when no source states it. */
  readonly priceUsd: number | null;
  /** The most that it costs, whichever provider of the chain makes it; offers of older versions lack it. */
  readonly maxPriceUsd?: number | null;
  /** Own machines can make it, too. */
  readonly hasHome?: boolean;
}

/** Pictures of a chat, or a text without any, that a job is to be made of. */
export const telegramRequests = pgTable(
  "telegram_requests",
  {
    id: uuid("id").primaryKey(),
    userId: text("user_id")
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    chatId: text("chat_id").notNull(),
    /** Id of the album; its pictures arrive one by one. */
    groupId: text("group_id"),
    photos: jsonb("photos").$type<readonly TelegramPhoto[]>().notNull(),
    caption: text("caption"),
    /** The question is asked after this time; null once it was. */
    asksAt: at("asks_at"),
    /** The price that the person may agree to, until then. */
    offer: jsonb("offer").$type<TelegramOffer>(),
    offerUntil: at("offer_until"),
    /** Set when a job was made of it, or it was given up. */
    endedAt: at("ended_at"),
    createdAt: createdAt(),
  },
  (table) => [
    index("telegram_requests_user").on(table.userId),
    index("telegram_requests_chat").on(table.chatId, table.createdAt),
    index("telegram_requests_due")
      .on(table.asksAt)
      .where(sql`${table.asksAt} is not null and ${table.endedAt} is null`),
  ],
);

/** The message that shows a job's progress; the row is deleted when it shows the end. */
export const telegramJobs = pgTable(
  "telegram_jobs",
  {
    jobId: uuid("job_id")
      .primaryKey()
      .references(() => jobs.id, { onDelete: "cascade" }),
    chatId: text("chat_id").notNull(),
    /** Null before it was sent. */
    messageId: bigint("message_id", { mode: "number" }),
    /** What it shows. */
    text: text("text"),
    /** Not edited before this time. */
    notBefore: at("not_before")
      .notNull()
      .default(sql`clock_timestamp()`),
  },
  (table) => [index("telegram_jobs_due").on(table.notBefore)],
);

/** Which process reads a bot's updates, and up to where they are handled. */
export const telegramBots = pgTable("telegram_bots", {
  /** The number before the colon of the token. */
  botId: text("bot_id").primaryKey(),
  holder: uuid("holder"),
  leaseUntil: at("lease_until"),
  nextOffset: bigint("next_offset", { mode: "number" }),
  offsetAt: at("offset_at"),
});

/** Updates that were begun, so that one that arrives again changes nothing. */
export const telegramUpdates = pgTable(
  "telegram_updates",
  {
    botId: text("bot_id").notNull(),
    updateId: bigint("update_id", { mode: "number" }).notNull(),
    tries: integer("tries").notNull().default(1),
    doneAt: at("done_at"),
    createdAt: createdAt(),
  },
  (table) => [
    primaryKey({ columns: [table.botId, table.updateId] }),
    index("telegram_updates_age").on(table.createdAt),
  ],
);
