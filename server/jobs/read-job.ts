import { eq } from "drizzle-orm";
import { schema } from "../db/index.ts";
import type { Services } from "../services/index.ts";
import type { Job } from "./job.ts";

/** The row as it is now; null when it is gone. */
export async function readJob({ db }: Pick<Services, "db">, id: string): Promise<Job | null> {
  const [job] = await db.select().from(schema.jobs).where(eq(schema.jobs.id, id));
  return job ?? null;
}
