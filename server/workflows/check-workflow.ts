import { checkGraph } from "./check.ts";
import type { Graph } from "./graph.ts";
import type { ObjectInfoByClass } from "./object-info.ts";
import { writePlace } from "./place.ts";
import { takeOut } from "./take-out.ts";
import type { Workflow } from "./workflow.ts";

type Limit = "min" | "max";

function atLimits({ graph, params }: Workflow, limit: Limit): Graph {
  const copy = structuredClone(graph);
  for (const spec of Object.values(params)) {
    if (spec.type !== "integer" && spec.type !== "number") continue;
    const value = spec.choices ? Math[limit](...Object.values(spec.choices)) : (spec[limit] ?? spec.default);
    if (value !== undefined) for (const address of spec.to) writePlace(copy, address, value);
  }
  return copy;
}

function withoutOptional({ graph, inputs }: Workflow): Graph[] {
  const optional = Object.values(inputs).filter(({ required }) => !required);
  return optional.map(({ without }) => {
    const copy = structuredClone(graph);
    takeOut(copy, without);
    return copy;
  });
}

/** Everything for which a server would refuse a job of the workflow: as it stands, without each optional picture, at the limits of its numbers. */
export function checkWorkflow(workflow: Workflow, objectInfo: ObjectInfoByClass): string[] {
  const graphs = [
    workflow.graph,
    ...withoutOptional(workflow),
    atLimits(workflow, "min"),
    atLimits(workflow, "max"),
  ];
  return [...new Set(graphs.flatMap((graph) => checkGraph(graph, objectInfo)))];
}
