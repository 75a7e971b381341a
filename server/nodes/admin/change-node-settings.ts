import { and, eq, inArray } from "drizzle-orm";
import { z } from "zod";
import { schema, type NodeSettings } from "../../db/index.ts";
import { jobKinds } from "../../engines/index.ts";
import type { Services } from "../../services/index.ts";
import { readState } from "./read-state.ts";

/** What an admin may change of a node; what is left out is the node's own choice again. */
export const nodeSettingsSchema = z.strictObject({
  /** Jobs at once by queue; 0 takes none. */
  slots: z.record(z.string().min(1).max(100), z.number().int().min(0).max(64)).optional(),
  kinds: z.array(z.enum(jobKinds)).min(1).optional(),
});

/** Replaces the settings of a live node, which follows within a second or two. Idempotent. Throws `not_found` and `conflict`. */
export async function changeNodeSettings(
  services: Pick<Services, "db">,
  { id, settings }: { id: string; settings: NodeSettings },
): Promise<void> {
  const { nodes } = schema;
  await readState(services, id);
  await services.db
    .update(nodes)
    .set({ settings })
    .where(and(eq(nodes.id, id), inArray(nodes.state, ["active", "draining"])));
}
