import { sql } from "drizzle-orm";
import { check, index, pgTable, primaryKey, text, timestamp, uuid } from "drizzle-orm/pg-core";
import { users } from "./accounts.ts";
import { images } from "./images.ts";
import { jobs } from "./jobs.ts";

const at = (name: string) => timestamp(name, { withTimezone: true });

/** Users that a client of the old job server names with an admin's key. They have no password and cannot sign in. */
export const clientUsers = pgTable(
  "client_users",
  {
    userId: text("user_id")
      .primaryKey()
      .references(() => users.id, { onDelete: "cascade" }),
    /** The client's `userId`, exactly as sent. */
    name: text("name").notNull().unique(),
    createdAt: at("created_at").notNull().defaultNow(),
  },
  (table) => [check("client_users_name_length", sql`char_length(${table.name}) <= 100`)],
);

/** Pictures that clients of the old job server uploaded, by the key under which they ask for them. */
export const clientFiles = pgTable(
  "client_files",
  {
    ownerId: text("owner_id")
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    /** The client's `userId`, which is a separate user only with an admin's key. */
    userName: text("user_name").notNull(),
    fileName: text("file_name").notNull(),
    imageId: uuid("image_id")
      .notNull()
      .references(() => images.id, { onDelete: "cascade" }),
    createdAt: at("created_at").notNull().defaultNow(),
    /** A whole list with it was handed over; that the client has it, nothing tells. */
    listedAt: at("listed_at"),
  },
  (table) => [
    primaryKey({ columns: [table.ownerId, table.userName, table.fileName] }),
    index("client_files_image").on(table.imageId),
    check("client_files_user_name_length", sql`char_length(${table.userName}) <= 100`),
    check("client_files_file_name_length", sql`char_length(${table.fileName}) <= 300`),
  ],
);

/** The reader that is being sent the result of an ephemeral job; others wait until it is done or `heldUntil` has passed. */
export const resultHolds = pgTable("result_holds", {
  jobId: uuid("job_id")
    .primaryKey()
    .references(() => jobs.id, { onDelete: "cascade" }),
  token: uuid("token").notNull(),
  heldUntil: at("held_until").notNull(),
});
