import { sql } from "drizzle-orm";
import {
  bigint,
  boolean,
  check,
  date,
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

export type ImageRole = "upload" | "result" | "mask";

/** Where the description of a picture comes from: its file, a model that looked at it, or its owner. */
export type DescribedBy = "file" | "model" | "owner";

/** A stored picture: the original, a 1,280 px preview and a 320 px thumbnail under one key prefix. */
export const images = pgTable(
  "images",
  {
    id: uuid("id").primaryKey(),
    ownerId: text("owner_id")
      .notNull()
      .references(() => users.id, { onDelete: "restrict" }),
    role: text("role").$type<ImageRole>().notNull(),
    /** Key prefix of its objects: `users/<owner>/<image>` or `jobs/<job>/<attempt>`. */
    storageKey: text("storage_key").notNull().unique(),
    /** SHA-256 of the uploaded bytes (and of a text that keeps the upload apart); null for results. */
    uploadSha256: text("upload_sha256"),
    /** SHA-256 of the stored original. */
    storedSha256: text("stored_sha256").notNull(),
    mime: text("mime").notNull(),
    widthPx: integer("width_px").notNull(),
    heightPx: integer("height_px").notNull(),
    sizeBytes: bigint("size_bytes", { mode: "number" }).notNull(),
    /** Base64 of the thumbhash. */
    thumbhash: text("thumbhash").notNull(),
    /** The job that made it; no foreign key, since the picture outlives the job. */
    jobId: uuid("job_id"),
    /**
     * Set by the trigger `put_on_stack` for a result: the first picture of those that it was made of, else its batch. A picture
     * without one is a stack of its own, so that its stack is `coalesce(stack_id, id)`.
     */
    stackId: uuid("stack_id"),
    /** When its owner chose it to show its stack; of several chosen ones the last shows it, of none the newest. */
    toppedAt: timestamp("topped_at", { withTimezone: true }),
    /** A result in which no AI had a part: an upload that was adjusted, cropped or restored. */
    nothingGenerated: boolean("nothing_generated").notNull().default(false),
    /** An upload that was copied from a picture in which AI had a part, which another user made. */
    copyOfAi: boolean("copy_of_ai").notNull().default(false),
    title: text("title").notNull().default(""),
    /** What it shows or was made of, in words; also of several lines. */
    description: text("description").notNull().default(""),
    /** Null: nobody has described it yet. An owner who empties the description keeps it empty. */
    describedBy: text("described_by").$type<DescribedBy>(),
    /** What the version before searched by; this one fills \`searchKey\`. */
    searchText: text("search_text"),
    /** What it is searched by, in the form of \`searchKey\`; null until it is filled, and again after a change of title or description. */
    searchKey: text("search_key"),
    /** 1 to 5, or 0 for none. */
    rating: smallint("rating").notNull().default(0),
    starred: boolean("starred").notNull().default(false),
    /** Where it stands in the gallery: when it was made, of a photo whose file says so when it was taken. */
    createdAt: timestamp("created_at", { withTimezone: true }).notNull().defaultNow(),
    /** When it was added, of a photo that stands at another time; null: \`createdAt\` is both. */
    addedAt: timestamp("added_at", { withTimezone: true }),
    /** Where it stood before its owner gave it another time; null: none was given. */
    undatedAt: timestamp("undated_at", { withTimezone: true }),
    deletedAt: timestamp("deleted_at", { withTimezone: true }),
  },
  (table) => [
    uniqueIndex("images_same_bytes")
      .on(table.ownerId, table.role, table.uploadSha256)
      .where(sql`${table.deletedAt} is null`),
    index("images_gallery")
      .on(table.ownerId, table.id)
      .where(sql`${table.deletedAt} is null`),
    index("images_stack")
      .on(table.ownerId, sql`coalesce(${table.stackId}, ${table.id})`, table.id)
      .where(sql`${table.deletedAt} is null`),
    index("images_deleted")
      .on(table.deletedAt)
      .where(sql`${table.deletedAt} is not null`),
    index("images_job").on(table.jobId),
    index("images_made")
      .on(table.ownerId, table.createdAt, table.id)
      .where(sql`${table.deletedAt} is null`),
    index("images_trash")
      .on(table.ownerId, table.createdAt, table.id)
      .where(sql`${table.deletedAt} is not null`),
    index("images_starred")
      .on(table.ownerId, table.createdAt)
      .where(sql`${table.starred} and ${table.deletedAt} is null`),
    index("images_rated")
      .on(table.ownerId, table.rating)
      .where(sql`${table.rating} > 0 and ${table.deletedAt} is null`),
    index("images_best")
      .on(table.ownerId, table.rating, table.createdAt, table.id)
      .where(sql`${table.deletedAt} is null`),
    index("images_largest")
      .on(table.ownerId, table.sizeBytes, table.id)
      .where(sql`${table.deletedAt} is null`),
    index("images_longer_side")
      .on(table.ownerId, sql`greatest(${table.widthPx}, ${table.heightPx})`)
      .where(sql`${table.deletedAt} is null`),
    // By the number of the watermark, which is these digits.
    index("images_mark")
      .on(sql`left(md5(${table.id}::text), 8)`)
      .where(sql`${table.role} = 'result'`),
    // The migration that made it also makes `images_found`, for parts of \`search_key\`, where the extensions are.
    index("images_unkeyed")
      .on(table.ownerId, table.id)
      .where(sql`${table.searchKey} is null`),
    index("images_unfilled_search")
      .on(table.ownerId, table.id)
      .where(sql`${table.searchText} is null`),
    check("images_rating", sql`${table.rating} between 0 and 5`),
    check("images_title_length", sql`char_length(${table.title}) <= 120`),
    check("images_description_length", sql`char_length(${table.description}) <= 2000`),
    check("images_described_by", sql`${table.describedBy} in ('file', 'model', 'owner')`),
  ],
);

/** Pictures that a model could not describe so far; a new model begins anew with them. */
export const descriptionTries = pgTable("description_tries", {
  imageId: uuid("image_id")
    .primaryKey()
    .references(() => images.id, { onDelete: "cascade" }),
  model: text("model").notNull(),
  /** Failures of the picture; a server that is away counts none. */
  tries: smallint("tries").notNull(),
  /** It is not tried again before. */
  dueAt: timestamp("due_at", { withTimezone: true }).notNull(),
});

/** An upload that goes to the image store without passing through the studio, until an hour after it was begun. */
export const directUploads = pgTable(
  "direct_uploads",
  {
    id: uuid("id").primaryKey(),
    ownerId: text("owner_id")
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    role: text("role").$type<"upload" | "mask">().notNull(),
    /** As sent; only used, cleaned, as the title. */
    name: text("name").notNull(),
    /** Announced, and checked when it has arrived. */
    mime: text("mime").notNull(),
    sizeBytes: integer("size_bytes").notNull(),
    sha256: text("sha256"),
    /** The image that it became. */
    imageId: uuid("image_id"),
    /** Given up by its owner; kept while a signed link may still put a file into the bucket. */
    givenUpAt: timestamp("given_up_at", { withTimezone: true }),
    createdAt: timestamp("created_at", { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [
    index("direct_uploads_owner").on(table.ownerId),
    index("direct_uploads_created").on(table.createdAt),
    check("direct_uploads_name_length", sql`char_length(${table.name}) <= 300`),
  ],
);

/**
 * Stacks whose newest picture may be another one since the months of their owner were counted; several rows may name one. The
 * trigger `images_note_stack` adds them, and `server/images/timeline.ts` takes them away.
 */
export const stackChanges = pgTable(
  "stack_changes",
  {
    id: uuid("id").primaryKey().defaultRandom(),
    ownerId: text("owner_id")
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    stackId: uuid("stack_id").notNull(),
  },
  (table) => [index("stack_changes_owner").on(table.ownerId)],
);

/** The month of UTC, by its first day, in which a stack was counted: that of its newest picture. */
export const stackMonths = pgTable(
  "stack_months",
  {
    ownerId: text("owner_id")
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    stackId: uuid("stack_id").notNull(),
    month: date("month").notNull(),
  },
  (table) => [primaryKey({ columns: [table.ownerId, table.stackId] })],
);

/** The sums of `stackMonths`; an owner without a row was not counted yet. */
export const monthCounts = pgTable(
  "month_counts",
  {
    ownerId: text("owner_id")
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    month: date("month").notNull(),
    pictures: integer("pictures").notNull(),
  },
  (table) => [primaryKey({ columns: [table.ownerId, table.month] })],
);
