import { and, eq, gte, inArray, isNull, lte, ne, sql, type SQL } from "drizzle-orm";
import type { AnyPgColumn } from "drizzle-orm/pg-core";
import { type Db, schema } from "../db/index.ts";
import type { JobKind } from "../engines.ts";
import type { Services } from "../services.ts";

const { images, jobs } = schema;

// Combining marks of Latin, Greek and Cyrillic: accents do not count. Marks of other scripts are letters there.
const accents = /[\u0300-\u036F]/g;
// Signs that are not seen: how an emoji is drawn, soft hyphens, marks of direction, joiners.
const unseen = /[\uFE0E\uFE0F\u00AD\u200B-\u200F\u2060\uFEFF]/g;
const pictureExtension = /\.(?:jpe?g|png|webp|avif|hei[cf]|gif|tiff?)(?=\s|$)/g;

/**
 * The form in which texts of pictures are stored for search and words are looked up: one spelling for case, composed and
 * decomposed letters, accents, full and half width, and joined emoji. Names of files lose their extension.
 */
export function searchForm(text: string): string {
  const folded = text.toWellFormed().replaceAll("\0", " ").normalize("NFKC").toLowerCase();
  const plain = folded.replaceAll("ß", "ss").replaceAll("ς", "σ").normalize("NFKD").replace(accents, "");
  return plain
    .normalize("NFC")
    .replace(unseen, "")
    .replaceAll(/[,;"“”„«»]/gu, " ")
    .replace(pictureExtension, "")
    .replaceAll(/\s+/gu, " ")
    .trim();
}

const maxWords = 12;

/** The words of a search in the form of `searchForm`; a text in quotes is not kept together. */
function wordsOf(texts: readonly string[]): string[] {
  const words = texts.flatMap((text) => searchForm(text).split(" ")).filter((word) => word !== "");
  return [...new Set(words)].slice(0, maxWords);
}

/** `images`, or an alias of it. */
type Searched = Readonly<Record<"searchText", AnyPgColumn>>;

/** Conditions, one for each word. `%` and `_` stand for themselves. */
function conditionsOf(texts: readonly string[], searched: Searched = images): SQL[] {
  return wordsOf(texts).map((word) => {
    const pattern = `%${word.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`;
    return sql`${searched.searchText} like ${pattern}`;
  });
}

/** Condition of a list: every word is found. Call `fillSearchTexts` before; undefined for a search without words. */
export function matchesAll(search: string, searched: Searched = images): SQL | undefined {
  return and(...conditionsOf([search], searched));
}

export interface SearchInput {
  readonly ownerId: string;
  /** Any of them; without one the newest pictures are found. */
  readonly words: readonly string[];
  readonly kind?: JobKind | undefined;
  readonly from?: Date | null | undefined;
  readonly to?: Date | null | undefined;
  readonly limit: number;
}

/** A picture with the words that it was found by. */
export interface FoundImage {
  readonly id: string;
  readonly title: string;
  readonly role: "upload" | "result";
  readonly kind: JobKind | null;
  readonly prompt: string | null;
  readonly jobId: string | null;
  readonly createdAt: Date;
}

/** An owner's pictures that match most words first, newest first among equals; masks and deleted ones never. */
export async function searchImages(
  { db }: Pick<Services, "db">,
  { ownerId, words, kind, from, to, limit }: SearchInput,
): Promise<FoundImage[]> {
  await fillSearchTexts(db, ownerId);
  const hits = conditionsOf(words).map((condition) => sql`(${condition})::int`);
  const matches = hits.length > 0 ? sql.join(hits, sql` + `) : sql`1`;
  // Without a kind the planner leaves the join out, and facts are read of the few pictures that are shown.
  const found = await db
    .select({ id: images.id })
    .from(images)
    .leftJoin(jobs, eq(jobs.id, images.jobId))
    .where(
      and(
        eq(images.ownerId, ownerId),
        isNull(images.deletedAt),
        ne(images.role, "mask"),
        kind && eq(jobs.kind, kind),
        from ? gte(images.createdAt, from) : undefined,
        to ? lte(images.createdAt, to) : undefined,
        sql`${matches} > 0`,
      ),
    )
    .orderBy(sql`${matches} desc`, sql`${images.id} desc`)
    .limit(limit);
  return readFound(
    db,
    found.map(({ id }) => id),
  );
}

/** Facts of pictures, in the order of the ids. */
async function readFound(db: Db, ids: readonly string[]): Promise<FoundImage[]> {
  if (ids.length === 0) return [];
  const { id, title, role, jobId, createdAt } = images;
  const prompt = sql<string | null>`${jobs.params} ->> 'prompt'`;
  const rows = await db
    .select({ id, title, role, kind: jobs.kind, prompt, jobId, createdAt })
    .from(images)
    .leftJoin(jobs, eq(jobs.id, images.jobId))
    .where(inArray(images.id, [...ids]));
  const placeOf = new Map(ids.map((each, place) => [each, place]));
  return rows
    .toSorted((a, b) => (placeOf.get(a.id) ?? 0) - (placeOf.get(b.id) ?? 0))
    .map((row) => ({ ...row, role: row.role === "upload" ? "upload" : "result" }));
}

type Unfilled = Pick<
  typeof images.$inferSelect,
  "id" | "title" | "widthPx" | "heightPx" | "mime" | "createdAt"
> & {
  readonly job: Pick<
    typeof jobs.$inferSelect,
    "kind" | "params" | "engine" | "workflow" | "model" | "server"
  > | null;
};

/** What the pages call a kind, beside its own name. */
const kindWords: Partial<Record<JobKind, string>> = {
  outfit_change: "try-on clothes garment",
  edit: "edit with a prompt",
  remove_background: "cut out",
  segment: "select by click",
  adjust: "light colours",
  crop: "straighten rotate mirror",
  restore: "paint the original back",
  expand: "expand outpaint",
};

function textOf({ title, widthPx, heightPx, mime, createdAt, job }: Unfilled): string {
  const day = createdAt.toISOString().slice(0, 10);
  const months = ["long", "short"] as const;
  const names = months.map((month) => createdAt.toLocaleString("en", { month, timeZone: "UTC" }));
  const size = `${widthPx} × ${heightPx} ${widthPx}x${heightPx}`;
  const own = [title, day, names.join(" "), createdAt.getUTCDate(), createdAt.getUTCFullYear(), size];
  const made = job === null ? ["upload"] : ["result", ...jobWords(job)];
  return searchForm([...own, mime.replace("image/", ""), ...made].join(" ").slice(0, maxTextCharacters));
}

const maxTextCharacters = 12_000;

function jobWords({ kind, params, engine, workflow, model, server }: NonNullable<Unfilled["job"]>): string[] {
  const settings = Object.entries(params)
    .filter(([, value]) => ["string", "number"].includes(typeof value))
    .map(([name, value]) => (name === "prompt" ? String(value) : `${spaced(name)} ${String(value)}`));
  const inpaint = typeof params["prompt"] === "string" ? "replace with prompt" : "remove object";
  const named = kind === "inpaint" ? inpaint : (kindWords[kind] ?? "");
  return [...settings, spaced(kind), named, engine, workflow ?? "", model ?? "", server ?? ""];
}

/** `negativePrompt` and `text_to_image` as words. */
function spaced(name: string): string {
  return name.replaceAll("_", " ").replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

const batchSize = 1_000;

/**
 * Fills the search texts that are missing: of new pictures, after a change of a title, and of pictures of an older version.
 * Without an owner it does some of any, as a duty between other work.
 */
export async function fillSearchTexts(db: Db, ownerId?: string): Promise<void> {
  for (let batches = 1; (await fillBatch(db, ownerId)) === batchSize; batches += 1)
    if (ownerId === undefined && batches === batchesOfDuty) return;
}

const batchesOfDuty = 20;

async function fillBatch(db: Db, ownerId: string | undefined): Promise<number> {
  const { id, title, widthPx, heightPx, mime, createdAt } = images;
  const { kind, params, engine, workflow, model, server } = jobs;
  const rows = await db
    .select({
      id,
      title,
      widthPx,
      heightPx,
      mime,
      createdAt,
      job: { kind, params, engine, workflow, model, server },
    })
    .from(images)
    .leftJoin(jobs, eq(jobs.id, images.jobId))
    .where(and(isNull(images.searchText), ownerId === undefined ? undefined : eq(images.ownerId, ownerId)))
    .orderBy(images.ownerId, images.id)
    .limit(batchSize);
  if (rows.length === 0) return 0;
  const texts = rows.map((row) => ({ id: row.id, title: row.title, text: textOf(row) }));
  // A title that changed meanwhile is filled in the next round. Rows are locked in one order, beside other fillers.
  await db.execute(sql`
    with found as (
      select i.id, f.text from jsonb_to_recordset(${JSON.stringify(texts)}::jsonb) as f(id uuid, title text, text text)
      join ${images} i on i.id = f.id and i.title = f.title
      where i.search_text is null order by i.id for update of i
    )
    update ${images} set search_text = found.text from found where ${images}.id = found.id`);
  return rows.length;
}
