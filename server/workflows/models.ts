import { normalized } from "../platform/index.ts";
import type { Graph } from "./workflow.ts";

/** Files of models; other choices, such as samplers, have exact names. */
const modelFile = /\.(safetensors|sft|ckpt|pt|pth|bin|gguf|onnx)$/i;

export const isModelFile = (value: unknown): value is string =>
  typeof value === "string" && modelFile.test(value);

/** The nodes that put a LoRA on a model, with or without its text encoder; both name it in `lora_name`. */
export const loraNodes = { both: "LoraLoader", model: "LoraLoaderModelOnly" } as const;
export const loraInput = "lora_name";

/** What a server calls a model; several choices when they fit equally well; null when none fits. */
export type FoundModel = { readonly choice: string } | { readonly several: readonly string[] } | null;

interface Spelling {
  readonly choice: string;
  /** With slashes of one kind, and letters composed. */
  readonly path: string;
}

function spell(choice: string): Spelling {
  return {
    choice,
    path: normalized(choice.replaceAll("\\", "/").replace(/^\.?\/+/, ""), "NFC"),
  };
}

const lower = (text: string) => text.toLowerCase();
const baseOf = (path: string) => path.slice(path.lastIndexOf("/") + 1);
const folderOf = (path: string) => path.slice(0, Math.max(0, path.lastIndexOf("/")));
const stemOf = (path: string) => path.replace(modelFile, "");
/** Whether one folder is the end of the other, as `SDXL` and `checkpoints/SDXL`. */
const isSameFolder = (a: string, b: string) => a === b || a.endsWith(`/${b}`) || b.endsWith(`/${a}`);

/** Names that say nothing without their folder: many models are published with a file of this name each. */
const isCommonName = (path: string) =>
  /^(model|adapter_model|pytorch_model|pytorch_lora_weights|diffusion_model|diffusion_pytorch_model)([.-].*)?\.\w+$/i.test(
    baseOf(path),
  );

/** From the surest to the least sure: how a choice may be the wanted file. The first that fits any choice decides. */
const likenesses: readonly ((choice: string, wanted: string) => boolean)[] = [
  (choice, wanted) => choice === wanted,
  (choice, wanted) => lower(choice) === lower(wanted),
  (choice, wanted) => baseOf(choice) === baseOf(wanted),
  (choice, wanted) => lower(baseOf(choice)) === lower(baseOf(wanted)),
  (choice, wanted) => lower(stemOf(baseOf(choice))) === lower(stemOf(baseOf(wanted))),
];

/**
 * Finds a model file among the choices of a server, which name folders, slashes, cases and endings in their own way: the
 * exact name first, then the same path, then the same base name, of several the one in the same folder.
 */
export function findModel(wanted: string, choices: readonly string[]): FoundModel {
  if (choices.includes(wanted)) return { choice: wanted };
  if (!isModelFile(wanted)) return null;
  const { path } = spell(wanted);
  const spellings = [...new Set(choices)].filter(isModelFile).map(spell);
  for (const isAlike of likenesses) {
    const alike = spellings.filter((one) => isAlike(one.path, path));
    const near = alike.filter((one) => isSameFolder(lower(folderOf(one.path)), lower(folderOf(path))));
    const fitting = isCommonName(path) && folderOf(path) !== "" ? near : alike;
    const [first, ...others] = fitting.length > 1 && near.length > 0 ? near : fitting;
    if (!first) continue;
    return others.length === 0
      ? { choice: first.choice }
      : { several: [first, ...others].map(({ choice }) => choice) };
  }
  return null;
}

/** The models of a workflow. A manifest need not name its model files; without files and memory it needs no model. */
interface ModelNeeds {
  readonly name: string;
  readonly models: readonly { readonly file: string }[];
  readonly vramGib: number;
}

/**
 * Names of the workflows that a server begins without a load after a run of `ran`: itself, those whose model files are all among
 * its, and those that need no model. Null when `ran` needs no model: then as many are loaded as before.
 */
export function loadedAfter(ran: string, workflows: readonly ModelNeeds[]): readonly string[] | null {
  const own = workflows.find(({ name }) => name === ran);
  if (own && needsNoModel(own)) return null;
  const files = new Set(own?.models.map(({ file }) => file));
  const isLoaded = (each: ModelNeeds) =>
    needsNoModel(each) || (each.models.length > 0 && each.models.every(({ file }) => files.has(file)));
  return [ran, ...workflows.filter((each) => each.name !== ran && isLoaded(each)).map(({ name }) => name)];
}

const needsNoModel = ({ models, vramGib }: ModelNeeds) => models.length === 0 && vramGib === 0;

/** The choices of a server by `<class>.<input>`. */
export type ModelChoices = ReadonlyMap<string, readonly string[]>;

/** A copy of the graph in which each model file has the server's own spelling; what is not found stays as it is. */
export function spellModels(graph: Graph, choices: ModelChoices): Graph {
  const copy = structuredClone(graph);
  for (const { class_type: name, inputs } of Object.values(copy))
    for (const [input, value] of Object.entries(inputs)) {
      const known = isModelFile(value) ? choices.get(`${name}.${input}`) : undefined;
      const found = known && isModelFile(value) ? findModel(value, known) : null;
      if (found && "choice" in found) inputs[input] = found.choice;
    }
  return copy;
}
