import { and, eq, gte, inArray, isNotNull, isNull, lt, not, or, sql, type SQL } from "drizzle-orm";
import type { AnyPgColumn } from "drizzle-orm/pg-core";
import { schema } from "../db/index.ts";
import type { JobKind } from "../engines.ts";
import { AppError } from "../platform/index.ts";
import type { Nearness } from "./near.ts";
import { type Filter, parseSearch, type PictureFlag, type SearchTerm } from "./query.ts";
import { searchForm, searchKey, spaced, spellingsOf, textForm } from "./search-text.ts";

const {
  batches,
  batchJobs,
  boardImages,
  boardMembers,
  boards,
  imageTags,
  jobs,
  jobOutputs,
  linkImages,
  links,
  tags,
} = schema;

/** `images`, or an alias of it. */
export type Searched = Readonly<
  Record<
    | "createdAt"
    | "deletedAt"
    | "heightPx"
    | "id"
    | "jobId"
    | "ownerId"
    | "rating"
    | "role"
    | "searchKey"
    | "stackId"
    | "starred"
    | "toppedAt"
    | "widthPx",
    AnyPgColumn
  >
>;

/** Whether the text of a picture has this part, given in the form of `textForm`. `%` and `_` stand for themselves. */
export function contains(searched: Searched, form: string): SQL {
  const key = searchKey(form);
  const pattern = `%${key.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`;
  const isPart = sql`${searched.searchKey} like ${pattern}`;
  return isPair.test(key) ? sql`(${isPart} and ${searched.searchKey} ~ ${pairPattern(key)})` : isPart;
}

const isPair = /^[\da-z]{2}$/;

/**
 * The same as `like` of two letters, which have no trigram that the index could look up, said in a way from which PostgreSQL takes
 * the trigrams of what may stand beside them. Texts are ASCII.
 */
function pairPattern(pair: string): string {
  const [letter, other] = ["[0-9A-Za-z]", String.raw`[\x01-\x2F\x3A-\x40\x5B-\x60\x7B-\x7F]`];
  return `${pair}${letter}|${letter}${pair}|(^|${other})${pair}(${other}|$)`;
}

/** What a search asks of each picture, read once and asked of `images` or an alias of it. */
export type Conditions = (searched: Searched) => SQL[];

/**
 * The conditions of a search: `parseSearch` has its language. Throws `bad_request` for an operator with a value that it does
 * not take. Call `fillSearchTexts` before.
 */
export function conditionsOf(
  search: string,
  { ownerId, timezone }: { readonly ownerId: string; readonly timezone?: string | undefined },
): Conditions {
  const terms = checkSearch(search, timezone);
  return (searched) =>
    terms
      .map((term) => termCondition(term, { searched, ownerId }))
      .filter((condition) => condition !== undefined);
}

/** The terms of a search. Throws `bad_request` for an operator with a value that it does not take. */
export function checkSearch(search: string, timezone?: string): SearchTerm[] {
  const terms = parseSearch(search, timezone);
  const wrong = terms.find(({ meaning }) => "wrong" in meaning);
  if (wrong) throw new AppError("bad_request", `The search cannot be read at "${wrong.source}".`);
  return terms;
}

/** What is asked, and whose pictures, tags and boards are meant. */
interface Asked {
  readonly searched: Searched;
  readonly ownerId: string;
}

export function termCondition({ meaning, isNot }: SearchTerm, asked: Asked): SQL | undefined {
  const condition = conditionOf(meaning, asked);
  return condition && isNot ? not(condition) : condition;
}

/** What pictures shall be near to in meaning; null when a search says nothing of it. */
export function nearnessOf(search: string): Nearness | null {
  for (const { meaning, isNot } of parseSearch(search)) {
    if (isNot || !("name" in meaning)) continue;
    if (meaning.name === "near") return { text: meaning.text };
    if (meaning.name === "similar") return { imageId: meaning.imageId };
  }
  return null;
}

/** Whether removed pictures are asked for, which all other lists leave out. */
export function asksForTrash(search: string): boolean {
  return parseSearch(search).some(
    ({ meaning, isNot }) =>
      !isNot && "name" in meaning && meaning.name === "is" && meaning.flag === "trashed",
  );
}

function conditionOf(meaning: SearchTerm["meaning"], asked: Asked): SQL | undefined {
  const { searched } = asked;
  if ("wrong" in meaning) return undefined;
  if ("words" in meaning) {
    const form = textForm(meaning.words);
    const parts = meaning.isPhrase ? [form] : form.split(" ");
    return and(...parts.filter((part) => part !== "").map((part) => contains(searched, part)));
  }
  if (meaning.name === "kind") return or(...meaning.kinds.map((kind) => kindCondition(searched, kind)));
  if (meaning.name === "model") return modelCondition(searched, textForm(meaning.text));
  if (meaning.name === "seed") return seedCondition(searched, meaning.text);
  // Asked before: `findNear` has the pictures, and the list its order.
  if (meaning.name === "near" || meaning.name === "similar" || meaning.name === "order") return undefined;
  return pictureCondition(meaning, asked);
}

function seedCondition(searched: Searched, seed: string): SQL | undefined {
  return and(contains(searched, `seed ${seed}`), isOfJob(searched, sql`${jobs.params} ->> 'seed' = ${seed}`));
}

type PictureFilter = Exclude<
  Filter,
  { readonly name: "kind" | "model" | "near" | "order" | "seed" | "similar" }
>;

function pictureCondition(filter: PictureFilter, asked: Asked): SQL | undefined {
  const { searched } = asked;
  switch (filter.name) {
    case "board":
      return boardCondition(asked, filter.text);
    case "tag":
      return tagCondition(asked, filter.text);
    case "is":
      return flagConditions[filter.flag](searched);
    case "rating":
      return and(
        (filter.range.least ?? 0) > 0 ? sql`${searched.rating} > 0` : undefined,
        rangeCondition(sql`${searched.rating}`, filter.range),
      );
    case "size":
      return rangeCondition(sql`greatest(${searched.widthPx}, ${searched.heightPx})`, filter.range);
    case "exactSize":
      return and(eq(searched.widthPx, filter.widthPx), eq(searched.heightPx, filter.heightPx));
    case "from":
      return gte(searched.createdAt, filter.at);
    case "to":
      return lt(searched.createdAt, filter.at);
  }
}

/** The text of a picture names its kind, which an index finds; the job says whether it is meant. */
export function kindCondition(searched: Searched, kind: JobKind): SQL | undefined {
  return and(contains(searched, spaced(kind)), isOfJob(searched, eq(jobs.kind, kind)));
}

/** A value and not a join, so that it is asked last, of the pictures that all else lets through. */
function isOfJob(searched: Searched, condition: SQL | undefined): SQL {
  return sql`coalesce((select ${condition} from ${jobs} where ${jobs.id} = ${searched.jobId}), false)`;
}

/** Of a model, a workflow or a checkpoint whose name has this part. */
function modelCondition(searched: Searched, form: string): SQL | undefined {
  if (form === "") return undefined;
  const name = sql`lower(concat_ws(' ', ${jobs.model}, ${jobs.workflow}, ${jobs.params} ->> 'checkpoint'))`;
  return and(contains(searched, form), isOfJob(searched, sql`strpos(${name}, ${form}) > 0`));
}

function tagCondition({ searched, ownerId }: Asked, name: string | null): SQL {
  const ofPicture = sql`select ${imageTags.imageId} from ${imageTags} join ${tags} on ${tags.id} = ${imageTags.tagId}`;
  if (name === null) return sql`not exists (${ofPicture} where ${imageTags.imageId} = ${searched.id})`;
  return sql`${searched.id} in (${ofPicture} where ${tags.ownerId} = ${ownerId} and ${inArray(tags.key, spellingsOf(searchForm(name)))})`;
}

/** On a board of the owner of the picture. */
function boardCondition({ searched, ownerId }: Asked, name: string | null): SQL {
  const onBoard = sql`select ${boardImages.imageId} from ${boardImages} join ${boards} on ${boards.id} = ${boardImages.boardId}
    where ${isNull(boards.removedAt)}`;
  if (name === null) return sql`not exists (${onBoard} and ${boardImages.imageId} = ${searched.id})`;
  return sql`${searched.id} in (${onBoard} and ${boards.ownerId} = ${ownerId} and ${inArray(boards.key, spellingsOf(searchForm(name)))})`;
}

const isValid = sql`${links.revokedAt} is null and (${links.endsAt} is null or ${links.endsAt} > now())`;

// Without a parameter, so that the indexes of a part of the pictures are known to serve.
const flagConditions: Readonly<Record<PictureFlag, (searched: Searched) => SQL>> = {
  starred: ({ starred }) => sql`${starred}`,
  result: ({ role }) => eq(role, "result"),
  upload: ({ role }) => eq(role, "upload"),
  trashed: ({ deletedAt }) => isNotNull(deletedAt),
  // Read once and not for each picture: few are shared.
  shared: ({ id }) =>
    sql`${id} in (select ${linkImages.imageId} from ${linkImages} join ${links} on ${links.id} = ${linkImages.linkId} where ${isValid}
      union select ${jobOutputs.imageId} from ${links} join ${batches} on ${batches.id} = ${links.batchId} and ${batches.deletedAt} is null
        join ${batchJobs} on ${batchJobs.batchId} = ${batches.id} join ${jobOutputs} on ${jobOutputs.jobId} = ${batchJobs.jobId} where ${isValid}
      union select ${boardImages.imageId} from ${boardImages} join ${boards} on ${boards.id} = ${boardImages.boardId}
        where ${boards.removedAt} is null and (exists (select from ${boardMembers} where ${boardMembers.boardId} = ${boards.id})
          or exists (select from ${links} where ${links.boardId} = ${boards.id} and ${isValid})))`,
};

function rangeCondition(
  value: SQL,
  { least, most }: { readonly least: number | null; readonly most: number | null },
): SQL | undefined {
  return and(
    least === null ? undefined : sql`${value} >= ${least}`,
    most === null ? undefined : sql`${value} <= ${most}`,
  );
}
