import { and, desc, eq, gte, ilike, isNull, lt, ne, or, sql, type SQL } from "drizzle-orm";
import { schema } from "../db/index.ts";
import type { JobKind } from "../engines/index.ts";
import type { Services } from "../services/index.ts";
import { decodeCursor, encodeCursor } from "./cursor.ts";
import type { ImageView } from "./image-view.ts";
import { toImageView } from "./to-view.ts";

const { images, jobs } = schema;

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
  /** Part of the title or of the kind's name, upper and lower case alike. */
  readonly search?: string | undefined;
}

export interface ImagePage {
  readonly items: ImageView[];
  readonly nextCursor: string | null;
}

/** An owner's pictures, newest first, without masks and deleted ones. Throws `bad_request` for a wrong cursor. */
export async function listImages(services: Pick<Services, "db">, input: ListImagesInput): Promise<ImagePage> {
  const limit = input.limit ?? 50;
  const rows = await services.db
    .select({ image: images, kind: jobs.kind })
    .from(images)
    .leftJoin(jobs, eq(jobs.id, images.jobId))
    .where(and(...filtersOf(input)))
    .orderBy(desc(images.id))
    .limit(limit + 1);
  const items = rows.slice(0, limit).map(({ image, kind }) => toImageView(image, kind));
  const last = rows.length > limit ? items.at(-1) : undefined;
  return { items, nextCursor: last ? encodeCursor(last.id) : null };
}

function filtersOf(input: ListImagesInput): SQL[] {
  const filters = [
    eq(images.ownerId, input.ownerId),
    isNull(images.deletedAt),
    input.role ? eq(images.role, input.role) : ne(images.role, "mask"),
    input.cursor && lt(images.id, decodeCursor(input.cursor)),
    input.kind && eq(jobs.kind, input.kind),
    input.starred !== undefined && eq(images.starred, input.starred),
    input.from && gte(images.createdAt, input.from),
    input.to && lt(images.createdAt, input.to),
    input.search && matches(input.search),
  ];
  return filters.filter((filter) => typeof filter === "object");
}

function matches(search: string): SQL | undefined {
  const words = search.toWellFormed().replaceAll("\0", "").trim();
  const pattern = `%${words.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`;
  return or(ilike(images.title, pattern), ilike(sql`replace(${jobs.kind}, '_', ' ')`, pattern));
}
