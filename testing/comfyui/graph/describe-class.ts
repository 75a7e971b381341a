import type { JsonObject } from "../json.ts";
import type { Comfy } from "../server/comfy.ts";
import { inputConfig } from "./input-config.ts";
import { nodeFacts, outputTypes, type NodeFact } from "./node-facts.ts";

/** The fact of a class that this server has. */
export function factOf(comfy: Comfy, name: string): NodeFact | undefined {
  return comfy.missingClasses.has(name) ? undefined : nodeFacts().get(name);
}

/** The entry of `/object_info` for a class. */
export function describeClass(comfy: Comfy, name: string, fact: NodeFact): JsonObject {
  const required: JsonObject = {};
  const optional: JsonObject = {};
  for (const [input, inputFact] of Object.entries(fact.inputs)) {
    (inputFact.optional ? optional : required)[input] = inputConfig(comfy, inputFact);
  }
  const order: JsonObject = { required: Object.keys(required) };
  if (Object.keys(optional).length > 0) order.optional = Object.keys(optional);
  return {
    input: Object.keys(optional).length > 0 ? { required, optional } : { required },
    input_order: order,
    is_input_list: false,
    output: outputTypes(fact),
    output_is_list: fact.outputs.map(() => false),
    output_name: fact.outputs.map((output) => output.split(":").at(-1)),
    name,
    display_name: name,
    description: "",
    python_module: "nodes",
    category: fact.category,
    output_node: fact.output_node ?? false,
    deprecated: false,
    experimental: false,
    api_node: false,
  };
}
