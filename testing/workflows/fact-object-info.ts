import type { ObjectInfo, ObjectInfoByClass } from "@atelier/server/workflows";
import { nodeFacts, outputTypes, type InputFact, type NodeFact } from "../comfyui/graph/node-facts.ts";

function specOf({ type, choices, style, min, max }: InputFact, files: readonly string[]): unknown {
  if (type !== "COMBO") return [type, { min, max }];
  const values = typeof choices === "string" ? files : (choices ?? []);
  const options = choices === "files of input" ? { image_upload: true } : {};
  return style === "list" ? [values, options] : ["COMBO", { ...options, options: values }];
}

function describe(fact: NodeFact, files: readonly string[]): ObjectInfo {
  const specs = (isOptional: boolean) =>
    Object.fromEntries(
      Object.entries(fact.inputs)
        .filter(([, input]) => (input.optional ?? false) === isOptional)
        .map(([name, input]) => [name, specOf(input, files)]),
    );
  return {
    input: { required: specs(false), optional: specs(true) },
    output: outputTypes(fact),
    output_node: fact.output_node ?? false,
  };
}

/** The node classes of ComfyUI 0.8.0 on a server whose model folders all hold these files. */
export function factObjectInfo(files: readonly string[]): ObjectInfoByClass {
  return new Map([...nodeFacts()].map(([name, fact]) => [name, describe(fact, files)]));
}
