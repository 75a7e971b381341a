import { sql } from "drizzle-orm";
import { schema } from "../db/index.ts";
import type { InputRole } from "../engines/index.ts";
import type { Services } from "../services/index.ts";

/** Ids of the pictures that an owner used last in a role, the newest first, each once. */
export async function recentInputIds(
  { db }: Pick<Services, "db">,
  { ownerId, role, limit }: { ownerId: string; role: InputRole; limit: number },
): Promise<string[]> {
  const { jobInputs, jobs, images } = schema;
  const result = await db.execute<{ id: string }>(sql`
    select m.id from ${jobInputs} i
    join ${jobs} j on j.id = i.job_id join ${images} m on m.id = i.image_id
    where j.owner_id = ${ownerId} and i.role = ${role} and m.deleted_at is null
    group by m.id order by max(j.created_at) desc limit ${limit}`);
  return result.rows.map((row) => row.id);
}
