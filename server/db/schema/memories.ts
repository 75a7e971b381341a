import { sql } from "drizzle-orm";
import {
  bigserial,
  boolean,
  customType,
  index,
  integer,
  pgTable,
  text,
  timestamp,
  uuid,
} from "drizzle-orm/pg-core";
import { users } from "./accounts.ts";

const at = (name: string) => timestamp(name, { withTimezone: true, precision: 3 });

/** One talk of a user with the assistant; a long silence begins another one in the memory, not here. */
export const assistantConversations = pgTable(
  "assistant_conversations",
  {
    id: uuid("id").primaryKey(),
    ownerId: text("owner_id")
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    /** The beginning of the first question, or what the owner calls it. */
    title: text("title"),
    /** When its owner pinned it to the top of the list. */
    pinnedAt: at("pinned_at"),
    createdAt: at("created_at")
      .notNull()
      .default(sql`clock_timestamp()`),
    lastAt: at("last_at")
      .notNull()
      .default(sql`clock_timestamp()`),
  },
  (table) => [
    index("assistant_conversations_owner").on(table.ownerId, table.lastAt),
    index("assistant_conversations_words").using(
      "gin",
      sql`recall_words(recall_terms(${table.ownerId}, ${table.title}))`,
    ),
  ],
);

/** The log of all talks: what users and the assistant said. */
export const assistantMessages = pgTable(
  "assistant_messages",
  {
    id: uuid("id").primaryKey(),
    conversationId: uuid("conversation_id")
      .notNull()
      .references(() => assistantConversations.id, { onDelete: "cascade" }),
    ownerId: text("owner_id")
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    role: text("role").$type<"user" | "assistant">().notNull(),
    /** Who spoke, where it is not the user; of imported talks only. */
    speaker: text("speaker"),
    text: text("text").notNull(),
    /** False for answers that used pictures, files or tools: their words may come from others. */
    isRecalled: boolean("is_recalled").notNull().default(true),
    at: at("at")
      .notNull()
      .default(sql`clock_timestamp()`),
    runId: uuid("run_id"),
    /** Pictures of the owner that were given with a question; they may be gone by now. */
    imageIds: uuid("image_ids")
      .array()
      .notNull()
      .default(sql`'{}'`),
    /** Who was to see them, as the page said before they were given (`pictureRecipient`); null: nobody. */
    imagesTo: text("images_to"),
    /** Set when a memory holds the message, or none is made of it. */
    archivedAt: at("archived_at"),
    /** Stems of its words, each behind its owner, so that a search reads nothing of other users. */
    terms: text("terms")
      .array()
      .notNull()
      .generatedAlwaysAs(sql`recall_terms(owner_id, text)`),
  },
  (table) => [
    index("assistant_messages_owner").on(table.ownerId, table.at),
    index("assistant_messages_conversation").on(table.conversationId, table.at),
    index("assistant_messages_terms").using("gin", table.terms).with({ fastupdate: false }),
    // As above, for beginnings of words.
    index("assistant_messages_words")
      .using("gin", sql`recall_words(${table.terms})`)
      .with({ fastupdate: false }),
    index("assistant_messages_speaker")
      .on(table.ownerId, sql`lower(${table.speaker})`)
      .where(sql`${table.speaker} is not null`),
    index("assistant_messages_unarchived")
      .on(table.at)
      .where(sql`${table.archivedAt} is null`),
  ],
);

/** What the assistant remembers: a summary of a part of a talk, or a sentence that the user wrote. */
export const memories = pgTable(
  "memories",
  {
    id: uuid("id").primaryKey(),
    ownerId: text("owner_id")
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    conversationId: uuid("conversation_id").references(() => assistantConversations.id, {
      onDelete: "set null",
    }),
    summary: text("summary").notNull(),
    tags: text("tags").array().notNull(),
    periodStart: at("period_start").notNull(),
    periodEnd: at("period_end").notNull(),
    /** The messages that it was made from. */
    sourceIds: uuid("source_ids").array().notNull(),
    origin: text("origin").$type<"archive" | "user">().notNull(),
    createdAt: at("created_at")
      .notNull()
      .default(sql`clock_timestamp()`),
    updatedAt: at("updated_at")
      .notNull()
      .default(sql`clock_timestamp()`),
    terms: text("terms")
      .array()
      .notNull()
      .generatedAlwaysAs(sql`recall_terms(owner_id, summary, tags)`),
  },
  (table) => [
    index("memories_owner").on(table.ownerId, table.periodEnd),
    index("memories_terms").using("gin", table.terms).with({ fastupdate: false }),
  ],
);

const bytes = customType<{ data: string }>({ dataType: () => "bytea" });

/**
 * What messages and memories mean, as vectors of an embedding model, when one is set up. Triggers of both tables remove the
 * vector of a row that is deleted, changed or recalled no more. Made again where they are missing, so no backup has them.
 */
export const recallVectors = pgTable(
  "recall_vectors",
  {
    /** Id of the message, the memory or the picture. */
    id: uuid("id").primaryKey(),
    ownerId: text("owner_id")
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    kind: text("kind").$type<"memory" | "message" | "picture">().notNull(),
    /** The model with what changes its vectors: vectors of different models cannot be compared. */
    model: text("model").notNull(),
    /** 0 for a text that the model cannot embed. */
    dimensions: integer("dimensions").notNull(),
    /** One signed byte for each dimension. */
    codes: bytes("codes").notNull(),
    /** The times of the message or the memory. */
    fromAt: at("from_at").notNull(),
    toAt: at("to_at").notNull(),
    /** Grows with each commit of an owner's vectors, so that a process finds what it has not read yet. */
    revision: bigserial("revision", { mode: "number" }).notNull(),
  },
  (table) => [index("recall_vectors_owner").on(table.ownerId, table.model, table.revision)],
);
