import { sql } from "drizzle-orm";
import { check, index, jsonb, pgTable, text, timestamp, uuid } from "drizzle-orm/pg-core";

/** `nobody`: a sender without a session, as of a sign-in that failed; `operator`: the command line. */
export const auditActors = ["user", "key", "nobody", "operator"] as const;

/**
 * Who did what, to whom, from where: server/audit/index.ts. Triggers refuse to change or delete a row, except one that is
 * older than 30 days and older than what the sweep says. No foreign keys and no names: an entry outlives its user.
 */
export const auditEntries = pgTable(
  "audit_entries",
  {
    id: uuid("id").primaryKey(),
    at: timestamp("at", { withTimezone: true, precision: 3 })
      .notNull()
      .default(sql`clock_timestamp()`),
    /** `auditKinds` of server/audit/kinds.ts, or `admin.` and the name of a procedure. */
    kind: text("kind").notNull(),
    /** `ok`, or the code of the refusal. */
    outcome: text("outcome").notNull().default("ok"),
    actor: text("actor", { enum: auditActors }).notNull(),
    /** The user who acted, also through a key. */
    actorId: text("actor_id"),
    keyId: text("key_id"),
    /** The user to whom it was done, where that is another one. */
    personId: text("person_id"),
    /** What it was done to: a key, a link, a job, a node. */
    objectId: text("object_id"),
    address: text("address"),
    requestId: text("request_id"),
    details: jsonb("details").$type<Readonly<Record<string, unknown>>>().notNull().default({}),
  },
  (table) => [
    index("audit_entries_at").on(table.at),
    index("audit_entries_actor").on(table.actorId, table.id),
    index("audit_entries_person").on(table.personId, table.id),
    index("audit_entries_kind").on(sql`${table.kind} text_pattern_ops`, table.id),
    check("audit_entries_kind_length", sql`char_length(${table.kind}) between 1 and 80`),
    check("audit_entries_details_length", sql`char_length(${table.details}::text) <= 4000`),
  ],
);
