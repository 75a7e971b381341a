import { setImmediate as nextTurn } from "node:timers/promises";
import { and, eq, gt, isNull, sql } from "drizzle-orm";
import { type Db, schema } from "../db/index.ts";
import type { JobKind } from "../engines.ts";
import { normalized } from "../platform/index.ts";

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
  const folded = normalized(text.toWellFormed().replaceAll("\0", " "), "NFKC").toLowerCase();
  const letters = folded.replaceAll("ß", "ss").replaceAll("ς", "σ");
  return normalized(normalized(letters, "NFKD").replace(accents, ""), "NFC")
    .replace(unseen, "")
    .replaceAll(/[,;"“”„«»]/gu, " ")
    .replace(pictureExtension, "")
    .replaceAll(/\s+/gu, " ")
    .trim();
}

const apostrophes = ["'", "’", "‘", "ʼ"] as const;
const anyApostrophe = new RegExp(`[${apostrophes.join("")}]`, "gu");

/** The form of a name with one kind of apostrophe. */
export const plainSpelling = (form: string): string => form.replaceAll(anyApostrophe, apostrophes[0]);

/** The form of a name as it is, which may have several kinds of apostrophe, and with each kind alone. */
export function spellingsOf(form: string): string[] {
  const alike = apostrophes.map((apostrophe) => form.replaceAll(anyApostrophe, apostrophe));
  return [...new Set([form, ...alike])];
}

/** Letters that are one more of another alphabet, written as those write them who lack them; apostrophes are one. */
const plainLetters: Readonly<Record<string, string>> = {
  æ: "ae",
  œ: "oe",
  ø: "o",
  ł: "l",
  đ: "d",
  ð: "d",
  þ: "th",
  ħ: "h",
  ı: "i",
  "‘": "'",
  "’": "'",
  ʼ: "'",
};
const foldedLetters = new RegExp(`[${Object.keys(plainLetters).join("")}]`, "gu");
// Points of Hebrew and vowels of Arabic, which few write, hamza upon its letter, and the stroke that only makes words longer.
const unwritten = /\u0640|[\u0591-\u05BD\u05BF\u05C1\u05C2\u05C4\u05C5\u05C7\u064B-\u065F\u0670]/gu;

/** The form of texts and words: further from what was written than that of names, which tells tags and boards apart. */
export function textForm(text: string): string {
  const written = normalized(searchForm(text), "NFKD").replace(unwritten, "");
  return normalized(written, "NFC").replace(foldedLetters, (letter) => plainLetters[letter] ?? letter);
}

const firstLetters = 13;
const codeLetters = 5;

/**
 * A text of `searchForm` in ASCII alone, in which the trigrams of PostgreSQL find every script, whatever the locale of the
 * database: other characters are five capitals each, the first of A to M and the others of N to Z, so that a part of one
 * is never taken for another. Capitals mean nothing else, since the form has none.
 */
export function searchKey(form: string): string {
  return form.replaceAll(/[^\0-\x7F]/gu, (character) => {
    let [rest, code] = [character.codePointAt(0) ?? 0, ""];
    for (let place = 1; place < codeLetters; place += 1) {
      code = String.fromCodePoint(78 + (rest % firstLetters)) + code;
      rest = Math.floor(rest / firstLetters);
    }
    return String.fromCodePoint(65 + (rest % firstLetters)) + code;
  });
}

type Unfilled = Pick<
  typeof images.$inferSelect,
  "id" | "title" | "description" | "widthPx" | "heightPx" | "mime" | "createdAt"
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

function textOf({ title, description, widthPx, heightPx, mime, createdAt, job }: Unfilled): string {
  const day = createdAt.toISOString().slice(0, 10);
  const months = ["long", "short"] as const;
  const names = months.map((month) => createdAt.toLocaleString("en", { month, timeZone: "UTC" }));
  const size = `${widthPx} × ${heightPx} ${widthPx}x${heightPx}`;
  const own = [
    title,
    description,
    day,
    names.join(" "),
    createdAt.getUTCDate(),
    createdAt.getUTCFullYear(),
    size,
  ];
  const made = job === null ? ["upload"] : ["result", ...jobWords(job)];
  const words = [...own, mime.replace("image/", ""), ...made].join(" ");
  return (description === "" ? "" : withDescription) + searchKey(textForm(words.slice(0, maxTextCharacters)));
}

/** Begins the text of a picture with a description: a process of the version before, which knows none, leaves it out. */
const withDescription = "\u0001";

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
export function spaced(name: string): string {
  return name.replaceAll("_", " ").replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

const batchSize = 200;

/**
 * Fills the search texts that are missing: of new pictures, after a change of title or description, and of pictures of an
 * older version. Without an owner it does some of any, as a duty between other work.
 */
export async function fillSearchTexts(db: Db, ownerId?: string): Promise<void> {
  for (let batches = 1; (await fillBatch(db, ownerId)) === batchSize; batches += 1)
    if (ownerId === undefined && batches === batchesOfDuty) return;
}

const batchesOfDuty = 100;

/** The characters that are stored as others since `textForm` has folded them. */
function foldedCharacters(): string[] {
  const forms = Array.from({ length: lastFolded }, (_, code) => searchForm(String.fromCodePoint(code)));
  return [...new Set(forms)].filter((form) => form !== "" && textForm(form) !== form);
}

/** Behind it are only characters that `searchForm` itself writes as earlier ones, or that stay. */
const lastFolded = 0x21_00;

/**
 * Empties search texts of the form of before, which no search finds, and those that lack the description of their picture:
 * stored by an earlier version, also by one that still ran beside this one. `fillSearchTexts` fills them.
 */
export async function dropOldSearchTexts(db: Db): Promise<void> {
  const pattern = foldedCharacters().map(searchKey).join("|");
  const { id, description, searchKey: stored } = images;
  const isOld = sql`(${stored} ~ ${pattern} or ${description} <> '' and not starts_with(${stored}, ${withDescription}))`;
  for (let after: string | undefined; ;) {
    const rows = await db
      .select({ id })
      .from(images)
      .where(and(isOld, after === undefined ? undefined : gt(id, after)))
      .orderBy(id)
      .limit(batchSize);
    after = rows.at(-1)?.id;
    if (after === undefined) return;
    const ids = rows.map((row) => row.id);
    await db.execute(sql`update ${images} set search_key = null where id in (
      select id from ${images} where id in ${ids} and ${isOld} order by id for update)`);
  }
}

async function fillBatch(db: Db, ownerId: string | undefined): Promise<number> {
  const { id, title, description, widthPx, heightPx, mime, createdAt } = images;
  const { kind, params, engine, workflow, model, server } = jobs;
  const rows = await db
    .select({
      id,
      title,
      description,
      widthPx,
      heightPx,
      mime,
      createdAt,
      job: { kind, params, engine, workflow, model, server },
    })
    .from(images)
    .leftJoin(jobs, eq(jobs.id, images.jobId))
    .where(and(isNull(images.searchKey), ownerId === undefined ? undefined : eq(images.ownerId, ownerId)))
    .orderBy(images.ownerId, images.id)
    .limit(batchSize);
  if (rows.length === 0) return 0;
  const texts: (Pick<Unfilled, "id" | "title" | "description"> & { readonly text: string })[] = [];
  for (const row of rows) {
    texts.push({ id: row.id, title: row.title, description: row.description, text: textOf(row) });
    // Long texts of many pictures take a while, in which others have their turn.
    await nextTurn();
  }
  // What changed meanwhile is filled in the next round. Rows are locked in one order, beside other fillers.
  await db.execute(sql`
    with found as (
      select i.id, f.text
      from jsonb_to_recordset(${JSON.stringify(texts)}::jsonb) as f(id uuid, title text, description text, text text)
      join ${images} i on i.id = f.id and i.title = f.title and i.description = f.description
      where i.search_key is null order by i.id for update of i
    )
    update ${images} set search_key = found.text from found where ${images}.id = found.id`);
  return rows.length;
}
