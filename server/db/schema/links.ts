import {
  boolean,
  index,
  integer,
  pgTable,
  primaryKey,
  smallint,
  text,
  timestamp,
  uniqueIndex,
  uuid,
} from "drizzle-orm/pg-core";
import { users } from "./accounts.ts";
import { batches } from "./batches.ts";
import { images } from "./images.ts";
import { boards } from "./library.ts";

const at = (name: string) => timestamp(name, { withTimezone: true, precision: 3 });

/** An address that shows pictures to people without an account: server/links/index.ts. */
export const links = pgTable(
  "links",
  {
    id: uuid("id").primaryKey(),
    ownerId: text("owner_id")
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    /** SHA-256 of the token, which only the address has. */
    tokenHash: text("token_hash").notNull(),
    /** The batch whose results it shows; null for one with pictures of its own. */
    batchId: uuid("batch_id").references(() => batches.id, { onDelete: "cascade" }),
    /** The board whose pictures it shows, as they are at each visit; null for one without. */
    boardId: uuid("board_id").references(() => boards.id, { onDelete: "cascade" }),
    title: text("title").notNull().default(""),
    /** Null: until it is revoked. */
    endsAt: at("ends_at"),
    /** Null: the address is enough. */
    passwordHash: text("password_hash"),
    mayDownload: boolean("may_download").notNull().default(false),
    /** How often its page was opened. */
    views: integer("views").notNull().default(0),
    createdAt: at("created_at").notNull().defaultNow(),
    /** It can be taken back for `retention.undoDeleteMs`. */
    revokedAt: at("revoked_at"),
  },
  (table) => [
    uniqueIndex("links_token").on(table.tokenHash),
    index("links_owner").on(table.ownerId, table.id),
    index("links_batch").on(table.batchId),
    index("links_board").on(table.boardId),
  ],
);

/** The pictures of a link that names them one by one. */
export const linkImages = pgTable(
  "link_images",
  {
    linkId: uuid("link_id")
      .notNull()
      .references(() => links.id, { onDelete: "cascade" }),
    /** From 0. */
    position: smallint("position").notNull(),
    imageId: uuid("image_id")
      .notNull()
      .references(() => images.id, { onDelete: "cascade" }),
  },
  (table) => [
    primaryKey({ columns: [table.linkId, table.position] }),
    index("link_images_image").on(table.imageId),
  ],
);
