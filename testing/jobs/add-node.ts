import { schema, type NodeState } from "@atelier/server/db";
import { jobKinds, needOf, type Need } from "@atelier/server/engines";
import { writeQueues } from "@atelier/server/nodes";
import type { Offer } from "@atelier/server/jobs";
import { newId } from "@atelier/server/platform";
import type { Services } from "@atelier/server/services";
import { testQueue } from "./jobs.ts";

export interface TestNode {
  readonly state?: NodeState;
  readonly slots?: number;
  readonly queue?: string;
  readonly needs?: readonly Need[];
}

/** What a node with nothing but the engine of this computer can claim. */
export const localOffers: readonly Offer[] = [{ need: "local/upscale", servers: null }];

const localNeeds = jobKinds.map((kind) => needOf({ engine: "local", kind, workflow: null }));

/** Adds the row of a node without any process behind it; it beats for nobody. */
export async function addNode(
  { db }: Pick<Services, "db">,
  { state = "active", slots = 1, queue = testQueue, needs = localNeeds }: TestNode = {},
): Promise<string> {
  const id = newId();
  await db.insert(schema.nodes).values({
    id,
    name: `node-${id.slice(-6)}`,
    hostname: "test",
    bootId: "test",
    pid: 1,
    pidStartedAt: "0",
    capability: { cores: 2, memoryBytes: 4 * 1024 ** 3, kinds: jobKinds, gpus: [], engines: ["local"] },
    state,
  });
  await writeQueues(db, id, [{ queue, slots, needs }]);
  return id;
}
