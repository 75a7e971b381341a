import { sql } from "drizzle-orm";
import { check, integer, pgTable, text, timestamp } from "drizzle-orm/pg-core";

/** Facts about the whole installation, in a single row. */
export const studio = pgTable(
  "studio",
  {
    id: integer("id").primaryKey().default(1),
    /** Content of the object that marks this installation's image store; null until the first process wrote it. */
    storeMark: text("store_mark"),
    /** When a worker last looked for objects without a row. */
    orphansSweptAt: timestamp("orphans_swept_at", { withTimezone: true }),
  },
  (table) => [check("studio_one_row", sql`${table.id} = 1`)],
);
