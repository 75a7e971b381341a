import { sql } from "drizzle-orm";
import {
  boolean,
  check,
  date,
  doublePrecision,
  index,
  integer,
  jsonb,
  pgTable,
  text,
  timestamp,
  uniqueIndex,
  uuid,
} from "drizzle-orm/pg-core";
import { users } from "./accounts.ts";
import { jobs } from "./jobs.ts";

const at = (name: string) => timestamp(name, { withTimezone: true, precision: 3 });

/**
 * `submitting`: the call is under way, or its process died; `unknown`: the answer to the call was lost; `accepted`: the
 * provider has the job; the others are final.
 */
export type AttemptState = "submitting" | "unknown" | "accepted" | "succeeded" | "failed" | "cancelled";

/**
 * One request to a provider for a job, stored before the call. Activity, rates, cooldowns and spend are derived from
 * these rows. They outlive their jobs and users, since the money was spent.
 */
export const providerAttempts = pgTable(
  "provider_attempts",
  {
    id: uuid("id").primaryKey(),
    /** Job and user are null when they were removed. */
    jobId: uuid("job_id").references(() => jobs.id, { onDelete: "set null" }),
    ownerId: text("owner_id").references(() => users.id, { onDelete: "set null" }),
    /** The studio's API key that the job was sent with, also after it was revoked; null: a session. */
    apiKeyId: text("api_key_id"),
    provider: text("provider").notNull(),
    /** Hash of the API key: each key has its own rate. */
    keyId: text("key_id").notNull(),
    model: text("model").notNull(),
    endpoint: text("endpoint").notNull(),
    state: text("state").$type<AttemptState>().notNull(),
    /** The node that makes the call, or that asks about the run at the moment. */
    nodeId: uuid("node_id"),
    externalId: text("external_id"),
    /** Addresses that the provider gave for the run. */
    urls: jsonb("urls").$type<Record<string, string>>(),
    /** Secret part of the webhook address. */
    token: text("token").notNull(),
    /** Price of the model list, US dollars; null when unknown. Counts as spent until the cost is known. */
    priceUsd: doublePrecision("price_usd"),
    /** What the provider charged, US dollars; 0 when it charged nothing. */
    costUsd: doublePrecision("cost_usd"),
    errorClass: text("error_class"),
    errorMessage: text("error_message"),
    retryAfterMs: integer("retry_after_ms"),
    createdAt: at("created_at")
      .notNull()
      .default(sql`clock_timestamp()`),
    acceptedAt: at("accepted_at"),
    endedAt: at("ended_at"),
    polls: integer("polls").notNull().default(0),
    nextPollAt: at("next_poll_at"),
    /** Without an end by then the attempt has failed. */
    deadlineAt: at("deadline_at"),
    /** The process that follows the run at the moment, and until when it may. */
    finishToken: uuid("finish_token"),
    finishUntil: at("finish_until"),
  },
  (table) => [
    index("provider_attempts_job").on(table.jobId),
    index("provider_attempts_key").on(table.provider, table.keyId, table.createdAt),
    index("provider_attempts_ended").on(table.provider, table.keyId, table.endedAt),
    index("provider_attempts_owner").on(table.ownerId, table.createdAt),
    index("provider_attempts_api_key")
      .on(table.apiKeyId, table.createdAt)
      .where(sql`${table.apiKeyId} is not null`),
    index("provider_attempts_age").on(table.createdAt),
    index("provider_attempts_due")
      .on(table.nextPollAt)
      .where(sql`${table.state} in ('submitting', 'unknown', 'accepted')`),
    uniqueIndex("provider_attempts_token").on(table.token),
  ],
);

/** What the admin changed about a provider. */
export const providerSettings = pgTable("provider_settings", {
  provider: text("provider").primaryKey(),
  isEnabled: boolean("is_enabled").notNull().default(true),
  updatedAt: at("updated_at").notNull().defaultNow(),
});

/** The admin's order of the providers of a model; without a row the order of the model list holds. */
export const modelChains = pgTable("model_chains", {
  model: text("model").primaryKey(),
  providers: text("providers").array().notNull(),
  updatedAt: at("updated_at").notNull().defaultNow(),
});

/** Caps of one user that differ from the configuration, US dollars. */
export const spendingCaps = pgTable("spending_caps", {
  userId: text("user_id")
    .primaryKey()
    .references(() => users.id, { onDelete: "cascade" }),
  dailyUsd: doublePrecision("daily_usd"),
  monthlyUsd: doublePrecision("monthly_usd"),
});

/** After what time the cap of an API key counts from 0 again: each at midnight (UTC), a week on Monday. */
export const capPeriods = ["day", "week", "month", "never"] as const;
export type CapPeriod = (typeof capPeriods)[number];

/** What an API key may spend, US dollars. It stays when the key is revoked: jobs that wait are still bound by it. */
export const keyCaps = pgTable(
  "key_caps",
  {
    keyId: text("key_id").primaryKey(),
    userId: text("user_id")
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    usd: doublePrecision("usd").notNull(),
    period: text("period").$type<CapPeriod>().notNull(),
  },
  (table) => [
    index("key_caps_user").on(table.userId),
    check("key_caps_usd", sql`${table.usd} >= 0`),
    check("key_caps_period", sql`${table.period} in ('day', 'week', 'month', 'never')`),
  ],
);

/**
 * What each user spent on each day (UTC) before `studio.spend_summed_until`, at providers and on models, so that the caps
 * need not add up a month of requests. A day is summed once, when all its requests have ended and no cost can change.
 */
export const dailySpend = pgTable(
  "daily_spend",
  {
    day: date("day", { mode: "string" }).notNull(),
    /** Null when the user was removed. */
    ownerId: text("owner_id").references(() => users.id, { onDelete: "set null" }),
    /** Of the API key that spent it. These rows are kept, since the cap of a key may count all that it ever spent. */
    apiKeyId: text("api_key_id"),
    usd: doublePrecision("usd").notNull(),
  },
  (table) => [
    index("daily_spend_day").on(table.day),
    index("daily_spend_owner").on(table.ownerId),
    index("daily_spend_api_key")
      .on(table.apiKeyId, table.day)
      .where(sql`${table.apiKeyId} is not null`),
  ],
);
