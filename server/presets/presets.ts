import { and, eq, inArray, isNull, ne, or, type SQL, sql } from "drizzle-orm";
import { z } from "zod";
import {
  ago,
  lockTopic,
  type PresetContents,
  type PresetType,
  schema,
  type StyleParts,
  type Tx,
} from "../db/index.ts";
import { AppError, isId, isStorable, jsonObject, newId } from "../platform/index.ts";
import { cleanName, searchForm } from "../images/index.ts";
import type { Services } from "../services.ts";
import { currentWords } from "../words.ts";
import { listName, parseTemplate, readLines, templateFault } from "./language.ts";
import { shippedLists, shippedStyles } from "./shipped.ts";

const { presets } = schema;

const limits = {
  ofOwner: 200,
  nameCharacters: 60,
  lines: 5_000,
  lineCharacters: 1_000,
  listCharacters: 200_000,
  charactersOfOwner: 2_000_000,
  partCharacters: 2_000,
  favouriteBytes: 32_768,
} as const;

const plain = (characters: number) =>
  z.string().trim().max(characters).refine(isStorable, "must be plain text");
const name = z.string().min(1).max(limits.nameCharacters);
/** The studio's are changed by admins alone. */
const common = { name, id: z.uuid().optional(), isStudio: z.boolean().default(false) };

export const savePresetSchema = z.discriminatedUnion("type", [
  z.strictObject({
    ...common,
    type: z.literal("list"),
    content: z.strictObject({
      lines: z
        .array(plain(limits.lineCharacters))
        .max(limits.lines)
        .transform((lines) => lines.filter((line) => line !== ""))
        .refine((lines) => lines.length > 0, "has no line")
        .refine((lines) => lines.join("").length <= limits.listCharacters, "is too long"),
    }),
  }),
  z.strictObject({
    ...common,
    type: z.literal("style"),
    content: z
      .strictObject({
        prompt: plain(limits.partCharacters),
        negativePrompt: plain(limits.partCharacters).default(""),
      })
      .refine(({ prompt, negativePrompt }) => prompt !== "" || negativePrompt !== "", "is empty"),
  }),
  z.strictObject({
    ...common,
    type: z.literal("favourite"),
    content: jsonObject(limits.favouriteBytes),
  }),
]);

type SavePreset = z.output<typeof savePresetSchema>;

interface Reader {
  readonly userId: string;
  readonly isAdmin?: boolean | undefined;
}

type Typed = {
  readonly [Type in PresetType]: { readonly type: Type; readonly content: PresetContents[Type] };
};

/** A preset as its readers see it. */
export type PresetView = Typed[PresetType] & {
  /** Null for one that every studio has. */
  readonly id: string | null;
  /** By which requests and prompts name it. */
  readonly name: string;
  /** What people read: the name, of a shipped one in their language. */
  readonly title: string;
  readonly from: "own" | "studio" | "shipped";
};

/** By type, one's own first, then the studio's and those that every studio has; each by the alphabet. */
export async function listPresets({ db }: Pick<Services, "db">, { userId }: Reader): Promise<PresetView[]> {
  const rows = await db
    .select()
    .from(presets)
    .where(and(or(eq(presets.ownerId, userId), isNull(presets.ownerId)), isNull(presets.removedAt)))
    .orderBy(presets.type, sql`${presets.ownerId} is null`, presets.key, presets.id);
  return [...rows.map(toView), ...shipped.map(withTitle)];
}

function withTitle(preset: PresetView): PresetView {
  const { t } = currentWords();
  const name = preset.name.toLowerCase().replaceAll(" ", "_");
  // Safe casts: a test asks for the title of each.
  const title =
    preset.type === "list" ? t(`shippedLists.${name as "mood"}`) : t(`shippedStyles.${name as "cinematic"}`);
  return { ...preset, title };
}

const shipped: readonly PresetView[] = [
  ...Object.entries(shippedLists).map(([name, lines]) => ({
    type: "list" as const,
    name,
    content: { lines },
  })),
  ...Object.entries(shippedStyles).map(([name, content]) => ({ type: "style" as const, name, content })),
].map((one) => ({ ...one, id: null, title: one.name, from: "shipped" as const }));

function toView({ id, ownerId, type, name, content }: typeof presets.$inferSelect): PresetView {
  // Safe cast: content is checked against its type when it is saved.
  return { id, name, title: name, from: ownerId === null ? "studio" : "own", type, content } as PresetView;
}

/** What this reader may change: one's own, and for admins the studio's. */
function changeable({ userId, isAdmin = false }: Reader, id: string): SQL | undefined {
  if (!isId(id)) throw new AppError("not_found");
  const own = eq(presets.ownerId, userId);
  return and(eq(presets.id, id), isAdmin ? or(own, isNull(presets.ownerId)) : own);
}

/**
 * Keeps words or settings under a name; with an id it changes those. Throws `bad_request` for a name that cannot be or too
 * many, `template_invalid`, `conflict` where the name is taken, `forbidden`, `not_found`.
 */
export async function savePreset(
  services: Pick<Services, "db">,
  { reader, ...input }: SavePreset & { readonly reader: Reader },
): Promise<PresetView> {
  if (input.isStudio && reader.isAdmin !== true)
    throw new AppError("forbidden", "Only an admin changes what the studio offers to all.");
  const { name, key } = nameOf(input);
  await checkContent(input);
  const ownerId = input.isStudio ? null : reader.userId;
  const id = input.id ?? newId();
  return services.db.transaction(async (tx) => {
    await lockTopic(tx, "presets", ownerId);
    await checkRoom(tx, { ownerId, id, type: input.type, key });
    const { type, content } = input;
    if (input.id === undefined) await tx.insert(presets).values({ id, ownerId, type, name, key, content });
    else await changeOne(tx, changeable(reader, id), { type, name, key, content, ownerId });
    const [row] = await tx.select().from(presets).where(eq(presets.id, id));
    if (!row) throw new AppError("not_found");
    return toView(row);
  });
}

async function changeOne(
  tx: Tx,
  which: SQL | undefined,
  { type, ...changes }: Omit<typeof presets.$inferInsert, "id">,
): Promise<void> {
  const changed = await tx
    .update(presets)
    .set(changes)
    .where(and(which, eq(presets.type, type), isNull(presets.removedAt)))
    .returning({ id: presets.id });
  if (changed.length === 0) throw new AppError("not_found");
}

function nameOf({ type, name }: Pick<SavePreset, "type" | "name">) {
  const cleaned = cleanName(name, limits.nameCharacters);
  if (type === "list" && !listName.test(cleaned.name))
    throw new AppError(
      "bad_request",
      "The name of a list has letters, digits, and between them - / _ or a space.",
    );
  return cleaned;
}

/** Parsed once here, so that a fault is told to who writes it and not to who uses it. */
async function checkContent(input: SavePreset): Promise<void> {
  if (input.type === "list") await readLines(input.content.lines);
  if (input.type === "style") checkStyle(input.content);
}

function checkStyle(parts: StyleParts): void {
  for (const text of [parts.prompt, parts.negativePrompt]) {
    const around = text.split(promptPlace);
    if (around.length > 2) throw templateFault("onePlace", { place: promptPlace });
    for (const part of around) parseTemplate(part);
  }
}

/** Where a style has what was written; a style without it is put behind. */
export const promptPlace = "{prompt}";

interface Kept {
  readonly ownerId: string | null;
  readonly id: string;
  readonly type: PresetType;
  readonly key: string;
}

const ownedBy = (ownerId: string | null) =>
  ownerId === null ? isNull(presets.ownerId) : eq(presets.ownerId, ownerId);

async function checkRoom(tx: Tx, { ownerId, id, type, key }: Kept): Promise<void> {
  const others = and(ownedBy(ownerId), eq(presets.type, type), ne(presets.id, id), isNull(presets.removedAt));
  if ((await tx.$count(presets, others)) >= limits.ofOwner)
    throw new AppError("bad_request", `You can keep ${limits.ofOwner} of these.`);
  const [kept] = await tx
    .select({ characters: sql<number>`coalesce(sum(length(${presets.content}::text)), 0)::int` })
    .from(presets)
    .where(and(ownedBy(ownerId), ne(presets.id, id)));
  if ((kept?.characters ?? 0) > limits.charactersOfOwner)
    throw new AppError(
      "bad_request",
      "Your lists, styles and favourites are too long together. Remove some.",
    );
  if ((await tx.$count(presets, and(others, eq(presets.key, key)))) > 0)
    throw new AppError("conflict", "One of this name is there already.");
}

interface OnePreset {
  readonly reader: Reader;
  readonly id: string;
}

/** `restorePreset` takes it back for a while. Throws `not_found`. */
export async function removePreset({ db }: Pick<Services, "db">, { reader, id }: OnePreset): Promise<void> {
  const removed = await db
    .update(presets)
    .set({ removedAt: sql`now()` })
    .where(and(changeable(reader, id), isNull(presets.removedAt)))
    .returning({ id: presets.id });
  if (removed.length === 0) throw new AppError("not_found");
}

/** Takes a removal back within `config.retention.undoDeleteMs`. Throws `not_found`, and `conflict` where its name is taken by now. */
export async function restorePreset(
  { db, config }: Pick<Services, "db" | "config">,
  { reader, id }: OnePreset,
): Promise<void> {
  const isRecent = sql`${presets.removedAt} > ${ago(config.retention.undoDeleteMs)}`;
  await db.transaction(async (tx) => {
    const [row] = await tx
      .select()
      .from(presets)
      .where(and(changeable(reader, id), isRecent));
    if (!row) throw new AppError("not_found");
    await lockTopic(tx, "presets", row.ownerId);
    await checkRoom(tx, row);
    await tx.update(presets).set({ removedAt: null }).where(eq(presets.id, id));
  });
}

/** A duty: removes those whose time for undo is over. Returns how many are gone. */
export async function purgePresets({ db, config }: Pick<Services, "db" | "config">): Promise<number> {
  const isOver = sql`${presets.removedAt} < ${ago(config.retention.undoDeleteMs)}`;
  const gone = await db.delete(presets).where(isOver).returning({ id: presets.id });
  return gone.length;
}

/** Those of these keys that a user can use, by key: one's own before the studio's. */
export async function findPresets<Type extends "list" | "style">(
  { db }: Pick<Services, "db">,
  { userId, type, keys }: { readonly userId: string; readonly type: Type; readonly keys: readonly string[] },
): Promise<Map<string, PresetContents[Type] & { readonly name: string }>> {
  const found = new Map<string, PresetContents[Type] & { readonly name: string }>();
  const take = (key: string, name: string, content: PresetContents[PresetType]) => {
    // Safe cast: the rows are of this type.
    if (!found.has(key)) found.set(key, { ...(content as PresetContents[Type]), name });
  };
  if (keys.length === 0) return found;
  const rows = await db
    .select()
    .from(presets)
    .where(
      and(
        or(eq(presets.ownerId, userId), isNull(presets.ownerId)),
        eq(presets.type, type),
        inArray(presets.key, [...keys]),
        isNull(presets.removedAt),
      ),
    )
    .orderBy(sql`${presets.ownerId} is null`);
  for (const { key, name, content } of rows) take(key, name, content);
  for (const one of shipped) {
    const key = keyOf(one.name);
    if (one.type === type && keys.includes(key)) take(key, one.name, one.content);
  }
  return found;
}

/** The form in which names of presets are compared. */
export function keyOf(name: string): string {
  return searchForm(name);
}
