import type { JsonObject } from "../json.ts";
import type { Comfy } from "../server/comfy.ts";
import { inputConfig } from "./input-config.ts";
import { nodeFacts, outputTypes, type NodeFact, type NodeLabel } from "./classes.ts";

/** The fact of a class that this server has. */
export function factOf(comfy: Comfy, name: string): NodeFact | undefined {
  return comfy.missingClasses.has(name) ? undefined : nodeFacts().get(name);
}

/** The entry of `/object_info` for a class. */
export function describeClass(comfy: Comfy, name: string, fact: NodeFact): JsonObject {
  const required: JsonObject = {};
  const optional: JsonObject = {};
  for (const [input, inputFact] of Object.entries(fact.inputs)) {
    const config = inputConfig(comfy, inputFact);
    (inputFact.optional ? optional : required)[input] = inputFact.isBare ? config.slice(0, 1) : config;
  }
  const { isNew = false, hidden, ...label } = fact.label;
  const sections = { required, optional, ...(hidden ? { hidden } : {}) };
  const filled = Object.entries(sections).filter(
    ([key, list]) => key === "required" || keysOf(list).length > 0,
  );
  const nulls = fact.outputs.map(() => null);
  return {
    input: Object.fromEntries(filled),
    input_order: Object.fromEntries(filled.map(([key, list]) => [key, keysOf(list)])),
    output: outputTypes(fact),
    output_is_list: fact.outputs.map(() => false),
    output_name: fact.outputs.map((output) => output.split(":").at(-1)),
    ...(isNew ? { output_tooltips: nulls, output_matchtypes: null } : {}),
    name,
    display_name: label.display_name,
    description: "",
    python_module: label.python_module,
    category: fact.category,
    output_node: fact.output_node ?? false,
    ...marksOf(fact.label),
  };
}

const keysOf = (list: JsonObject) => Object.keys(list);

/** Classes of the newer kind have each mark, the older ones what they are only. */
function marksOf({ isNew, deprecated, experimental }: NodeLabel): JsonObject {
  const marks = { deprecated: deprecated === true, experimental: experimental === true };
  if (isNew) return { ...marks, api_node: false };
  return Object.fromEntries(Object.entries(marks).filter(([, isSet]) => isSet));
}
