import { and, eq, inArray, ne } from "drizzle-orm";
import { lockTopic, type NodeProblem, schema, type Tx } from "../db/index.ts";
import type { Services } from "../services.ts";
import type { Workflow } from "../workflows/index.ts";
import { isPresent } from "./states.ts";

/**
 * Publishes the own workflows of a node. One name has one content: a workflow is refused, with the reason, when a live
 * node publishes another content under its name; the others are published.
 */
export async function publishWorkflows(
  tx: Tx,
  nodeId: string,
  workflows: readonly Workflow[],
): Promise<NodeProblem[]> {
  if (workflows.length === 0) return [];
  const { nodes, nodeWorkflows } = schema;
  // A separate statement: the select must see what the last publisher committed.
  await lockTopic(tx, "publish_workflows");
  const names = workflows.map(({ name }) => name);
  const others = await tx
    .select({ name: nodeWorkflows.name, hash: nodeWorkflows.hash, node: nodes.name })
    .from(nodeWorkflows)
    .innerJoin(nodes, eq(nodes.id, nodeWorkflows.nodeId))
    .where(and(inArray(nodeWorkflows.name, names), isPresent(nodes.state), ne(nodes.id, nodeId)));
  const refused = workflows.flatMap(({ name, hash }): NodeProblem[] => {
    const other = others.find((known) => known.name === name && known.hash !== hash);
    if (!other) return [];
    return [{ what: name, reason: `The node ${other.node} publishes another workflow under this name.` }];
  });
  const taken = workflows.filter(({ name }) => !refused.some(({ what }) => what === name));
  if (taken.length > 0) {
    await tx
      .insert(nodeWorkflows)
      .values(taken.map(({ name, hash, manifest, graph }) => ({ nodeId, name, hash, manifest, graph })));
  }
  return refused;
}

/**
 * Retries workflows that were refused because another node had published a different one under that name. Returns all
 * remaining problems of the node.
 */
export async function publishRefused(
  { db }: Pick<Services, "db">,
  nodeId: string,
  own: readonly Workflow[],
): Promise<readonly NodeProblem[]> {
  const { nodes } = schema;
  return db.transaction(async (tx) => {
    const [node] = await tx.select({ problems: nodes.problems }).from(nodes).where(eq(nodes.id, nodeId));
    const before = node?.problems ?? [];
    const refused = own.filter(({ name }) => before.some(({ what }) => what === name));
    if (refused.length === 0) return before;
    const still = await publishWorkflows(tx, nodeId, refused);
    const others = before.filter(({ what }) => !refused.some(({ name }) => name === what));
    const problems = [...others, ...still];
    await tx.update(nodes).set({ problems }).where(eq(nodes.id, nodeId));
    return problems;
  });
}
