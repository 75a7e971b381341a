import { findDanglingLinks, type Graph } from "./graph.ts";
import type { InputSpec, Manifest } from "./manifest.ts";
import { placeOf, readPlace } from "./place.ts";
import { takeOut } from "./take-out.ts";

function checkWithout(outputs: readonly string[], graph: Graph, spec: InputSpec): string[] {
  const { remove = [], set = {} } = spec.without ?? {};
  const rest = structuredClone(graph);
  takeOut(rest, spec.without);
  return [
    ...remove.filter((id) => !Object.hasOwn(graph, id)).map((id) => `the graph has no node ${id}`),
    ...remove.filter((id) => outputs.includes(id)).map((id) => `node ${id} is an output`),
    ...Object.keys(set)
      .filter((address) => readPlace(graph, address) === undefined)
      .map((address) => `the graph has no ${address}`),
    ...spec.to
      .filter((address) => Object.hasOwn(rest, placeOf(address).nodeId))
      .map((address) => `${address} is left without a picture`),
    ...findDanglingLinks(rest),
  ];
}

/** What is wrong with the way in which a picture is optional. */
export function checkInput(
  { outputs }: Manifest,
  graph: Graph,
  [role, spec]: readonly [string, InputSpec],
): string[] {
  const field = `inputs.${role}.without`;
  if (spec.required) return spec.without ? [`${field}: a required input is never left out`] : [];
  if (!spec.without) return [`${field}: is missing; it says how the graph works without the picture`];
  return checkWithout(outputs, graph, spec).map((reason) => `${field}: ${reason}`);
}
