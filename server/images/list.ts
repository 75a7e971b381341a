import { and, desc, eq, gte, isNull, lt, ne, sql, type SQL } from "drizzle-orm";
import { alias, type AnyPgColumn } from "drizzle-orm/pg-core";
import { z } from "zod";
import { type Db, schema } from "../db/index.ts";
import { type JobKind, jobKinds } from "../engines.ts";
import { AppError, isId } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { type ImageView, toImageView } from "./image.ts";
import { fillSearchTexts, matchesAll } from "./search.ts";

const { images, jobs } = schema;

/** The cursor of the next page: the last id of this one. Opaque to callers. */
function encodeCursor(id: string): string {
  return Buffer.from(id).toString("base64url");
}

/** Throws `bad_request` for anything that `encodeCursor` did not make. */
function decodeCursor(cursor: string): string {
  const id = Buffer.from(cursor, "base64url").toString();
  if (!isId(id)) throw new AppError("bad_request", "The cursor is not one of ours.");
  return id;
}

const moment = z.iso.datetime({ offset: true }).transform((text) => new Date(text));

/** Filters of an image list; the same for tRPC and the HTTP API. */
export const listImagesSchema = z.strictObject({
  cursor: z.string().max(100).meta({ format: "cursor" }).optional(),
  limit: z.number().int().min(1).max(100).default(50),
  role: z.enum(["upload", "result"]).optional(),
  kind: z.enum(jobKinds).optional(),
  starred: z.boolean().optional(),
  from: moment.optional(),
  to: moment.optional(),
  search: z.string().trim().max(200).optional(),
  stacks: z.boolean().optional(),
  stackId: z.uuid().optional(),
});

export interface ListImagesInput {
  readonly ownerId: string;
  readonly cursor?: string | undefined;
  /** 1..100, 50 by default. */
  readonly limit?: number | undefined;
  readonly role?: "upload" | "result" | undefined;
  readonly kind?: JobKind | undefined;
  readonly starred?: boolean | undefined;
  /** From this moment on. */
  readonly from?: Date | undefined;
  /** Before this moment. */
  readonly to?: Date | undefined;
  /** Words that must all be found in what is known of a picture; `searchForm` says how they are compared. */
  readonly search?: string | undefined;
  /** Only the newest picture of each stack that the other filters let through. */
  readonly stacks?: boolean | undefined;
  /** Only the pictures of this stack. */
  readonly stackId?: string | undefined;
}

/** `stackSize`: how many pictures its stack has, whatever the filters; null in lists without `stacks`. */
type ListedImage = ImageView & { readonly stackSize: number | null };

export interface ImagePage {
  readonly items: ListedImage[];
  readonly nextCursor: string | null;
}

/** An owner's pictures, newest first, without masks and deleted ones. Throws `bad_request` for a wrong cursor. */
export async function listImages(services: Pick<Services, "db">, input: ListImagesInput): Promise<ImagePage> {
  const limit = input.limit ?? 50;
  if (input.search) await fillSearchTexts(services.db, input.ownerId);
  const rows = await services.db
    .select({ image: images, kind: jobs.kind })
    .from(images)
    .leftJoin(jobs, eq(jobs.id, images.jobId))
    .where(and(...filtersOf(input), ...pagedFiltersOf(services.db, input)))
    .orderBy(desc(images.id))
    .limit(limit + 1);
  const views = rows.slice(0, limit).map(({ image, kind }) => toImageView(image, kind));
  const sizes = input.stacks === true ? await readStackSizes(services.db, input.ownerId, views) : null;
  const items = views.map((view) => ({ ...view, stackSize: sizes && (sizes.get(view.stackId) ?? 1) }));
  const last = rows.length > limit ? items.at(-1) : undefined;
  return { items, nextCursor: last ? encodeCursor(last.id) : null };
}

/** `images`, or an alias of it. */
type Listed = Readonly<
  Record<
    "id" | "stackId" | "ownerId" | "deletedAt" | "role" | "starred" | "createdAt" | "searchText",
    AnyPgColumn
  >
>;

/** The conditions on a picture of the list. */
function filtersOf(
  input: ListImagesInput,
  listed: Listed = images,
  made: Readonly<Record<"kind", AnyPgColumn>> = jobs,
): SQL[] {
  const filters = [
    eq(listed.ownerId, input.ownerId),
    isNull(listed.deletedAt),
    input.role ? eq(listed.role, input.role) : ne(listed.role, "mask"),
    input.kind && eq(made.kind, input.kind),
    input.starred !== undefined && eq(listed.starred, input.starred),
    input.from && gte(listed.createdAt, input.from),
    input.to && lt(listed.createdAt, input.to),
    input.search && matchesAll(input.search, listed),
    input.stackId && eq(stackOf(listed), input.stackId),
  ];
  return filters.filter((filter) => typeof filter === "object");
}

/** As in the index `images_stack`. */
function stackOf(listed: Listed): SQL {
  return sql`coalesce(${listed.stackId}, ${listed.id})`;
}

/** Of each stack only the newest picture, whichever page it is on. */
function pagedFiltersOf(db: Db, input: ListImagesInput): SQL[] {
  const { cursor, stacks } = input;
  const before = cursor === undefined || cursor === "" ? [] : [lt(images.id, decodeCursor(cursor))];
  if (stacks !== true) return before;
  const member = alias(images, "member");
  const memberJob = alias(jobs, "member_job");
  // As a value and not as `not exists`, which is planned as a join of all pictures with all others: this way each picture of
  // the page costs one look into `images_stack`.
  const newest = db
    .select({ id: member.id })
    .from(member)
    .leftJoin(memberJob, eq(memberJob.id, member.jobId))
    .where(and(...filtersOf(input, member, memberJob), sql`${stackOf(member)} = ${stackOf(images)}`))
    .orderBy(desc(member.id))
    .limit(1);
  return [...before, sql`${images.id} = (${newest})`];
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
