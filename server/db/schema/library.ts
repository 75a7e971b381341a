import { index, integer, pgTable, primaryKey, text, timestamp, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import { users } from "./accounts.ts";
import { images } from "./images.ts";

const at = (name: string) => timestamp(name, { withTimezone: true, precision: 3 });

/** Words that a user gave to pictures. */
export const tags = pgTable(
  "tags",
  {
    id: uuid("id").primaryKey(),
    ownerId: text("owner_id")
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    /** As it was typed first. */
    name: text("name").notNull(),
    /** The name as searches compare it: `searchForm` of server/images/search-text.ts. */
    key: text("key").notNull(),
    createdAt: at("created_at").notNull().defaultNow(),
  },
  (table) => [uniqueIndex("tags_key").on(table.ownerId, table.key)],
);

export const imageTags = pgTable(
  "image_tags",
  {
    tagId: uuid("tag_id")
      .notNull()
      .references(() => tags.id, { onDelete: "cascade" }),
    imageId: uuid("image_id")
      .notNull()
      .references(() => images.id, { onDelete: "cascade" }),
  },
  (table) => [
    primaryKey({ columns: [table.tagId, table.imageId] }),
    index("image_tags_image").on(table.imageId),
  ],
);

/** Pictures under a name: put there one by one, or all that a search finds. */
export const boards = pgTable(
  "boards",
  {
    id: uuid("id").primaryKey(),
    ownerId: text("owner_id")
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    name: text("name").notNull(),
    /** The name as searches compare it. Two boards may have one name. */
    key: text("key").notNull(),
    /** A search whose pictures the board shows: a saved search. Null: it has the pictures of `board_images`. */
    search: text("search"),
    /** Where its owner put it in the list; null: behind those that were put somewhere, by name. */
    place: integer("place"),
    /** It can be taken back for `retention.undoDeleteMs`. */
    removedAt: at("removed_at"),
    createdAt: at("created_at").notNull().defaultNow(),
  },
  (table) => [index("boards_owner").on(table.ownerId, table.key)],
);

export const boardImages = pgTable(
  "board_images",
  {
    boardId: uuid("board_id")
      .notNull()
      .references(() => boards.id, { onDelete: "cascade" }),
    imageId: uuid("image_id")
      .notNull()
      .references(() => images.id, { onDelete: "cascade" }),
    addedAt: at("added_at").notNull().defaultNow(),
  },
  (table) => [
    primaryKey({ columns: [table.boardId, table.imageId] }),
    index("board_images_image").on(table.imageId),
    // Read backwards: a board is shown from the picture that came last.
    index("board_images_order").on(table.boardId, table.addedAt, table.imageId),
  ],
);

/** With whom a board is shared, and whether they may add pictures of their own. */
export const boardMembers = pgTable(
  "board_members",
  {
    boardId: uuid("board_id")
      .notNull()
      .references(() => boards.id, { onDelete: "cascade" }),
    userId: text("user_id")
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    right: text("right").$type<"see" | "add">().notNull(),
    createdAt: at("created_at").notNull().defaultNow(),
  },
  (table) => [
    primaryKey({ columns: [table.boardId, table.userId] }),
    index("board_members_user").on(table.userId),
  ],
);
