import { inArray } from "drizzle-orm";
import { schema } from "../db/index.ts";
import { isId } from "../platform/index.ts";
import type { Services } from "../services/index.ts";
import { isFinal } from "./status.ts";

/** A prompt as it was found on a server. */
export interface PostedPrompt {
  readonly jobId: string;
  readonly promptId: string;
}

/**
 * Those of the prompts that nobody will adopt: their job ended, or was posted anew since. A prompt is noted before it is
 * posted, so whoever saw it before asking here meets its note. Prompts of jobs that are not known are left alone.
 */
export async function findStrays<P extends PostedPrompt>(
  { db }: Pick<Services, "db">,
  prompts: readonly P[],
): Promise<P[]> {
  const ids = prompts.map(({ jobId }) => jobId).filter(isId);
  if (ids.length === 0) return [];
  const { jobs } = schema;
  const rows = await db
    .select({ id: jobs.id, status: jobs.status, externalId: jobs.externalId })
    .from(jobs)
    .where(inArray(jobs.id, ids));
  const byId = new Map(rows.map((row) => [row.id, row]));
  return prompts.filter(({ jobId, promptId }) => {
    const row = byId.get(jobId);
    return row !== undefined && (isFinal(row.status) || row.externalId !== promptId);
  });
}
