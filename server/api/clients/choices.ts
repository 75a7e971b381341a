import type { JobKind } from "../../engines.ts";
import { AppError } from "../../platform/index.ts";
import {
  offeredModels,
  type OfferedWorkflow,
  offeredWorkflows,
  readListedNames,
} from "../../scheduling/index.ts";
import type { Services } from "../../services.ts";
import { findModel } from "../../workflows/index.ts";

/** What a program names as a model: a workflow of the studio, one of its checkpoints, or a model of a provider. */
export interface Choice {
  /** `atelier/<name>`; of a checkpoint `atelier/<file>`. */
  readonly id: string;
  readonly title: string;
  readonly kind: JobKind;
  readonly isLive: boolean;
  /** US dollars a picture: 0 on own machines, null where no source states it. */
  readonly priceUsd: number | null;
  /** Of a request. */
  readonly named: { readonly workflow: string } | { readonly model: string };
  /** Params that go with it. */
  readonly settings: { readonly checkpoint?: string };
}

/** The name that leaves the choice to the studio. */
export const defaultChoice = "atelier";
const prefix = `${defaultChoice}/`;

/** All of these kinds, those that can run now first. */
export async function readChoices(
  { db, config }: Pick<Services, "db" | "config">,
  kinds: readonly JobKind[],
): Promise<readonly Choice[]> {
  const [workflows, models] = await Promise.all([offeredWorkflows(db, config), offeredModels(db, config)]);
  const offered = [...workflows, ...models].filter(({ kind }) => kinds.includes(kind));
  const choices = (await Promise.all(offered.map((one) => choicesOf(db, one)))).flat();
  // Of two workflows that take the same checkpoint the first one makes it.
  return [...Map.groupBy(choices, ({ id }) => id).values()].flatMap(([first]) => first ?? []);
}

/** One; of a workflow that must be told a checkpoint one for each that servers list. */
async function choicesOf(
  db: Services["db"],
  { name, title, kind, isLive, cloud, params }: OfferedWorkflow,
): Promise<readonly Choice[]> {
  const common = {
    kind,
    isLive,
    priceUsd: cloud ? cloud.priceUsd : 0,
    named: cloud ? { model: cloud.model } : { workflow: name },
  };
  if (params.checkpoint?.required !== true)
    return [{ ...common, id: `${prefix}${cloud?.model ?? name}`, title, settings: {} }];
  const { checkpoint: files = [] } = await readListedNames(db, name);
  return files.map((file) => ({
    ...common,
    id: `${prefix}${file}`,
    title: file,
    settings: { checkpoint: file },
  }));
}

function findById(choices: readonly Choice[], name: string): Choice | undefined {
  const id = name.startsWith(prefix) ? name : `${prefix}${name}`;
  return choices.find((known) => known.id === id);
}

/** A checkpoint as programs name it: without its folder or ending, and with the hash that A1111 puts behind. */
function findCheckpoint(choices: readonly Choice[], name: string): Choice | undefined {
  const own = name.startsWith(prefix) ? name.slice(prefix.length) : name;
  const file = own.replace(/\s*\[[0-9a-f]{8,64}\]$/i, "");
  const whole = /\.(?:safetensors|sft|ckpt|pt|pth|bin)$/i.test(file) ? file : `${file}.safetensors`;
  const found = findModel(
    whole,
    choices.flatMap(({ settings }) => settings.checkpoint ?? []),
  );
  if (found === null || !("choice" in found)) return undefined;
  return choices.find(({ settings }) => settings.checkpoint === found.choice);
}

/** Names that programs have built in for their own service, and send whatever the server has. */
const foreignNames = /^(?:dall-e|gpt-image|chatgpt-image|gpt-\d|stable-diffusion|imagen)/i;

export interface NamedChoice {
  /** Null: the studio chooses. */
  readonly choice: Choice | null;
  /** The most that a picture may cost by the name itself, US dollars: `atelier/flux-2-pro@0.05`. */
  readonly maxPriceUsd: number | null;
  /** What has to be said about the name; null for nothing. */
  readonly note: string | null;
}

/** Routers, and programs that know one service alone, put its name before the model's: `openai/atelier/t2i_sdxl`. */
const routed = new RegExp(`^[^/]+/(?=${prefix})`);

/**
 * What a name means. A program that can send no price writes it behind the name: `atelier/flux-2-pro@0.05`. Throws
 * `model_unknown`.
 */
export function findChoice(choices: readonly Choice[], name: string | undefined): NamedChoice {
  const [, whole = "", price] = /^(.*?)(?:@\$?(\d+(?:\.\d+)?))?$/.exec(name?.trim() ?? "") ?? [];
  const bare = whole.replace(routed, "");
  const maxPriceUsd = price === undefined ? null : Number(price);
  if (bare === "" || bare === defaultChoice) return { choice: null, maxPriceUsd, note: null };
  const isForeign = foreignNames.test(bare);
  const choice = (isForeign ? undefined : findById(choices, bare)) ?? findCheckpoint(choices, bare);
  if (choice) return { choice, maxPriceUsd, note: null };
  if (isForeign)
    return { choice: null, maxPriceUsd, note: `"${bare}" is no model of this studio: it chose one itself.` };
  throw new AppError("model_unknown", `There is no model "${bare}" here that can do this.`);
}
