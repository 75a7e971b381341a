import { isObject, type JsonObject } from "../json.ts";

export interface GraphNode {
  readonly class_type: string;
  readonly inputs: JsonObject;
}

/** A graph in API format whose nodes all have a class. */
export type Graph = Readonly<Record<string, GraphNode>>;

export type Link = readonly [nodeId: string, slot: number];

/** Whether the value is a link that can be followed. */
export function isLink(value: unknown): value is Link {
  return (
    Array.isArray(value) && value.length === 2 && typeof value[0] === "string" && Number.isInteger(value[1])
  );
}

/** Reads a raw node; null when it has no class. */
export function asNode(value: unknown): GraphNode | null {
  if (!isObject(value) || typeof value.class_type !== "string") return null;
  return { class_type: value.class_type, inputs: isObject(value.inputs) ? value.inputs : {} };
}
