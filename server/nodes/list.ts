import { inArray } from "drizzle-orm";
import { schema } from "../db/index.ts";
import type { Services } from "../services/index.ts";
import type { Node } from "./register.ts";

/** Nodes that are alive as far as is known. */
export async function listLive({ db }: Pick<Services, "db">): Promise<Node[]> {
  const { nodes } = schema;
  return db
    .select()
    .from(nodes)
    .where(inArray(nodes.state, ["active", "draining"]))
    .orderBy(nodes.name);
}
