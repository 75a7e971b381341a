import { pgTable, text, timestamp, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import { users } from "./accounts.ts";

/** A user's statement that a photo shows an adult who agrees, bound to the bytes of that photo. */
export const consents = pgTable(
  "consents",
  {
    id: uuid("id").primaryKey(),
    ownerId: text("owner_id")
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    storedSha256: text("stored_sha256").notNull(),
    statement: text("statement").notNull(),
    createdAt: timestamp("created_at", { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [uniqueIndex("consents_photo").on(table.ownerId, table.storedSha256, table.statement)],
);
