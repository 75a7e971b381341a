import {
  type FoundSettings,
  type Lora,
  noSettings,
  numberIn,
  type Plain,
  recordIn,
  recordsIn,
  textIn,
} from "./found.ts";

interface Node {
  readonly type: string;
  readonly inputs: Plain;
}

type Graph = ReadonlyMap<string, Node>;

const mostNodes = 5_000;

/**
 * The settings of a graph of ComfyUI: those of the sampler that stands first on the way to what is saved, with its texts.
 * `prompt` is the graph that ran; `workflow`, the drawing, is read where there is no other.
 */
export function fromComfyui(jsonOf: (name: string) => Plain | null): FoundSettings | null {
  const ran = jsonOf("prompt");
  const drawn = jsonOf("workflow");
  const graph = (ran && graphOf(ran)) ?? (drawn && graphOfDrawing(drawn));
  return graph ? settingsOf(graph) : null;
}

function graphOf(json: Plain): Graph | null {
  const nodes = Object.entries(json)
    .slice(0, mostNodes)
    .flatMap(([id, value]): [string, Node][] => {
      const node = recordIn({ value }, "value");
      const type = node && textIn(node, "class_type");
      return node && type !== null ? [[id, { type, inputs: recordIn(node, "inputs") ?? {} }]] : [];
    });
  return nodes.length === 0 ? null : new Map(nodes);
}

/** The values of a drawn node stand in a list: what they are called, for the nodes that are read here. */
const widgets: Readonly<Record<string, readonly string[]>> = {
  KSampler: ["seed", "", "steps", "cfg", "sampler_name", "scheduler"],
  KSamplerAdvanced: ["", "noise_seed", "", "steps", "cfg", "sampler_name", "scheduler"],
  RandomNoise: ["noise_seed"],
  KSamplerSelect: ["sampler_name"],
  BasicScheduler: ["scheduler", "steps"],
  CFGGuider: ["cfg"],
  FluxGuidance: ["guidance"],
  CLIPTextEncode: ["text"],
  PrimitiveString: ["value"],
  PrimitiveStringMultiline: ["value"],
  EmptyLatentImage: ["width", "height"],
  EmptySD3LatentImage: ["width", "height"],
  EmptyFlux2LatentImage: ["width", "height"],
  CheckpointLoaderSimple: ["ckpt_name"],
  UNETLoader: ["unet_name"],
  LoraLoader: ["lora_name", "strength_model"],
  LoraLoaderModelOnly: ["lora_name", "strength_model"],
};

function graphOfDrawing(json: Plain): Graph | null {
  const { links } = json;
  const list: readonly unknown[] = Array.isArray(links) ? links.slice(0, 4 * mostNodes) : [];
  // [id, from node, from slot, …]
  const sources = new Map(
    list.flatMap((link) => (Array.isArray(link) ? [[String(link[0]), [String(link[1]), 0]] as const] : [])),
  );
  const nodes = recordsIn(json, "nodes").map((node): [string, Node] => {
    const type = textIn(node, "type") ?? "";
    const names = Object.hasOwn(widgets, type) ? (widgets[type] ?? []) : [];
    const values = node["widgets_values"];
    const own = names.map((name, at): [string, unknown] => [
      name,
      Array.isArray(values) ? values[at] : undefined,
    ]);
    const linked = recordsIn(node, "inputs").flatMap((input): [string, unknown][] => {
      const source = sources.get(String(input["link"]));
      return source ? [[textIn(input, "name") ?? "", source]] : [];
    });
    return [String(node["id"]), { type, inputs: Object.fromEntries([...own, ...linked]) }];
  });
  return nodes.length === 0 ? null : new Map(nodes);
}

/** The node that a link comes from; null for a value. */
function linkedNode(graph: Graph, value: unknown): string | null {
  const [id] = Array.isArray(value) && value.length === 2 ? value : [];
  return (typeof id === "string" || typeof id === "number") && graph.has(String(id)) ? String(id) : null;
}

/** All nodes before a link, the nearest first, each once. */
function* nodesBefore(graph: Graph, link: unknown): Generator<Node> {
  const first = linkedNode(graph, link);
  const ids = first === null ? [] : [first];
  const known = new Set(ids);
  for (let at = 0; at < ids.length; at += 1) {
    const node = graph.get(ids[at] ?? "");
    if (!node) continue;
    yield node;
    // Behind it stand the texts of the other side.
    if (/ZeroOut/i.test(node.type)) continue;
    for (const value of Object.values(node.inputs)) {
      const id = linkedNode(graph, value);
      if (id !== null && !known.has(id)) {
        known.add(id);
        ids.push(id);
      }
    }
  }
}

function firstBefore<Found>(graph: Graph, link: unknown, pick: (node: Node) => Found | null): Found | null {
  for (const node of nodesBefore(graph, link)) {
    const found = pick(node);
    if (found !== null) return found;
  }
  return null;
}

const isSampler = ({ type, inputs }: Node) =>
  /sampler/i.test(type) && ["latent_image", "latent", "samples"].some((name) => Object.hasOwn(inputs, name));
const isSaver = ({ type }: Node) => /save|preview|output/i.test(type) && /image/i.test(type);

const mostSavers = 20;

/** The sampler that is farthest from what is saved: those after it refine or enlarge. */
function findSampler(graph: Graph): Node | null {
  const nodes = [...graph.values()];
  for (const saver of nodes.filter(isSaver).slice(0, mostSavers)) {
    const link = Object.values(saver.inputs).find((value) => linkedNode(graph, value) !== null);
    const sampler = [...nodesBefore(graph, link)].findLast(isSampler);
    if (sampler) return sampler;
  }
  return nodes.find(isSampler) ?? null;
}

const promptNames = ["text", "prompt", "text_g", "t5xxl", "clip_l", "positive", "string", "value"];

/** The inputs of a sampler, which newer graphs part between it, a guider and a scheduler. */
function sidesOf(graph: Graph, { inputs }: Node) {
  const guider: Plain =
    firstBefore(graph, inputs["guider"], (node) =>
      linkedNode(graph, node.inputs["positive"] ?? node.inputs["conditioning"]) === null ? null : node.inputs,
    ) ?? {};
  return {
    guider,
    positive: inputs["positive"] ?? guider["positive"] ?? guider["conditioning"],
    negative: inputs["negative"] ?? guider["negative"],
    model: inputs["model"] ?? guider["model"],
    latent: inputs["latent_image"] ?? inputs["latent"] ?? inputs["samples"],
  };
}

function settingsOf(graph: Graph): FoundSettings | null {
  const sampler = findSampler(graph);
  if (!sampler) return null;
  const { inputs } = sampler;
  const { guider, positive, negative, model, latent } = sidesOf(graph, sampler);
  return {
    ...noSettings,
    source: "comfyui",
    prompt: firstBefore(graph, positive, promptOf) ?? "",
    negativePrompt: firstBefore(graph, negative, promptOf) ?? "",
    seed: numberOf(graph, inputs, "seed", "noise_seed") ?? numberBefore(graph, inputs["noise"], "noise_seed"),
    steps: numberOf(graph, inputs, "steps") ?? numberBefore(graph, inputs["sigmas"], "steps"),
    // Models that are distilled take their guidance with the text, and a CFG of 1.
    guidance:
      numberBefore(graph, positive, "guidance") ??
      numberOf(graph, inputs, "cfg") ??
      numberOf(graph, guider, "cfg"),
    ...sizeBefore(graph, latent),
    model: firstBefore(graph, model, ({ inputs: own }) =>
      textIn(own, "ckpt_name", "unet_name", "model_name"),
    ),
    loras: [...nodesBefore(graph, model)].flatMap(loraOf),
    sampler: textIn(inputs, "sampler_name") ?? textBefore(graph, inputs["sampler"], "sampler_name"),
    scheduler: textIn(inputs, "scheduler") ?? textBefore(graph, inputs["sigmas"], "scheduler"),
  };
}

const promptOf = ({ inputs }: Node) => textIn(inputs, ...promptNames);

/** A number of a node, or the one that another node gives for it. */
function numberOf(graph: Graph, inputs: Plain, ...names: string[]): number | null {
  const link = names.map((name) => inputs[name]).find((value) => linkedNode(graph, value) !== null);
  return numberIn(inputs, ...names) ?? numberBefore(graph, link, ...names, "value", "int", "number");
}

const numberBefore = (graph: Graph, link: unknown, ...names: string[]) =>
  firstBefore(graph, link, ({ inputs }) => numberIn(inputs, ...names));

const textBefore = (graph: Graph, link: unknown, name: string) =>
  firstBefore(graph, link, ({ inputs }) => textIn(inputs, name));

function sizeBefore(graph: Graph, latent: unknown): Pick<FoundSettings, "widthPx" | "heightPx"> {
  const sized = firstBefore(graph, latent, ({ inputs }) =>
    Object.hasOwn(inputs, "width") && Object.hasOwn(inputs, "height") ? inputs : null,
  );
  if (sized === null) return { widthPx: null, heightPx: null };
  return { widthPx: numberOf(graph, sized, "width"), heightPx: numberOf(graph, sized, "height") };
}

function loraOf({ inputs }: Node): Lora[] {
  const name = textIn(inputs, "lora_name");
  return name === null ? [] : [{ name, weight: numberIn(inputs, "strength_model", "strength") }];
}
