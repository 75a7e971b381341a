import type { JobKind } from "../../engines.ts";
import { AppError } from "../../platform/index.ts";
import { offeredModels, offeredWorkflows } from "../../scheduling/index.ts";
import type { Services } from "../../services.ts";

/** What a program names as a model: a workflow of the studio, or a model of a provider. */
export interface Choice {
  /** `atelier/<name>` */
  readonly id: string;
  readonly title: string;
  readonly kind: JobKind;
  readonly isLive: boolean;
  /** US dollars a picture: 0 on own machines, null where no source states it. */
  readonly priceUsd: number | null;
  /** Of a request. */
  readonly named: { readonly workflow: string } | { readonly model: string };
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
  return [...workflows, ...models]
    .filter(({ kind }) => kinds.includes(kind))
    .map(({ name, title, kind, isLive, cloud }) => ({
      id: `${prefix}${cloud?.model ?? name}`,
      title,
      kind,
      isLive,
      priceUsd: cloud ? cloud.priceUsd : 0,
      named: cloud ? { model: cloud.model } : { workflow: name },
    }));
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
  const id = bare.startsWith(prefix) ? bare : `${prefix}${bare}`;
  const isForeign = foreignNames.test(bare);
  const choice = isForeign ? undefined : choices.find((known) => known.id === id);
  if (choice) return { choice, maxPriceUsd, note: null };
  if (isForeign)
    return { choice: null, maxPriceUsd, note: `"${bare}" is no model of this studio: it chose one itself.` };
  throw new AppError("model_unknown", `There is no model "${bare}" here that can do this.`);
}
