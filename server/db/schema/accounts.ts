import { sql } from "drizzle-orm";
import {
  bigint,
  boolean,
  check,
  index,
  integer,
  pgTable,
  text,
  timestamp,
  uniqueIndex,
} from "drizzle-orm/pg-core";
import type { Locale } from "../../locales.ts";

/**
 * When a job goes to a provider. `own_first`: when no own server can run it, or the wait there is too long; `fastest`:
 * when it is done sooner; `cheapest`: when no own server can; `own_only`: never.
 */
export const cloudPolicies = ["own_first", "fastest", "cheapest", "own_only"] as const;
export type CloudPolicy = (typeof cloudPolicies)[number];

const at = (name: string) => timestamp(name, { withTimezone: true });

/** A person, or a guest (`isAnonymous`) until they make an account. Columns are those of better-auth. */
export const users = pgTable(
  "users",
  {
    id: text("id").primaryKey(),
    name: text("name").notNull(),
    email: text("email").notNull().unique(),
    emailVerified: boolean("email_verified").notNull().default(false),
    image: text("image"),
    isAnonymous: boolean("is_anonymous").default(false),
    /** Made by a sign-up without an invitation: it spends no money until an admin gives it limits. */
    selfMade: boolean("self_made").notNull().default(false),
    /** A sign-in with the password needs a code of `two_factors` as well. */
    twoFactorEnabled: boolean("two_factor_enabled").notNull().default(false),
    role: text("role").default("user"),
    banned: boolean("banned").default(false),
    banReason: text("ban_reason"),
    banExpires: at("ban_expires"),
    /** Bytes that the pictures may take up; null for the studio's default. */
    quotaBytes: bigint("quota_bytes", { mode: "number" }),
    /** When providers may be used for the user's jobs; null for the studio's default. */
    cloudPolicy: text("cloud_policy").$type<CloudPolicy>(),
    /** How often all sessions of the user, or all but one, were ended: a sign-in that such an end overtakes begins none. */
    sessionEnds: integer("session_ends").notNull().default(0),
    /** The model that the user's programs of the A1111 API chose, as they name it; null: the studio chooses. */
    programModel: text("program_model"),
    /** The language that the user chose; null for that of the browser. */
    locale: text("locale").$type<Locale>(),
    /** The language of the browser in which the last session began; null when it asked for none of the studio's. */
    browserLocale: text("browser_locale").$type<Locale>(),
    /** Time of the deletion. The account cannot be used, and a sweep removes its rows and files. */
    deletedAt: at("deleted_at"),
    /** An export of the user's data is running and says so again before this time. */
    exportUntil: at("export_until"),
    createdAt: at("created_at").notNull().defaultNow(),
    updatedAt: at("updated_at").notNull().defaultNow(),
  },
  (table) => [
    /** Role `service`: the account that owns jobs from the workers' HTTP endpoints. */
    uniqueIndex("users_service")
      .on(table.role)
      .where(sql`${table.role} = 'service'`),
    /** The sweep looks for open jobs of these. */
    index("users_suspended")
      .on(table.id)
      .where(sql`${table.banned}`),
    check("users_name_length", sql`char_length(${table.name}) <= 100`),
    check("users_email_length", sql`char_length(${table.email}) <= 254`),
    check("users_image_none", sql`${table.image} is null`),
    check("users_quota_bytes", sql`${table.quotaBytes} >= 0`),
    check("users_ban_reason_length", sql`char_length(${table.banReason}) <= 1000`),
    check("users_locale_length", sql`char_length(${table.locale}) <= 35`),
    check("users_browser_locale_length", sql`char_length(${table.browserLocale}) <= 35`),
  ],
);

export const sessions = pgTable(
  "sessions",
  {
    id: text("id").primaryKey(),
    token: text("token").notNull().unique(),
    userId: text("user_id")
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    expiresAt: at("expires_at").notNull(),
    ipAddress: text("ip_address"),
    userAgent: text("user_agent"),
    impersonatedBy: text("impersonated_by"),
    /** Began with a passkey, or with a password and a second factor. */
    isStrong: boolean("is_strong").notNull().default(false),
    /** The password was typed again in this session, to change how the account is signed in to. */
    confirmedAt: at("confirmed_at"),
    createdAt: at("created_at").notNull().defaultNow(),
    updatedAt: at("updated_at").notNull().defaultNow(),
  },
  (table) => [index("sessions_user").on(table.userId)],
);

export const credentials = pgTable(
  "credentials",
  {
    id: text("id").primaryKey(),
    accountId: text("account_id").notNull(),
    providerId: text("provider_id").notNull(),
    userId: text("user_id")
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    accessToken: text("access_token"),
    refreshToken: text("refresh_token"),
    idToken: text("id_token"),
    accessTokenExpiresAt: at("access_token_expires_at"),
    refreshTokenExpiresAt: at("refresh_token_expires_at"),
    scope: text("scope"),
    password: text("password"),
    createdAt: at("created_at").notNull().defaultNow(),
    updatedAt: at("updated_at").notNull().defaultNow(),
  },
  (table) => [
    index("credentials_user").on(table.userId),
    // Of two first sign-ins of one person at once one makes the account.
    uniqueIndex("credentials_way").on(table.providerId, table.accountId),
  ],
);

/** Authenticator app and recovery codes of a user, encrypted; in force once `verified`. */
export const twoFactors = pgTable(
  "two_factors",
  {
    id: text("id").primaryKey(),
    userId: text("user_id")
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    secret: text("secret").notNull(),
    backupCodes: text("backup_codes").notNull(),
    verified: boolean("verified").notNull().default(false),
    failedVerificationCount: integer("failed_verification_count").notNull().default(0),
    lockedUntil: at("locked_until"),
  },
  (table) => [uniqueIndex("two_factors_user").on(table.userId)],
);

/** Passkeys of a user: the public half of each, and how often it was used if it counts. */
export const passkeys = pgTable(
  "passkeys",
  {
    id: text("id").primaryKey(),
    userId: text("user_id")
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    name: text("name"),
    publicKey: text("public_key").notNull(),
    credentialID: text("credential_id").notNull().unique(),
    counter: bigint("counter", { mode: "number" }).notNull(),
    deviceType: text("device_type").notNull(),
    backedUp: boolean("backed_up").notNull(),
    transports: text("transports"),
    aaguid: text("aaguid"),
    /** The host at which the browser offers it; null: made before hosts were kept, and not used since. */
    rpId: text("rp_id"),
    createdAt: at("created_at").notNull().defaultNow(),
    lastUsedAt: at("last_used_at"),
  },
  (table) => [
    index("passkeys_user").on(table.userId),
    check("passkeys_name_length", sql`char_length(${table.name}) <= 100`),
  ],
);

export const verifications = pgTable("verifications", {
  id: text("id").primaryKey(),
  identifier: text("identifier").notNull(),
  value: text("value").notNull(),
  expiresAt: at("expires_at").notNull(),
  createdAt: at("created_at").notNull().defaultNow(),
  updatedAt: at("updated_at").notNull().defaultNow(),
});

/** API keys; `key` is a hash, the key itself is shown once. */
export const apiKeys = pgTable(
  "api_keys",
  {
    id: text("id").primaryKey(),
    configId: text("config_id").notNull().default("default"),
    name: text("name"),
    start: text("start"),
    prefix: text("prefix"),
    key: text("key").notNull(),
    referenceId: text("reference_id")
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    refillInterval: integer("refill_interval"),
    refillAmount: integer("refill_amount"),
    lastRefillAt: at("last_refill_at"),
    enabled: boolean("enabled").default(true),
    rateLimitEnabled: boolean("rate_limit_enabled").default(true),
    rateLimitTimeWindow: integer("rate_limit_time_window"),
    rateLimitMax: integer("rate_limit_max"),
    requestCount: integer("request_count").default(0),
    remaining: integer("remaining"),
    lastRequest: at("last_request"),
    expiresAt: at("expires_at"),
    permissions: text("permissions"),
    /** Requests that the key may make in a minute; null: `limits.apiKeyPerMinute`, which is the most in any case. */
    perMinute: integer("per_minute"),
    metadata: text("metadata"),
    createdAt: at("created_at").notNull().defaultNow(),
    updatedAt: at("updated_at").notNull().defaultNow(),
  },
  (table) => [
    index("api_keys_key").on(table.key),
    index("api_keys_reference").on(table.referenceId),
    check("api_keys_per_minute", sql`${table.perMinute} > 0`),
    check("api_keys_name_length", sql`char_length(${table.name}) <= 100`),
  ],
);

/** One-time invitations to make an account; `tokenHash` is SHA-256 of the token in the link. */
export const invitations = pgTable("invitations", {
  id: text("id").primaryKey(),
  tokenHash: text("token_hash").notNull().unique(),
  /** Null: created on the command line. */
  createdBy: text("created_by").references(() => users.id, { onDelete: "set null" }),
  createdAt: at("created_at").notNull().defaultNow(),
  expiresAt: at("expires_at").notNull(),
  usedAt: at("used_at"),
});

/** One-time links to a new password, handed over by an admin; `tokenHash` is SHA-256 of the token in the link. */
export const passwordResets = pgTable(
  "password_resets",
  {
    id: text("id").primaryKey(),
    tokenHash: text("token_hash").notNull().unique(),
    userId: text("user_id")
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    createdAt: at("created_at").notNull().defaultNow(),
    expiresAt: at("expires_at").notNull(),
  },
  (table) => [index("password_resets_user").on(table.userId)],
);

/** Counters of the rate limits. */
export const rateLimits = pgTable("rate_limits", {
  id: text("id").primaryKey(),
  key: text("key").notNull().unique(),
  count: integer("count").notNull(),
  lastRequest: bigint("last_request", { mode: "number" }).notNull(),
});
