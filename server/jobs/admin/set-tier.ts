import { eq, sql } from "drizzle-orm";
import { schema, tiers, type Tier } from "../../db/index.ts";
import { AppError, isId } from "../../platform/index.ts";
import type { Services } from "../../services/index.ts";
import { hint } from "../hint.ts";
import { isFinal, openStatuses } from "../status.ts";
import { amend } from "../transition.ts";

/**
 * Gives an open job another place among the tiers; one that runs already keeps it for its next try. Idempotent. Throws
 * `not_found`, and `conflict` when the job has ended.
 */
export async function setTier(services: Services, { id, tier }: { id: string; tier: Tier }): Promise<void> {
  if (!isId(id)) throw new AppError("not_found");
  const changed = await amend(services.db, {
    where: sql`${schema.jobs.id} = ${id} and status in ${[...openStatuses]} and tier <> ${tiers[tier]}`,
    set: { tier: tiers[tier] },
    event: "tier_changed",
    data: { tier },
  });
  if (changed) {
    hint(services, [changed]);
    return;
  }
  const { jobs } = schema;
  const [job] = await services.db.select({ status: jobs.status }).from(jobs).where(eq(jobs.id, id));
  if (!job) throw new AppError("not_found");
  if (isFinal(job.status)) throw new AppError("conflict", "The job has ended in the meantime.");
}
