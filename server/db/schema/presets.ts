import { sql } from "drizzle-orm";
import { index, jsonb, pgTable, text, timestamp, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import { users } from "./accounts.ts";

const at = (name: string) => timestamp(name, { withTimezone: true, precision: 3 });

/** The parts of a style: each has a place `{prompt}`, or is put behind what was written. */
export interface StyleParts {
  readonly prompt: string;
  readonly negativePrompt: string;
}

/** What a preset holds, by its type. */
export interface PresetContents {
  /** A list of words, one a line, which a prompt names as `__name__`. */
  readonly list: { readonly lines: readonly string[] };
  readonly style: StyleParts;
  /** The settings of a form, as the page keeps them. */
  readonly favourite: Readonly<Record<string, unknown>>;
}

export type PresetType = keyof PresetContents;

/** Words and settings that are kept under a name, to be used again. */
export const presets = pgTable(
  "presets",
  {
    id: uuid("id").primaryKey(),
    /** Null: it is the studio's, for all its users. */
    ownerId: text("owner_id").references(() => users.id, { onDelete: "cascade" }),
    type: text("type").$type<PresetType>().notNull(),
    name: text("name").notNull(),
    /** The name as it is compared. */
    key: text("key").notNull(),
    content: jsonb("content").$type<PresetContents[PresetType]>().notNull(),
    /** It can be taken back for `retention.undoDeleteMs`. */
    removedAt: at("removed_at"),
    createdAt: at("created_at").notNull().defaultNow(),
  },
  (table) => [
    uniqueIndex("presets_name")
      .on(sql`coalesce(${table.ownerId}, '')`, table.type, table.key)
      .where(sql`${table.removedAt} is null`),
    index("presets_owner").on(table.ownerId),
  ],
);

/** What a prompt was made from: as it was written, what was drawn, and the styles as they were then. */
export interface PromptTemplate {
  readonly prompt: string | null;
  readonly negativePrompt: string | null;
  /** After lists and choices, before the styles. */
  readonly drawn: { readonly prompt: string | null; readonly negativePrompt: string | null };
  /** Draws the same again; null where nothing was drawn. */
  readonly seed: number | null;
  readonly styles: readonly (StyleParts & { readonly name: string })[];
}
