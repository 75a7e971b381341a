import { schema, type NodeState } from "@atelier/server/db";
import { jobKinds } from "@atelier/server/engines";
import { newId } from "@atelier/server/platform";
import type { Services } from "@atelier/server/services";
import { testQueue } from "./add-job.ts";

/** Adds the row of a node without any process behind it; it beats for nobody. */
export async function addNode(
  { db }: Pick<Services, "db">,
  { state = "active", slots = 1 }: { state?: NodeState; slots?: number } = {},
): Promise<string> {
  const id = newId();
  await db.insert(schema.nodes).values({
    id,
    name: `node-${id.slice(-6)}`,
    hostname: "test",
    bootId: "test",
    pid: 1,
    pidStartedAt: "0",
    capability: { cores: 2, memoryBytes: 4 * 1024 ** 3, kinds: jobKinds, engines: ["local"] },
    queues: [testQueue],
    slots,
    state,
  });
  return id;
}
