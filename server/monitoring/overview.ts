import { spaceProblem } from "../nodes/index.ts";
import type { QueueNow } from "./read-queues.ts";
import type { NodeFigures } from "./nodes.ts";

/** Something an admin should look at, the gravest first. */
export type Attention =
  | { readonly type: "queue_without_node"; readonly queue: string; readonly waiting: number }
  | { readonly type: "node_silent"; readonly nodeId: string; readonly node: string; readonly ms: number }
  | { readonly type: "node_lost"; readonly nodeId: string; readonly node: string; readonly ms: number }
  | {
      readonly type: "server_down" | "server_degraded";
      readonly nodeId: string;
      readonly node: string;
      readonly server: string;
      readonly reason: string | null;
    }
  | {
      readonly type: "node_low_space" | "workflow_refused";
      readonly nodeId: string;
      readonly node: string;
      readonly what: string;
      readonly reason: string;
    };

/** A beat comes each second; two that are late are no news yet. */
const silentAfterMs = 3_500;
/** For how long a lost node is worth a word. */
const lostWithinMs = 15 * 60_000;

const order = [
  "queue_without_node",
  "node_silent",
  "node_lost",
  "node_low_space",
  "server_down",
  "server_degraded",
  "workflow_refused",
] as const satisfies Attention["type"][];

/** What of the present state needs somebody. Nothing that was asked for (a drain) and nothing that is merely busy. */
export function findAttention(queues: readonly QueueNow[], nodes: readonly NodeFigures[]): Attention[] {
  const found = [...queues.flatMap(ofQueue), ...nodes.flatMap(ofNode)];
  return found.toSorted((a, b) => order.indexOf(a.type) - order.indexOf(b.type));
}

function ofQueue({ queue, waiting, slots }: QueueNow): Attention[] {
  return waiting > 0 && slots === 0 ? [{ type: "queue_without_node", queue, waiting }] : [];
}

function ofNode(node: NodeFigures): Attention[] {
  const who = { nodeId: node.id, node: node.name };
  if (node.state === "lost") {
    const ms = node.endedMs ?? node.seenMs;
    return ms < lostWithinMs ? [{ type: "node_lost", ...who, ms }] : [];
  }
  if (node.state === "gone") return [];
  const silent: Attention[] =
    node.seenMs > silentAfterMs ? [{ type: "node_silent", ...who, ms: node.seenMs }] : [];
  const problems = node.problems.map(({ what, reason }): Attention => {
    const type = what === spaceProblem ? "node_low_space" : "workflow_refused";
    return { type, ...who, what, reason };
  });
  return [...silent, ...node.servers.flatMap((server) => ofServer(who, server)), ...problems];
}

function ofServer(
  who: { nodeId: string; node: string },
  { state, label, lastError, drainRequested }: NodeFigures["servers"][number],
): Attention[] {
  if (drainRequested || (state !== "down" && state !== "degraded")) return [];
  const type = state === "down" ? "server_down" : "server_degraded";
  return [{ type, ...who, server: label, reason: lastError }];
}
