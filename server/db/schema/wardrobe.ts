import { index, pgTable, text, timestamp, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import { users } from "./accounts.ts";
import { images } from "./images.ts";
import { jobs } from "./jobs.ts";

/** Garments and persons that a user keeps: server/wardrobe/index.ts. */
export const wardrobeItems = pgTable(
  "wardrobe_items",
  {
    id: uuid("id").primaryKey(),
    ownerId: text("owner_id")
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    imageId: uuid("image_id")
      .notNull()
      .references(() => images.id, { onDelete: "cascade" }),
    /** The job that cuts the garment out of its photo; its result is shown instead once it is there. */
    cutOutJobId: uuid("cut_out_job_id").references(() => jobs.id, { onDelete: "set null" }),
    what: text("what").$type<"garment" | "person">().notNull(),
    /** Of garments. */
    category: text("category").$type<"top" | "bottom" | "dress" | "outerwear" | "shoes" | "accessory">(),
    name: text("name").notNull().default(""),
    tags: text("tags").array().notNull(),
    /** Taken out, which can be taken back; the picture stays. */
    removedAt: timestamp("removed_at", { withTimezone: true, precision: 3 }),
    createdAt: timestamp("created_at", { withTimezone: true, precision: 3 }).notNull().defaultNow(),
  },
  (table) => [
    uniqueIndex("wardrobe_items_image").on(table.imageId),
    index("wardrobe_items_cut_out").on(table.cutOutJobId),
    index("wardrobe_items_owner").on(table.ownerId, table.createdAt, table.id),
  ],
);
