import { sql } from "drizzle-orm";
import { bigint, boolean, index, pgTable, primaryKey, text, timestamp, uuid } from "drizzle-orm/pg-core";
import { users } from "./accounts.ts";
import { images } from "./images.ts";

const at = (name: string) => timestamp(name, { withTimezone: true, precision: 3 });

/**
 * What a picture looks like, to find others that look the same. The trigger `images_await_likeness` adds an empty row for each
 * new picture; `server/duplicates` fills it, compares it with the rows of the same owner, and then sets `comparedAt`.
 */
export const likenesses = pgTable(
  "likenesses",
  {
    imageId: uuid("image_id")
      .primaryKey()
      .references(() => images.id, { onDelete: "cascade" }),
    ownerId: text("owner_id")
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    /** 64 bits, of which similar pictures have most in common; null until it is made, and for a picture that has none. */
    hash: bigint("hash", { mode: "bigint" }),
    comparedAt: at("compared_at"),
  },
  (table) => [
    index("likenesses_open")
      .on(table.imageId)
      .where(sql`${table.comparedAt} is null`),
    index("likenesses_open_owner")
      .on(table.ownerId, table.imageId)
      .where(sql`${table.comparedAt} is null`),
    // One index for each 16 bits: two hashes that differ little agree in at least one of the four parts.
    index("likenesses_part_1").on(table.ownerId, sql`((${table.hash} >> 48) & 65535)`),
    index("likenesses_part_2").on(table.ownerId, sql`((${table.hash} >> 32) & 65535)`),
    index("likenesses_part_3").on(table.ownerId, sql`((${table.hash} >> 16) & 65535)`),
    index("likenesses_part_4").on(table.ownerId, sql`(${table.hash} & 65535)`),
  ],
);

/** Two pictures of one owner that look the same. */
export const duplicatePairs = pgTable(
  "duplicate_pairs",
  {
    /** The smaller id of the two. */
    imageId: uuid("image_id")
      .notNull()
      .references(() => images.id, { onDelete: "cascade" }),
    twinId: uuid("twin_id")
      .notNull()
      .references(() => images.id, { onDelete: "cascade" }),
    ownerId: text("owner_id")
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    /** The owner said that both stay. */
    dismissedAt: at("dismissed_at"),
    /** False: not found to look the same, only dismissed as a part of a group. */
    isFound: boolean("is_found").notNull().default(true),
  },
  (table) => [
    primaryKey({ columns: [table.imageId, table.twinId] }),
    index("duplicate_pairs_twin").on(table.twinId),
    index("duplicate_pairs_owner")
      .on(table.ownerId)
      .where(sql`${table.dismissedAt} is null`),
  ],
);
