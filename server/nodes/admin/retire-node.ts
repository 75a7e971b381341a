import { and, eq, inArray } from "drizzle-orm";
import { schema } from "../../db/index.ts";
import { AppError } from "../../platform/index.ts";
import type { Services } from "../../services/index.ts";

/** Asks the process of a node to end once its jobs are done. Idempotent, also when it has ended. Throws `not_found`. */
export async function retireNode({ db }: Pick<Services, "db">, { id }: { id: string }): Promise<void> {
  const { nodes } = schema;
  await db
    .update(nodes)
    .set({ retireRequested: true })
    .where(and(eq(nodes.id, id), inArray(nodes.state, ["active", "draining"])));
  const [node] = await db.select({ id: nodes.id }).from(nodes).where(eq(nodes.id, id));
  if (!node) throw new AppError("not_found");
}
