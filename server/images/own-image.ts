import { and, eq, isNull, type SQL } from "drizzle-orm";
import { schema, type Db } from "../db/index.ts";
import type { JobKind } from "../engines/index.ts";
import { AppError, isId } from "../platform/index.ts";
import type { ImageRow } from "./to-view.ts";

const { images, jobs } = schema;

export interface OwnImageInput {
  readonly ownerId: string;
  readonly id: string;
}

/** Guards a statement: this picture, of this owner, not deleted. Throws `not_found` for what cannot be an id. */
export function isOwn({ ownerId, id }: OwnImageInput): SQL | undefined {
  if (!isId(id)) throw new AppError("not_found");
  return and(eq(images.id, id), eq(images.ownerId, ownerId), isNull(images.deletedAt));
}

/** Throws `not_found` for another's, a deleted and an unknown picture alike. */
export async function findOwnImage(
  db: Db,
  input: OwnImageInput,
): Promise<{ row: ImageRow; kind: JobKind | null }> {
  const [found] = await db
    .select({ row: images, kind: jobs.kind })
    .from(images)
    .leftJoin(jobs, eq(jobs.id, images.jobId))
    .where(isOwn(input));
  if (!found) throw new AppError("not_found");
  return found;
}
