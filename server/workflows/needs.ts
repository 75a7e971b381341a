import { findInput, type ObjectInfo, type ObjectInfoByClass, readInputFacts } from "./inputs.ts";
import { listedPlaces, placeOf } from "./listed.ts";
import { findModel, isModelFile, type ModelChoices } from "./models.ts";
import { mostDrawn, type SeedRange } from "./params.ts";
import { type ModelInput, parseInputAddress, type Workflow } from "./workflow.ts";

const seedAddresses = ({ graph, params }: Pick<Workflow, "graph" | "params">) =>
  (params.seed?.to ?? []).map((address) => {
    const { nodeId, input } = parseInputAddress(address);
    return { name: graph[nodeId]?.class_type ?? "", input, values: graph[nodeId]?.inputs ?? {} };
  });

/** By `<class>.<input>`: which seeds the nodes of a server take. */
export type SeedRanges = ReadonlyMap<string, SeedRange>;

/** The ranges of every input that a seed is written to. */
export function readSeedRanges(
  workflows: readonly Pick<Workflow, "graph" | "params">[],
  objectInfo: ObjectInfoByClass,
): SeedRanges {
  const ranges = new Map<string, SeedRange>();
  for (const { name, input, values } of workflows.flatMap(seedAddresses)) {
    const info = objectInfo.get(name);
    const facts = info && findInput(info, input, values);
    if (facts)
      ranges.set(`${name}.${input}`, { min: facts.min ?? 0, max: facts.max ?? Number.MAX_SAFE_INTEGER });
  }
  return ranges;
}

/** The seeds that every node of the workflow takes which gets one. */
export function seedRange(workflow: Pick<Workflow, "graph" | "params">, ranges: SeedRanges): SeedRange {
  const found = seedAddresses(workflow).flatMap(({ name, input }) => ranges.get(`${name}.${input}`) ?? []);
  return {
    min: Math.max(0, ...found.map(({ min }) => min)),
    max: Math.min(Number.MAX_SAFE_INTEGER, ...found.map(({ max }) => max)),
  };
}

/** Classes of outputs that are no picture, whatever they take in. */
const otherOutputs = /video|webm|mp4|audio|3d|glb|mesh|latent|text|string|svg|previewany|showany/i;

function makesNoPicture(name: string, info: ObjectInfo | null | undefined): boolean {
  if (otherOutputs.test(name)) return true;
  if (!info) return false;
  const inputs = Object.values({ ...info.input?.required, ...info.input?.optional });
  return !inputs.some((spec) => /IMAGE|MASK|MATCHTYPE|AUTOGROW|\*/.test(readInputFacts(spec).type));
}

/** What is no fault of a workflow but may surprise, one line each; more with the node classes of a server. */
export function noteWorkflow(workflow: Workflow, objectInfo: ObjectInfoByClass | null): string[] {
  const outputs = workflow.outputs.flatMap((id) => {
    const name = workflow.graph[id]?.class_type ?? "";
    const isOdd = makesNoPicture(name, objectInfo?.get(name));
    return isOdd ? [`node ${id} (${name}) is an output, but makes no picture that can be shown`] : [];
  });
  const { max } = seedRange(workflow, readSeedRanges([workflow], objectInfo ?? new Map()));
  const { seed } = workflow.params;
  const isFolded = seed?.type === "seed" && seed.max === undefined && max < mostDrawn;
  const seeds = isFolded
    ? [`seeds above ${max} are folded into the range of the node; a max in the manifest refuses them`]
    : [];
  return [...outputs, ...seeds];
}

/** A model that a server lacks; with the choices that fit equally well, where there are several. */
interface MissingModel extends ModelInput {
  readonly several: readonly string[];
}

/** What a server lacks to run a workflow. */
export interface Missing {
  readonly classes: readonly string[];
  readonly models: readonly MissingModel[];
}

function findMissingModel(model: ModelInput, objectInfo: ObjectInfoByClass): MissingModel[] {
  const info = objectInfo.get(model.class);
  const facts = info && findInput(info, model.input, null);
  // Models of a missing class are not listed.
  if (!info || (facts && facts.choices === null)) return [];
  const found = facts ? findModel(model.file, facts.choices ?? []) : null;
  if (found && "choice" in found) return [];
  return [{ ...model, several: found ? found.several : [] }];
}

type WithNeeds = Pick<Workflow, "classes" | "models" | "graph" | "params">;

/** The places that each job fills with what the server lists, which lists nothing there. */
function findEmptyLists(workflow: WithNeeds, objectInfo: ObjectInfoByClass): MissingModel[] {
  return listedPlaces(workflow).flatMap(({ isRequired, class: name, input }) => {
    const info = objectInfo.get(name);
    const hasSome = info && (findInput(info, input, null)?.choices ?? []).length > 0;
    return isRequired && info && !hasSome ? [{ class: name, input, file: "of any name", several: [] }] : [];
  });
}

/** Compares the needs of a workflow with a server. */
export function findMissing(workflow: WithNeeds, objectInfo: ObjectInfoByClass): Missing {
  const { classes, models } = workflow;
  const missing = models.flatMap((model) => findMissingModel(model, objectInfo));
  return {
    classes: classes.filter((name) => !objectInfo.get(name)),
    models: [...missing, ...findEmptyLists(workflow, objectInfo)],
  };
}

export function isComplete({ classes, models }: Missing): boolean {
  return classes.length === 0 && models.length === 0;
}

/** What a server lacks, one line each, for the admin. */
export function describeMissing({ classes, models }: Missing): string[] {
  return [
    ...classes.map((name) => `node ${name}`),
    ...models.map(
      ({ file, class: name, input, several }) =>
        `model ${file} (${name}.${input})${several.length > 0 ? `: it may be any of ${several.join(", ")}` : ""}`,
    ),
  ];
}

/** The choices of a server for every input of the graphs that holds a model file, or that a job chooses. */
export function readModelChoices(
  workflows: readonly Pick<Workflow, "graph" | "params">[],
  objectInfo: ObjectInfoByClass,
): ModelChoices {
  const choices = new Map<string, readonly string[]>();
  // Nodes of one class may differ in the branch of a dynamic list.
  const add = (place: string, found: readonly string[]) => {
    const known = choices.get(place);
    const isSame = known?.length === found.length && known.every((choice, at) => choice === found[at]);
    if (!isSame) choices.set(place, known ? [...new Set([...known, ...found])] : found);
  };
  for (const place of workflows.flatMap(listedPlaces)) {
    const info = objectInfo.get(place.class);
    const found = info && findInput(info, place.input, null)?.choices;
    if (found) add(placeOf(place), found);
  }
  for (const { class_type: name, inputs } of workflows.flatMap(({ graph }) => Object.values(graph))) {
    const info = objectInfo.get(name);
    for (const input of info ? Object.keys(inputs).filter((key) => isModelFile(inputs[key])) : []) {
      const facts = info && findInput(info, input, inputs);
      if (facts?.choices) add(`${name}.${input}`, facts.choices);
    }
  }
  return choices;
}

/** What is known of a server's card. */
interface Card {
  /** As the server names it: cuda, mps, cpu and so on. */
  readonly device: string | null;
  readonly vramBytes: number | null;
}

const gibBytes = 2 ** 30;
/** Graphics cards report up to a tenth less memory than their nominal size. */
const nominalShare = 0.9;
/** A card that says less has a driver that does not know (shared memory, DirectML, a virtual card). */
const leastBelievedBytes = 2 * gibBytes;

/** Whether the server runs in the memory of a card whose reported size can be believed. */
export function knowsMemory({ device, vramBytes }: Card): boolean {
  return device !== null && device !== "cpu" && (vramBytes ?? 0) >= leastBelievedBytes;
}

/** Whether the card is smaller than the workflow wants. A hint: servers swap models in and out, and many run all the same. */
export function isTight({ vramGib }: Pick<Workflow, "vramGib">, card: Card): boolean {
  return knowsMemory(card) && (card.vramBytes ?? 0) / gibBytes < vramGib * nominalShare;
}
