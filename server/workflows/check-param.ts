import { isLink, type Graph } from "./graph.ts";
import { paramTypes, type ParamName, type ParamSpec } from "./manifest.ts";
import { valueSchema } from "./params.ts";
import { readPlace } from "./place.ts";

function checkTo(graph: Graph, { type, to }: ParamSpec): string[] {
  const holds = type === "text" ? "string" : "number";
  return to.flatMap((address) => {
    const value = readPlace(graph, address);
    if (value === undefined) return [`the graph has no ${address}`];
    const isFit = typeof value === holds || isLink(value);
    return isFit ? [] : [`${address} holds no ${type === "text" ? "text" : "number"}`];
  });
}

function checkValues(spec: ParamSpec): string[] {
  if (spec.type === "seed") return [];
  const problems: string[] = [];
  if (spec.required && spec.default !== undefined) problems.push("is required and has a default");
  if (spec.type !== "text" && !spec.choices) {
    const { min, max } = spec;
    if (min === undefined || max === undefined) problems.push("needs min and max, or choices");
    else if (min > max) problems.push("has a min above its max");
  }
  if (spec.default !== undefined && !valueSchema(spec).safeParse(spec.default).success) {
    problems.push("has a default that is not among its values");
  }
  return problems;
}

/** What is wrong with one param of a manifest. */
export function checkParam(graph: Graph, name: string, spec: ParamSpec): string[] {
  const wanted = paramTypes[name as ParamName];
  const problems = [...checkTo(graph, spec), ...checkValues(spec)];
  if (spec.type !== wanted) problems.push(`must be of type ${wanted}`);
  return problems.map((problem) => `params.${name}: ${problem}`);
}
