import { sql } from "drizzle-orm";
import { schema, type NodeProblem } from "../db/index.ts";
import type { Services } from "../services/index.ts";

/** What a node's problem with its disk is called. */
export const spaceProblem = "Disk space";

/** Shows that a node takes no jobs for lack of space, or with null that it does again. Writes changes only. */
export async function noteLowSpace(
  { db }: Pick<Services, "db">,
  nodeId: string,
  reason: string | null,
): Promise<void> {
  const { nodes } = schema;
  const own: NodeProblem[] = reason === null ? [] : [{ what: spaceProblem, reason }];
  await db.execute(sql`
    with next as (
      select coalesce(jsonb_agg(problem) filter (where problem ->> 'what' <> ${spaceProblem}), '[]'::jsonb)
        || ${JSON.stringify(own)}::jsonb as problems
      from ${nodes} n left join lateral jsonb_array_elements(n.problems) problem on true
      where n.id = ${nodeId})
    update ${nodes} set problems = next.problems from next
    where ${nodes.id} = ${nodeId} and ${nodes.problems} <> next.problems`);
}
