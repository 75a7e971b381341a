import { sql } from "drizzle-orm";
import type { Services } from "../services/index.ts";
import { hint } from "./hint.ts";
import { claimedStatuses } from "./status.ts";
import { transitionAll } from "./transition.ts";

/**
 * Hands back rows that a living node holds without running them: its claim was committed but the answer was lost, or
 * the end of a run could not be stored while the database was away. Call it while the node claims nothing.
 */
export async function handBackUnknown(
  services: Services,
  input: { nodeId: string; running: readonly string[] },
): Promise<number> {
  const { nodeId, running } = input;
  const others = running.length > 0 ? sql`and id not in ${[...running]}` : sql``;
  const jobs = await transitionAll(services.db, {
    from: claimedStatuses,
    to: "pending",
    where: sql`node_id = ${nodeId} ${others}`,
    set: { nodeId: null, progress: 0, stage: null },
    honourCancel: true,
    event: "handed_back",
  });
  hint(services, jobs);
  return jobs.length;
}
