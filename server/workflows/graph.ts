import { z } from "zod";

/** A graph in ComfyUI's API format: nodes by id; an input is a literal or a link `[nodeId, output]`. */
export type Graph = z.infer<typeof graphSchema>;
export type Link = readonly [nodeId: string, output: number];

const nodeSchema = z.object({
  class_type: z.string().min(1),
  inputs: z.record(z.string(), z.json()),
  _meta: z.object({ title: z.string().optional() }).optional(),
});

const maxNodes = 1_000;

function isEditorFormat(value: unknown): boolean {
  return typeof value === "object" && value !== null && "nodes" in value && "links" in value;
}

export const graphSchema = z
  .unknown()
  .refine((value) => !isEditorFormat(value), {
    error: "is in the editor's format: export it with Save (API)",
    abort: true,
  })
  .pipe(z.record(z.string().min(1), nodeSchema))
  .refine((graph) => Object.keys(graph).length <= maxNodes, `has more than ${maxNodes} nodes`);

/** A link as ComfyUI recognises it; a list meant as a literal stands in `{ "__value__": [...] }`. */
export function isLink(value: unknown): value is Link {
  return (
    Array.isArray(value) &&
    value.length === 2 &&
    typeof value[0] === "string" &&
    Number.isInteger(value[1]) &&
    value[1] >= 0
  );
}

/** Links of a graph to nodes that it does not have, one line each. */
export function findDanglingLinks(graph: Graph): string[] {
  return Object.entries(graph).flatMap(([nodeId, node]) =>
    Object.entries(node.inputs)
      .filter(([, value]) => isLink(value) && !Object.hasOwn(graph, value[0]))
      .map(
        ([input, value]) => `${nodeId}.${input} is linked to ${JSON.stringify(value)}, which is not there`,
      ),
  );
}
