import { sql } from "drizzle-orm";
import { check, integer, jsonb, pgTable, text, timestamp } from "drizzle-orm/pg-core";

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

/** Facts about the whole installation, in a single row. */
export const studio = pgTable(
  "studio",
  {
    id: integer("id").primaryKey().default(1),
    /** Content of the object that marks this installation's image store; null until the first process chose it. */
    storeMark: text("store_mark"),
    /** When the object was there. Null before: a process may have ended between the row and the object. */
    storeMarkedAt: timestamp("store_marked_at", { withTimezone: true }),
    /** When a worker last looked for objects without a row. */
    orphansSweptAt: timestamp("orphans_swept_at", { withTimezone: true }),
    /** When an archivist last came to its end, and until when one may be at work. */
    archivedAt: timestamp("archived_at", { withTimezone: true }),
    archivingUntil: timestamp("archiving_until", { withTimezone: true }),
    /** Until when a worker may be making vectors for the search. */
    embeddingUntil: timestamp("embedding_until", { withTimezone: true }),
    /** Midnight (UTC) before which all spend is in `daily_spend`; null before the first sum. */
    spendSummedUntil: timestamp("spend_summed_until", { withTimezone: true }),
    /** What the last look at all connections found, fit to be shown. */
    checkup: jsonb("checkup").$type<Checkup>(),
    /** When admins were last told of a fault, by its code (ISO 8601). */
    alerts: jsonb("alerts").$type<Readonly<Record<string, string>>>().notNull().default({}),
  },
  (table) => [check("studio_one_row", sql`${table.id} = 1`)],
);
