import { and, eq, gte, inArray, isNull, lt, ne, sql, type SQL } from "drizzle-orm";
import { alias } from "drizzle-orm/pg-core";
import { z } from "zod";
import { type Db, schema } from "../db/index.ts";
import { type JobKind, jobKinds } from "../engines.ts";
import { isTimeZone } from "../platform/days.ts";
import { momentOfText } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { type ImageView, toImageView, viewColumns } from "./image.ts";
import {
  asksForTrash,
  type Conditions,
  conditionsOf,
  kindCondition,
  nearnessOf,
  type Searched,
} from "./conditions.ts";
import { findNear } from "./near.ts";
import { decodeCursor, encodeCursor, type Place } from "./place.ts";
import { type ListOrder, listOrders, orderOf, parseSearch } from "./query.ts";
import { readTrashMs } from "./quota.ts";
import { findAmong, findIds, type Found, inOrderOf, newestFirst } from "./search.ts";
import { fillSearchTexts } from "./search-text.ts";

const { images, jobs } = schema;

const moment = momentOfText.transform((text) => new Date(text));

const timezone = z
  .string()
  .max(64)
  .refine(isTimeZone, "is no time zone of the IANA database, such as Europe/Sofia")
  .meta({ format: "timezone", description: "Of the days in `search`: the IANA name, by default UTC" })
  .optional();

/** Filters of an image list; the same for tRPC and the HTTP API. */
export const listImagesSchema = z.strictObject({
  cursor: z.string().max(100).meta({ format: "cursor" }).optional(),
  limit: z.number().int().min(1).max(100).default(50),
  role: z.enum(["upload", "result"]).optional(),
  kind: z.enum(jobKinds).optional(),
  starred: z.boolean().optional(),
  from: moment.optional(),
  to: moment.optional(),
  search: z.string().trim().max(500).optional(),
  timezone,
  stacks: z.boolean().optional(),
  stackId: z.uuid().optional(),
  order: z.enum(listOrders).optional(),
});

/** Of the pages' list alone: it is read from any moment on, in both directions. */
export const listGallerySchema = listImagesSchema.extend({
  // A browser may know newer zones than the server.
  timezone: timezone.catch(undefined),
  // All that is found may be chosen at once.
  limit: z.number().int().min(1).max(500).default(50),
  newer: z.boolean().optional(),
  jump: z
    .strictObject({ from: moment, before: moment, skip: z.int().min(0).max(10_000_000).default(0) })
    .optional(),
});

export interface ListImagesInput {
  readonly ownerId: string;
  readonly cursor?: string | undefined;
  /** The page of the pictures that are newer than the cursor, and not the older ones. */
  readonly newer?: boolean | undefined;
  /** Begins at the newest picture before a moment, or `skip` pictures further, but not before `from`; in the order `made` alone. */
  readonly jump?: Jump | undefined;
  /** 1..500, 50 by default. */
  readonly limit?: number | undefined;
  readonly role?: "upload" | "result" | undefined;
  readonly kind?: JobKind | undefined;
  readonly starred?: boolean | undefined;
  /** From this moment on. */
  readonly from?: Date | undefined;
  /** Before this moment. */
  readonly to?: Date | undefined;
  /** Words, phrases and filters that must all hold: `parseSearch` has the language. */
  readonly search?: string | undefined;
  /** Of the days that a search names, by its IANA name; UTC by default. */
  readonly timezone?: string | undefined;
  /** One picture of each stack: of those that the other filters let through the chosen one, else the newest. */
  readonly stacks?: boolean | undefined;
  /** Only the pictures of this stack. */
  readonly stackId?: string | undefined;
  /** Goes before the `order:` of a search; by when they were made by default. */
  readonly order?: ListOrder | undefined;
}

/**
 * `trashedUntil`: when a picture of the trash goes, ISO 8601, UTC; null for others. `stackSize`: how many pictures its stack
 * has, whatever the filters; null in lists without `stacks`.
 */
type ListedImage = ImageView & { readonly stackSize: number | null; readonly trashedUntil: string | null };

type Jump = Readonly<NonNullable<z.output<typeof listGallerySchema>["jump"]>>;

export interface ImagePage {
  readonly items: ListedImage[];
  readonly nextCursor: string | null;
  /** For the newer pictures; null when the page is known to begin with the newest. */
  readonly previousCursor: string | null;
}

/**
 * An owner's pictures in their order, by default the newest first (with `near:` or `similar:` the nearest in meaning first), without masks and, unless a
 * search says `is:trashed`, deleted ones. Throws `bad_request` for a wrong cursor and a search that cannot be read.
 */
export async function listImages(
  services: Pick<Services, "config" | "db" | "env">,
  input: ListImagesInput,
): Promise<ImagePage> {
  const { db, config } = services;
  const { ownerId, search, limit = 50 } = input;
  if (search !== undefined || input.kind) await fillSearchTexts(db, ownerId);
  const conditions = conditionsOfList(input);
  const isTrash = asksForTrash(search ?? "");
  // The trash shows pictures one by one, not their stacks.
  const stacks = input.stacks === true && !isTrash;
  const shown = stacks ? topOfStack(ownerId, conditions) : undefined;
  const order = orderOfList(input);
  const place = await placeOfList(db, { ...input, order }, and(...conditions(images), shown));
  const found = await findPage(services, search, {
    ownerId,
    conditions,
    shown,
    place,
    isTrash,
    order,
    limit: limit + 1,
  });
  const isNewer = place?.side === "newer";
  const page = found.slice(0, limit);
  if (isNewer) page.reverse();
  const rows = await readRows(
    db,
    page.map(({ id }) => id),
  );
  const views = rows.map(toImageView);
  const sizes = stacks ? await readStackSizes(db, ownerId, views) : null;
  const trashMs = isTrash ? await readTrashMs(db, config, ownerId) : 0;
  const items = views.map((view, index) => ({
    ...view,
    stackSize: sizes && (sizes.get(view.stackId) ?? 1),
    trashedUntil: endOf(rows[index], trashMs),
  }));
  return { items, ...cursorsOf(page, place, found.length > limit) };
}

const orderOfList = (input: ListImagesInput) =>
  input.order ?? orderOf(parseSearch(input.search ?? "")) ?? "made";

/** A page has pictures beyond it on the side from which it was reached, and on the other one when more were found. */
function cursorsOf(page: readonly Found[], place: Place | undefined, hasMore: boolean) {
  const [isNewer, isPlaced] = [place?.side === "newer", place !== undefined];
  return {
    nextCursor: cursorOf(page.at(-1), isNewer || hasMore),
    previousCursor: cursorOf(page[0], isNewer ? hasMore : isPlaced),
  };
}

function cursorOf(found: Found | undefined, isOffered: boolean): string | null {
  return found === undefined || !isOffered ? null : encodeCursor(found.standing);
}

async function placeOfList(
  db: Db,
  { ownerId, cursor, newer = false, jump, order }: ListImagesInput,
  isListed: SQL | undefined,
): Promise<Place | undefined> {
  if (cursor) return { at: decodeCursor(cursor), side: newer ? "newer" : "older" };
  // Only by their days pictures have a place that a moment leads to.
  if (!jump || order !== "made") return undefined;
  const { from, before, skip } = jump;
  if (skip === 0) return { at: before, side: "older" };
  const own = and(
    eq(images.ownerId, ownerId),
    isNull(images.deletedAt),
    gte(images.createdAt, from),
    lt(images.createdAt, before),
  );
  const [last] = await db.execute<{ id: string }>(sql`
    select id from (select * from ${images} where ${own} ${newestFirst} offset 0) as images
    where ${isListed} ${newestFirst} limit 1 offset ${skip - 1}`);
  return { at: last ?? from, side: "older" };
}

/**
 * How many pictures `listImages` shows with these filters, at most `most`; null for a search that says something of meaning, since
 * something is always near. Throws as `listImages` does.
 */
export async function countUpTo(
  { db }: Pick<Services, "db">,
  { most, ...input }: ListImagesInput & { readonly most: number },
): Promise<number | null> {
  const { ownerId, search = "" } = input;
  if (nearnessOf(search)) return null;
  await fillSearchTexts(db, ownerId);
  const conditions = conditionsOfList(input);
  const isTrash = asksForTrash(search);
  const shown = input.stacks === true && !isTrash ? topOfStack(ownerId, conditions) : undefined;
  return (await findIds(db, { ownerId, conditions, shown, isTrash, limit: most })).length;
}

/** By the day, or by what the search says of meaning. */
async function findPage(
  services: Pick<Services, "config" | "db" | "env">,
  search: string | undefined,
  query: Parameters<typeof findIds>[1],
): Promise<readonly Found[]> {
  const nearness = nearnessOf(search ?? "");
  if (!nearness) return findIds(services.db, query);
  const ids = await findAmong(services.db, await findNear(services, query.ownerId, nearness), query);
  return ids.map((id) => ({ id, standing: id }));
}

function endOf(
  row: { readonly image: { readonly deletedAt: Date | null } } | undefined,
  trashMs: number,
): string | null {
  const deletedAt = row?.image.deletedAt ?? null;
  return deletedAt && new Date(deletedAt.getTime() + trashMs).toISOString();
}

async function readRows(db: Db, ids: readonly string[]) {
  const rows = await db
    .select({ id: images.id, ...viewColumns })
    .from(images)
    .leftJoin(jobs, eq(jobs.id, images.jobId))
    .where(inArray(images.id, [...ids]));
  return inOrderOf(ids, rows);
}

export function conditionsOfList(input: ListImagesInput): Conditions {
  const searched = input.search === undefined ? null : conditionsOf(input.search, input);
  return (listed) => {
    const filters = [
      input.role ? eq(listed.role, input.role) : ne(listed.role, "mask"),
      input.kind && kindCondition(listed, input.kind),
      input.starred !== undefined && (input.starred ? sql`${listed.starred}` : sql`not ${listed.starred}`),
      input.from && gte(listed.createdAt, input.from),
      input.to && lt(listed.createdAt, input.to),
      input.stackId && eq(stackOf(listed), input.stackId),
    ];
    return [...filters.filter((filter) => typeof filter === "object"), ...(searched?.(listed) ?? [])];
  };
}

/** As in the index `images_stack`. */
export function stackOf(listed: Pick<Searched, "stackId" | "id">): SQL {
  return sql`coalesce(${listed.stackId}, ${listed.id})`;
}

/** Of the pictures of a stack the first shows it: the chosen one, else the newest. Where that one stands in a list, its stack stands. */
export const topFirst = ({ toppedAt, id }: Pick<Searched, "id" | "toppedAt">): SQL =>
  sql`${toppedAt} desc nulls last, ${id} desc`;

/** Of each stack only the first picture, as `topFirst` has them, for which the conditions hold, whichever page it is on. */
function topOfStack(ownerId: string, conditions: Conditions): SQL {
  const [stacked, member] = [alias(images, "stacked"), alias(images, "member")];
  const ofStack = and(
    eq(stacked.ownerId, ownerId),
    isNull(stacked.deletedAt),
    sql`${stackOf(stacked)} = ${stackOf(images)}`,
  );
  // As a value and not as `not exists`, which is planned as a join of all pictures with all others; and the stack is read before
  // anything is asked of its pictures: this way each picture of the page costs one look into `images_stack`.
  return sql`${images.id} = (select ${member.id}
    from (select * from ${images} as stacked where ${ofStack} offset 0) as member
    where ${and(...conditions(member))} order by ${topFirst(member)} limit 1)`;
}

async function readStackSizes(
  db: Db,
  ownerId: string,
  shown: readonly ImageView[],
): Promise<Map<string, number>> {
  const stackIds = [...new Set(shown.map(({ stackId }) => stackId))];
  if (stackIds.length === 0) return new Map();
  const isMember = and(
    eq(images.ownerId, ownerId),
    isNull(images.deletedAt),
    ne(images.role, "mask"),
    sql`${stackOf(images)} = shown.id`,
  );
  // One look into `images_stack` for each: with all of them in one condition the whole table would be read.
  const rows = await db.execute<{ id: string; size: number }>(sql`
    select shown.id, (select count(*) from ${images} where ${isMember})::int as size
    from unnest(${sql.param(stackIds)}::uuid[]) as shown(id)`);
  return new Map(rows.map(({ id, size }) => [id, size]));
}
