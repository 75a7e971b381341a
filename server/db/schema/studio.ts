import { sql } from "drizzle-orm";
import { bigint, boolean, check, integer, jsonb, pgTable, text, timestamp, uuid } from "drizzle-orm/pg-core";

/** One line for each thing that was tried. */
export interface Checkup {
  /** ISO 8601 */
  readonly at: string;
  readonly findings: readonly {
    readonly name: string;
    readonly state: "ok" | "warn" | "fail" | "not tried";
    readonly message: string;
  }[];
}

const at = (name: string) => timestamp(name, { withTimezone: true, precision: 3 });

/** Facts about the whole installation, in a single row. */
export const studio = pgTable(
  "studio",
  {
    id: integer("id").primaryKey().default(1),
    /** Content of the object that marks this installation's image store; null until the first process chose it. */
    storeMark: text("store_mark"),
    /** When the object was there. Null before: a process may have ended between the row and the object. */
    storeMarkedAt: timestamp("store_marked_at", { withTimezone: true }),
    /** For workers of older versions alone; since then these turns are rows of `turns`. */
    orphansSweptAt: timestamp("orphans_swept_at", { withTimezone: true }),
    archivedAt: timestamp("archived_at", { withTimezone: true }),
    archivingUntil: timestamp("archiving_until", { withTimezone: true }),
    embeddingUntil: timestamp("embedding_until", { withTimezone: true }),
    /** Midnight (UTC) before which all spend is in `daily_spend`; null before the first sum. */
    spendSummedUntil: timestamp("spend_summed_until", { withTimezone: true }),
    /** What the last look at all connections found, fit to be shown. */
    checkup: jsonb("checkup").$type<Checkup>(),
    /** Admins need a second factor. */
    adminsNeedFactor: boolean("admins_need_factor").notNull().default(false),
    /** Names of licences that an admin accepted for the studio; workflows that need another one are off. */
    acceptedLicences: text("accepted_licences").array().notNull().default([]),
    /** When admins were last told of a fault, by its code (ISO 8601). */
    alerts: jsonb("alerts").$type<Readonly<Record<string, string>>>().notNull().default({}),
  },
  (table) => [check("studio_one_row", sql`${table.id} = 1`)],
);

/** Recurring work that one process of the studio does at a time; `server/leases` has the rules. */
export const turns = pgTable("turns", {
  name: text("name").primaryKey(),
  /** The process that does it, and until when it may; null while it rests. */
  token: uuid("token"),
  heldUntil: at("held_until"),
  dueAt: at("due_at")
    .notNull()
    .default(sql`clock_timestamp()`),
  beganAt: at("began_at"),
  /** When it last ended well. */
  doneAt: at("done_at"),
  tookMs: integer("took_ms"),
  /** Failed ends in a row. */
  failures: integer("failures").notNull().default(0),
  /** Of the last failure, be it over or not. */
  error: text("error"),
  failedAt: at("failed_at"),
});

/**
 * Stretches of time in which a worker saw the clock of the database go on; the newest goes on now. Between two of them nothing ran, or
 * the clock was set ahead, which nothing can tell apart: what may not come too early counts none of it (`missedSince`).
 */
export const clockStretches = pgTable("clock_stretches", {
  id: uuid("id").primaryKey().defaultRandom(),
  beganAt: at("began_at").notNull(),
  seenAt: at("seen_at").notNull(),
  /** Between the stretch before and this one. */
  missedMs: bigint("missed_ms", { mode: "number" }).notNull(),
});

/**
 * Certificates that signed pictures of this studio, so that it knows its own later. The studio made a key for each
 * `AUTH_SECRET` that it had; of an operator's own key only the certificates are here.
 */
export const signingKeys = pgTable(
  "signing_keys",
  {
    /** SHA-256 of the first certificate, lower-case hex. */
    fingerprint: text("fingerprint").primaryKey(),
    /** PEM, the signer's first. */
    certificates: text("certificates").notNull(),
    /** The private key, sealed; null for an operator's. */
    sealedKey: text("sealed_key"),
    /** Names the secret that sealed it: two processes that make a key at once keep one. */
    sealedBy: text("sealed_by").unique(),
    madeAt: at("made_at")
      .notNull()
      .default(sql`clock_timestamp()`),
  },
  (table) => [check("signing_keys_sealed", sql`(${table.sealedKey} is null) = (${table.sealedBy} is null)`)],
);
