import { eq } from "drizzle-orm";
import { schema } from "../db/index.ts";
import type { InputRole } from "../engines/index.ts";
import type { Services } from "../services/index.ts";
import type { InputImage } from "./load-inputs.ts";

/** The pictures that a job works on, by role; also those that their owner deleted since. */
export async function loadInputImages(
  { db }: Pick<Services, "db">,
  jobId: string,
): Promise<ReadonlyMap<InputRole, InputImage>> {
  const { jobInputs, images } = schema;
  const rows = await db
    .select({ role: jobInputs.role, image: images })
    .from(jobInputs)
    .innerJoin(images, eq(images.id, jobInputs.imageId))
    .where(eq(jobInputs.jobId, jobId));
  return new Map(rows.map(({ role, image }) => [role, image]));
}
