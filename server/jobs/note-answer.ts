import { sql } from "drizzle-orm";
import { schema } from "../db/index.ts";
import { openFile, type OpenFileInput, type OpenedFile } from "../images/index.ts";
import { isAppError } from "../platform/index.ts";
import type { Services } from "../services/index.ts";

const { jobs, jobOutputs } = schema;

/**
 * A complete answer about an ended job was handed out; starts the time after which an ephemeral one goes (A8).
 * Never throws: without the note the job only stays longer.
 */
export async function noteAnswer(services: Pick<Services, "db" | "log">, id: string): Promise<void> {
  try {
    await services.db.execute(sql`
      update ${jobs} set answered_at = coalesce(answered_at, now())
      where id = ${id} and retention = 'ephemeral' and ended_at is not null`);
  } catch (error) {
    services.log.warn({ err: error, jobId: id }, "complete answer not noted");
  }
}

/**
 * The original of a picture was sent to its last byte, which answers the job in full when it is the only result.
 * A client that takes several results acknowledges the job, or takes the bundle.
 */
export async function noteServed(services: Pick<Services, "db" | "log">, imageId: string): Promise<void> {
  try {
    const result = await services.db.execute<{ id: string }>(sql`
      select job_id as id from ${jobOutputs}
      where job_id = (select job_id from ${jobOutputs} where image_id = ${imageId})
      group by job_id having count(*) = 1`);
    const jobId = result.rows[0]?.id;
    if (jobId) await noteAnswer(services, jobId);
  } catch (error) {
    services.log.warn({ err: error, imageId }, "complete answer not noted");
  }
}

/**
 * Opens the original of a picture for its owner. A file that is gone never comes back: the report of it is the complete
 * answer, so that its ephemeral job goes as well. Throws `not_found`, `file_missing`, `storage_unavailable`.
 */
export async function openResult(
  services: Services,
  input: Omit<OpenFileInput, "variant">,
): Promise<OpenedFile> {
  try {
    return await openFile(services, { ...input, variant: "original" });
  } catch (error) {
    if (isAppError(error) && error.code === "file_missing") await noteServed(services, input.id);
    throw error;
  }
}
