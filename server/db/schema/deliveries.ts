import { sql } from "drizzle-orm";
import {
  boolean,
  check,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  timestamp,
  uniqueIndex,
  uuid,
} from "drizzle-orm/pg-core";
import { users } from "./accounts.ts";
import { batches } from "./batches.ts";
import { jobs } from "./jobs.ts";

const at = (name: string) => timestamp(name, { withTimezone: true, precision: 3 });

export const channelNames = ["webhook", "email", "telegram"] as const;
export type ChannelName = (typeof channelNames)[number];

/** Changes of how an account is signed in to, or used by a program or a chat, of which its user is told; names of the audit log. */
export const noticeKinds = [
  "account.password_changed",
  "account.password_removed",
  "account.factor_added",
  "account.factor_removed",
  "account.recovery_codes_made",
  "account.passkey_added",
  "account.passkey_removed",
  "account.provider_linked",
  "account.provider_unlinked",
  "account.chat_linked",
  "account.chat_unlinked",
  "user.factors_reset",
  "key.made",
] as const;

export interface AccountNotice {
  readonly what: (typeof noticeKinds)[number];
  /** ISO 8601, UTC. */
  readonly at: string;
  /** `admin`: somebody else, also an operator on the command line. */
  readonly by: "user" | "admin";
  /** Of the user's own request, where there is one. */
  readonly browser: string | null;
  readonly system: string | null;
  readonly address: string | null;
  /** Of a new API key: its rights, null for all of the account's, and its end, ISO 8601 in UTC or null. */
  readonly key?: { readonly rights: readonly string[] | null; readonly endsAt: string | null };
}

/** One message owed to one receiver; server/deliveries/index.ts has its states and says who writes it. */
export const deliveries = pgTable(
  "deliveries",
  {
    id: uuid("id").primaryKey(),
    /** Null for a batch and for a test of an endpoint. */
    jobId: uuid("job_id").references(() => jobs.id, { onDelete: "cascade" }),
    batchId: uuid("batch_id").references(() => batches.id, { onDelete: "cascade" }),
    ownerId: text("owner_id")
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    channel: text("channel").$type<ChannelName>().notNull(),
    /** Receiver in the terms of the channel. */
    target: text("target").notNull(),
    event: text("event")
      .$type<"job.completed" | "job.failed" | "batch.completed" | "endpoint.test" | "account.changed">()
      .notNull(),
    /** What a message about an account tells; null for all others. */
    notice: jsonb("notice").$type<AccountNotice>(),
    /** Every acquired lock. */
    attempts: integer("attempts").notNull().default(0),
    /** `attempts` when it was last ordered by a person; the schedule counts from here. */
    orderedAt: integer("ordered_at").notNull().default(0),
    /** In microseconds: rounded up, a delivery would not be due yet in the moment it is made. */
    nextAttemptAt: timestamp("next_attempt_at", { withTimezone: true })
      .notNull()
      .default(sql`clock_timestamp()`),
    /** The lock: set while a process sends. */
    deliveringAt: at("delivering_at"),
    lockToken: uuid("lock_token"),
    /** Set only after the send succeeded. */
    deliveredAt: at("delivered_at"),
    /** Set when no further attempt is made. */
    failedAt: at("failed_at"),
    lastError: text("last_error"),
    /** The receiver's id of the message. */
    externalId: text("external_id"),
    createdAt: at("created_at")
      .notNull()
      .default(sql`clock_timestamp()`),
  },
  (table) => [
    uniqueIndex("deliveries_once").on(table.jobId, table.channel, table.target, table.event),
    index("deliveries_due")
      .on(table.nextAttemptAt)
      .where(sql`${table.deliveredAt} is null and ${table.failedAt} is null`),
    index("deliveries_batch")
      .on(table.batchId)
      .where(sql`${table.batchId} is not null`),
    index("deliveries_owner").on(table.ownerId, table.id),
    index("deliveries_age").on(table.createdAt),
    check("deliveries_notice", sql`(${table.notice} is not null) = (${table.event} = 'account.changed')`),
  ],
);

/** One attempt of a delivery. Without an end it is under way, or its process died. */
export const deliveryAttempts = pgTable(
  "delivery_attempts",
  {
    deliveryId: uuid("delivery_id")
      .notNull()
      .references(() => deliveries.id, { onDelete: "cascade" }),
    number: integer("number").notNull(),
    startedAt: at("started_at")
      .notNull()
      .default(sql`clock_timestamp()`),
    endedAt: at("ended_at"),
    isDelivered: boolean("is_delivered").notNull().default(false),
    /** HTTP status of the receiver's answer. */
    status: integer("status"),
    error: text("error"),
  },
  (table) => [primaryKey({ columns: [table.deliveryId, table.number] })],
);

/** A receiver of webhooks. Secrets sign, so they are stored encrypted (sealed-secret.ts); no answer shows one after the first. */
export const webhookEndpoints = pgTable(
  "webhook_endpoints",
  {
    id: uuid("id").primaryKey(),
    ownerId: text("owner_id")
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    /** Null for the secret that signs the webhooks to the `webhookUrl` of single jobs. */
    url: text("url"),
    secret: text("secret").notNull(),
    /** The secret before the rotation; both sign until `previousUntil`. */
    previousSecret: text("previous_secret"),
    previousUntil: at("previous_until"),
    isEnabled: boolean("is_enabled").notNull().default(true),
    /** Why it was disabled, for its owner. */
    disabledReason: text("disabled_reason"),
    createdAt: at("created_at").notNull().defaultNow(),
  },
  (table) => [
    index("webhook_endpoints_owner").on(table.ownerId),
    check("webhook_endpoints_url_length", sql`char_length(${table.url}) <= 2000`),
  ],
);

/** The webhook address that a job's request named. */
export const jobWebhooks = pgTable("job_webhooks", {
  jobId: uuid("job_id")
    .primaryKey()
    .references(() => jobs.id, { onDelete: "cascade" }),
  url: text("url").notNull(),
});

/** Per owner and channel: whether completed jobs are sent there, and the address. */
export const notificationSettings = pgTable(
  "notification_settings",
  {
    ownerId: text("owner_id")
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    channel: text("channel").$type<ChannelName>().notNull(),
    isOn: boolean("is_on").notNull().default(false),
    /** The e-mail address or the chat that was confirmed. */
    target: text("target").notNull(),
    /** SHA-256 of the code that was sent to `target`; null when nothing is to be confirmed. */
    codeHash: text("code_hash"),
    codeUntil: at("code_until"),
    /** Wrong codes since it was sent. */
    codeTries: integer("code_tries").notNull().default(0),
    updatedAt: at("updated_at").notNull().defaultNow(),
  },
  (table) => [primaryKey({ columns: [table.ownerId, table.channel] })],
);
