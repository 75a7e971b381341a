import type { OfferedParam, OfferedWorkflow } from "../../client/queries.ts";
import { pictureInputRoles } from "../../client/references.ts";
import { choiceNameOf, choiceOf } from "../../client/submit/job.ts";
import { type ListedSetting, maxPromptCharacters } from "../form.ts";
import { readLoras } from "../../jobs/params.ts";
import { nearestAllowed } from "../../client/numbers.ts";
import type { formOfJob } from "../requests.ts";
import type { FoundSettings } from "@atelier/server/carried";

/** What Create cannot do as the file says. */
export type Lack =
  | { readonly what: "model" | "workflow"; readonly name: string }
  | { readonly what: "loras" | "styles" | "others"; readonly names: readonly string[] }
  | { readonly what: "seed" | "negativePrompt" }
  | { readonly what: "prompt"; readonly characters: number }
  | { readonly what: "untaken"; readonly setting: Setting | ListedSetting }
  | { readonly what: "unlisted"; readonly setting: ListedSetting; readonly name: string }
  | { readonly what: "moved"; readonly setting: Setting; readonly from: number; readonly to: number };

type Setting = "steps" | "guidance" | "width" | "height" | "seed";

interface Filling {
  /** What the form is filled from, as from a job of this studio. */
  readonly job: Parameters<typeof formOfJob>[0];
  /** Title of the workflow or model that Create will use; null where none is offered. */
  readonly title: string | null;
  readonly lacks: readonly Lack[];
}

/** What Create offers here. */
interface Offered {
  readonly workflows: readonly OfferedWorkflow[];
  /** The workflow that is chosen now. */
  readonly chosenName: string | null;
  /** Names of styles. */
  readonly styles: readonly string[];
  /** What servers list, by workflow, as far as it is known. */
  readonly listed?: Readonly<Record<string, Listed | undefined>>;
}

type Listed = Readonly<Partial<Record<ListedSetting | "loras", readonly string[]>>>;

/** How Create is filled from the settings of a file: with the workflow that has its model, else with the one that is chosen now. */
export function fillingOf(
  found: FoundSettings,
  { workflows: offered, chosenName, styles: known, listed = {} }: Offered,
): Filling {
  const wanted = wantedOf(found, offered, listed);
  const workflow = wanted ?? offered.find(({ name }) => name === chosenName) ?? offered[0];
  const numbers = numbersOf(found);
  const params = {
    prompt: found.prompt.slice(0, maxPromptCharacters),
    negativePrompt: found.negativePrompt.slice(0, maxPromptCharacters),
    ...Object.fromEntries(Object.entries(numbers).filter(([, value]) => value !== null)),
  };
  const styles = found.styles.filter((name) => known.includes(name));
  const served = servedOf(listed, workflow);
  const loras = lorasOf(found, workflow, served.loras ?? []);
  const chosen = chosenOf(found, workflow, served);
  const { prompt, negativePrompt } = params;
  const template = { drawn: { prompt, negativePrompt }, styles: styles.map((name) => ({ name })) };
  return {
    job: {
      workflow: null,
      model: null,
      ...(workflow && choiceOf(workflow)),
      params: {
        ...params,
        ...Object.fromEntries(chosen.map(({ setting, value }) => [setting, value])),
        loras: loras.taken,
      },
      inputs: found.inputs.flatMap(({ role, imageId }) => {
        const known = pictureInputRoles.find((name) => name === role);
        return known === undefined ? [] : [{ role: known, imageId }];
      }),
      template,
    },
    title: workflow?.title ?? null,
    lacks: [
      ...choiceLacks(found, wanted),
      ...(workflow ? [...textLacks(found, workflow), ...numberLacks(numbers, workflow)] : []),
      ...listedLacks(chosen, { workflow, wanted }),
      ...namesLacks({
        ...found,
        loras: loras.lacking,
        styles: found.styles.filter((name) => !known.includes(name)),
      }),
      ...(found.seed === numbers.seed ? [] : [{ what: "seed" } as const]),
    ],
  };
}

/** What servers list for the workflow, as far as it is known. */
const servedOf = (listed: NonNullable<Offered["listed"]>, workflow: OfferedWorkflow | undefined): Listed =>
  (workflow && listed[workflow.name]) ?? {};

/** The numbers of the form. A seed that JavaScript cannot count with would be another one. */
function numbersOf({ seed, steps, guidance, widthPx, heightPx }: FoundSettings) {
  return {
    steps,
    guidance,
    width: widthPx,
    height: heightPx,
    seed: Number.isSafeInteger(seed) ? seed : null,
  };
}

function namesLacks({ loras, styles, others }: FoundSettings): readonly Lack[] {
  const all = [
    { what: "styles", names: styles },
    { what: "loras", names: loras.map(({ name }) => name) },
    { what: "others", names: others },
  ] as const;
  return all.filter(({ names }) => names.length > 0);
}

interface Chosen {
  readonly setting: ListedSetting;
  /** As the file has it. */
  readonly name: string;
  /** As a server lists it; undefined where none does. */
  readonly value: string | undefined;
}

/** Checkpoint, sampler and scheduler of the file, of those that servers list for the workflow. */
function chosenOf(
  found: FoundSettings,
  workflow: OfferedWorkflow | undefined,
  served: Listed,
): readonly Chosen[] {
  if (workflow === undefined) return [];
  const { params } = workflow;
  const named = { checkpoint: found.model, sampler: found.sampler, scheduler: found.scheduler };
  return (["checkpoint", "sampler", "scheduler"] as const).flatMap((setting) => {
    const name = named[setting];
    const known = params[setting] === undefined ? [] : (served[setting] ?? []);
    return name === null ? [] : [{ setting, name, value: known.find((one) => spell(one) === spell(name)) }];
  });
}

interface Used {
  readonly workflow: OfferedWorkflow | undefined;
  readonly wanted: OfferedWorkflow | undefined;
}

/** Of a checkpoint only where its workflow takes any: else the choice of the workflow says whether it is here. */
function listedLacks(chosen: readonly Chosen[], { workflow, wanted }: Used): readonly Lack[] {
  return chosen.flatMap(({ setting, name, value }): readonly Lack[] => {
    const takes = workflow?.params[setting] !== undefined;
    if (value !== undefined || (setting === "checkpoint" && !(takes && wanted))) return [];
    return [takes ? { what: "unlisted", setting, name } : { what: "untaken", setting }];
  });
}

/** Those that the workflow takes and a server has, whatever folder and ending it gives them. */
function lorasOf({ loras }: FoundSettings, workflow: OfferedWorkflow | undefined, served: readonly string[]) {
  const known = workflow?.params.loras === undefined ? [] : served;
  const all = loras.map((lora) => ({ lora, name: known.find((one) => spell(one) === spell(lora.name)) }));
  return {
    taken: readLoras(
      all.flatMap(({ lora, name }) => (name === undefined ? [] : [{ name, weight: lora.weight ?? 1 }])),
    ),
    lacking: all.flatMap(({ lora, name }) => (name === undefined ? [lora] : [])),
  };
}

/** The offered workflow with the model of the file; those that can run now come first. */
function wantedOf(
  { choice, model }: FoundSettings,
  offered: readonly OfferedWorkflow[],
  listed: NonNullable<Offered["listed"]>,
): OfferedWorkflow | undefined {
  if (choice) return offered.find(({ name }) => name === choiceNameOf(choice));
  if (model === null) return undefined;
  const spelt = spell(model);
  const isIt = (name: string) => spell(name) === spelt;
  return (
    offered.find(({ title, models }) => [title, ...models].some(isIt)) ??
    offered.find(({ name, params }) => params.checkpoint && listed[name]?.checkpoint?.some(isIt))
  );
}

/** Programs spell models with or without folder, ending, capitals and marks between words. */
function spell(model: string): string {
  const file = model.slice(Math.max(model.lastIndexOf("/"), model.lastIndexOf("\\")) + 1);
  return file
    .replace(/\.(?:safetensors|sft|ckpt|gguf)$/i, "")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, "");
}

function choiceLacks({ choice, model }: FoundSettings, wanted: OfferedWorkflow | undefined): readonly Lack[] {
  const own = choice && choiceNameOf(choice);
  if (wanted || (own === null && model === null)) return [];
  return own === null ? [{ what: "model", name: model ?? "" }] : [{ what: "workflow", name: own }];
}

function textLacks({ prompt, negativePrompt }: FoundSettings, workflow: OfferedWorkflow): readonly Lack[] {
  const isLong = Math.max(prompt.length, negativePrompt.length) > maxPromptCharacters;
  const isLost = negativePrompt !== "" && workflow.params.negativePrompt === undefined;
  return [
    ...(isLong ? [{ what: "prompt", characters: maxPromptCharacters } as const] : []),
    ...(isLost ? [{ what: "negativePrompt" } as const] : []),
  ];
}

function numberLacks(
  numbers: Readonly<Record<Setting, number | null>>,
  { params }: OfferedWorkflow,
): readonly Lack[] {
  const settings = ["steps", "guidance", "width", "height", "seed"] as const;
  return settings.flatMap((setting): readonly Lack[] => {
    const from = numbers[setting];
    const param: OfferedParam | undefined = params[setting];
    if (from === null) return [];
    if (param === undefined) return [{ what: "untaken", setting }];
    const to = setting === "seed" ? from : nearestAllowed(from, param);
    return to === from ? [] : [{ what: "moved", setting, from, to }];
  });
}
