import { sql } from "drizzle-orm";
import type { Services } from "../services/index.ts";
import { errorRules } from "../platform/index.ts";
import { hint } from "./hint.ts";
import { claimedStatuses } from "./status.ts";
import { transitionAll } from "./transition.ts";

/**
 * Hands back rows that a living node holds without running them: its claim was committed but the answer was lost, or
 * the end of a run could not be stored while the database was away. After its last try a job fails: an end that can
 * never be stored would be run again for ever. Call it while the node claims nothing.
 */
export async function handBackUnknown(
  services: Services,
  input: { nodeId: string; running: readonly string[] },
): Promise<number> {
  const { nodeId, running } = input;
  const { maxAttempts } = services.config.limits;
  const others = running.length > 0 ? sql`and id not in ${[...running]}` : sql``;
  const unknown = sql`node_id = ${nodeId} ${others}`;
  const spent = sql`attempt >= ${maxAttempts} and cancel_requested_at is null`;
  const failed = await transitionAll(services.db, {
    from: claimedStatuses,
    to: "failed",
    where: sql`${unknown} and ${spent}`,
    set: { errorCode: "internal", errorMessage: errorRules.internal.message },
    event: "failed",
    data: { code: "internal" },
  });
  const handedBack = await transitionAll(services.db, {
    from: claimedStatuses,
    to: "pending",
    where: sql`${unknown} and not (${spent})`,
    set: { nodeId: null, progress: 0, stage: null },
    honourCancel: true,
    event: "handed_back",
  });
  const jobs = [...failed, ...handedBack];
  hint(services, jobs);
  return jobs.length;
}
