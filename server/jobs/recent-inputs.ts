import { and, desc, eq, isNull, max } from "drizzle-orm";
import { schema } from "../db/index.ts";
import type { InputRole } from "../engines/index.ts";
import { toImageView, type ImageView } from "../images/index.ts";
import type { Services } from "../services/index.ts";

export interface RecentInputsQuery {
  readonly ownerId: string;
  readonly role: InputRole;
  readonly limit: number;
}

/** The pictures that an owner used last in a role, the newest first, each once and without deleted ones. */
export async function recentInputs(
  { db }: Pick<Services, "db">,
  { ownerId, role, limit }: RecentInputsQuery,
): Promise<ImageView[]> {
  const { jobInputs, jobs, images } = schema;
  const used = db
    .select({ imageId: jobInputs.imageId, at: max(jobs.createdAt).as("used_at") })
    .from(jobInputs)
    .innerJoin(jobs, eq(jobs.id, jobInputs.jobId))
    .where(and(eq(jobs.ownerId, ownerId), eq(jobInputs.role, role)))
    .groupBy(jobInputs.imageId)
    .as("used");
  const rows = await db
    .select({ image: images, kind: jobs.kind })
    .from(used)
    .innerJoin(images, eq(images.id, used.imageId))
    .leftJoin(jobs, eq(jobs.id, images.jobId))
    .where(and(eq(images.ownerId, ownerId), isNull(images.deletedAt)))
    .orderBy(desc(used.at))
    .limit(limit);
  return rows.map(({ image, kind }) => toImageView(image, kind));
}
