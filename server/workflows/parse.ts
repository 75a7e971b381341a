import { optionalInputs, requiredInputs, type JobKind } from "../engines/index.ts";
import { checkInput } from "./check-input.ts";
import { checkParam } from "./check-param.ts";
import { findDanglingLinks, type Graph } from "./graph.ts";
import type { Manifest, ParamName } from "./manifest.ts";
import { readPlace } from "./place.ts";

function checkPlaces(graph: Graph, field: string, addresses: readonly string[]): string[] {
  return addresses.flatMap((address) => {
    const value = readPlace(graph, address);
    if (value === undefined) return [`${field}: the graph has no ${address}`];
    return typeof value === "string" ? [] : [`${field}: ${address} holds no text`];
  });
}

function checkOutputs({ outputs, prefix }: Manifest, graph: Graph): string[] {
  return outputs.flatMap((nodeId) => {
    if (!Object.hasOwn(graph, nodeId)) return [`outputs: the graph has no node ${nodeId}`];
    const address = `${nodeId}.filename_prefix`;
    const isShared = readPlace(graph, address) !== undefined && !prefix.includes(address);
    return isShared ? [`prefix: ${address} is missing, so two jobs would share a file`] : [];
  });
}

function checkRoles({ kind, inputs, paste }: Manifest): string[] {
  const required = requiredInputs(kind);
  const known = [...required, ...optionalInputs(kind)];
  const problems = required
    .filter((role) => !inputs[role]?.required)
    .map((role) => `inputs: ${kind} needs the required input "${role}"`);
  for (const role of Object.keys(inputs)) {
    if (!known.some((name) => name === role)) problems.push(`inputs: ${kind} takes no "${role}"`);
  }
  if (paste && !inputs.mask) problems.push('paste: needs the input "mask"');
  return problems;
}

/** Params that only requests of one kind have; on another kind nobody could set them. */
const ofOneKind: Partial<Record<ParamName, JobKind>> = { category: "outfit_change", scale: "upscale" };

function checkKind({ kind, params }: Manifest): string[] {
  return Object.keys(params)
    .filter((name) => (ofOneKind[name as ParamName] ?? kind) !== kind)
    .map((name) => `params: ${kind} has no "${name}"`);
}

function checkShared({ params, inputs, models, prefix }: Manifest): string[] {
  const texts = Object.values(params).filter(({ type }) => type === "text");
  const others = Object.values(params).filter(({ type }) => type !== "text");
  const written = [
    ...new Set(texts.flatMap(({ to }) => to)),
    ...[...others, ...Object.values(inputs)].flatMap(({ to }) => to),
    ...models,
    ...prefix,
  ];
  const twice = written.filter((address, at) => written.indexOf(address) !== at);
  return [...new Set(twice)].map((address) => `${address} is written twice; only texts may share a place`);
}

/** Everything that makes a manifest unfit for its graph, one line each. */
export function checkManifest(manifest: Manifest, graph: Graph): string[] {
  const { kind, params, inputs, models, prefix } = manifest;
  return [
    ...findDanglingLinks(graph),
    ...(kind === "text_to_image" && !params.prompt ? ['params: text_to_image needs "prompt"'] : []),
    ...checkKind(manifest),
    ...Object.entries(params).flatMap(([name, spec]) => checkParam(graph, name, spec)),
    ...checkRoles(manifest),
    ...Object.entries(inputs).flatMap(([role, spec]) => [
      ...checkPlaces(graph, `inputs.${role}`, spec.to),
      ...checkInput(manifest, graph, [role, spec]),
    ]),
    ...checkPlaces(graph, "models", models),
    ...checkPlaces(graph, "prefix", prefix),
    ...checkOutputs(manifest, graph),
    ...checkShared(manifest),
  ];
}
