import {
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  timestamp,
  uniqueIndex,
  uuid,
} from "drizzle-orm/pg-core";
import { users } from "./accounts.ts";
import { images } from "./images.ts";

const at = (name: string) => timestamp(name, { withTimezone: true, precision: 3 });

/** What the editor holds of one picture: server/edits/index.ts. */
export const edits = pgTable(
  "edits",
  {
    id: uuid("id").primaryKey(),
    ownerId: text("owner_id")
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    /** The picture that the edit began with. */
    imageId: uuid("image_id")
      .notNull()
      .references(() => images.id, { onDelete: "cascade" }),
    /** The pictures of the state's versions, by which an edit is found without reading states. */
    versionIds: uuid("version_ids").array().notNull(),
    /** As `editStateSchema` of server/edits/state.ts parsed it. */
    state: jsonb("state").notNull(),
    revision: integer("revision").notNull().default(1),
    /** The page that wrote this revision: a save whose answer was lost is no conflict with itself. */
    writer: text("writer").notNull(),
    createdAt: at("created_at").notNull().defaultNow(),
    updatedAt: at("updated_at").notNull().defaultNow(),
  },
  (table) => [
    uniqueIndex("edits_image").on(table.imageId),
    index("edits_owner").on(table.ownerId, table.updatedAt, table.id),
  ],
);

/** The mask pictures that a state names; they stay as long as it does. */
export const editMasks = pgTable(
  "edit_masks",
  {
    editId: uuid("edit_id")
      .notNull()
      .references(() => edits.id, { onDelete: "cascade" }),
    imageId: uuid("image_id")
      .notNull()
      .references(() => images.id, { onDelete: "cascade" }),
  },
  (table) => [
    primaryKey({ columns: [table.editId, table.imageId] }),
    index("edit_masks_image").on(table.imageId),
  ],
);
