import { placeholderSettings, placeholdersOf, type Setting as Carried, valuesTaken } from "./mapping.ts";
import type { CloudModel, ModelOffer } from "./port.ts";

type Params = Readonly<Record<string, unknown>>;

/** Those that no placeholder carries are of workflows alone. */
type Setting = Carried | "loras" | "checkpoint" | "sampler" | "pictureStrength";

/** Settings of a request without which a picture is still what was asked for. */
const soft: readonly Setting[] = ["seed", "steps", "guidance", "strength", "negativePrompt", "sampler"];

/** Names of a request's params that carry a setting. */
const paramsOf = {
  negativePrompt: ["negativePrompt"],
  seed: ["seed"],
  steps: ["steps"],
  guidance: ["guidance"],
  strength: ["strength"],
  scale: ["scale"],
  category: ["category"],
  size: ["width", "height"],
  loras: ["loras"],
  checkpoint: ["checkpoint"],
  sampler: ["sampler", "scheduler"],
  pictureStrength: ["referenceStrength", "styleStrength", "structureStrength", "faceStrength"],
  // Whether a model needs or takes a prompt is judged apart.
  prompt: [],
} as const satisfies Record<Setting, readonly string[]>;

const settings = Object.keys(paramsOf) as Setting[];

/** The settings that one offer, or any of several, can carry to its provider. */
export function settingsTaken(offers: readonly Pick<ModelOffer, "input">[]): ReadonlySet<Carried> {
  const known: Readonly<Record<string, Carried>> = placeholderSettings;
  const names = offers.flatMap(({ input }) => placeholdersOf(input));
  return new Set(names.flatMap((name) => known[name] ?? []));
}

/** The categories that an offer can tell its provider; one that knows none finds out by itself. */
export function categoriesTaken({ input }: Pick<ModelOffer, "input">): readonly string[] {
  const taken = valuesTaken(input, "category");
  if (taken !== null && taken.length > 0) return taken;
  const isAny = taken === null || placeholdersOf(input).includes("category_text");
  return isAny ? ["auto", "top", "bottom", "dress"] : ["auto"];
}

/** The settings of a request that an offer cannot carry. */
export function lacksOf(offer: Pick<ModelOffer, "input">, params: Params): Setting[] {
  const taken: ReadonlySet<Setting> = settingsTaken([offer]);
  return settings.filter((setting) => {
    const given = paramsOf[setting].filter((name) => params[name] !== undefined && params[name] !== "");
    if (given.length === 0) return false;
    if (setting !== "category") return !taken.has(setting);
    return !categoriesTaken(offer).includes(String(params["category"]));
  });
}

/** The offers of a chain that carry all settings of a request. */
export function offersFor(chain: readonly ModelOffer[], params: Params): readonly ModelOffer[] {
  return chain.filter((offer) => lacksOf(offer, params).length === 0);
}

/** Why a model cannot take the settings of a request, as a sentence; null when one of its offers can. */
export function lackOf(
  { title, offers }: Pick<CloudModel, "title" | "offers">,
  params: Params,
): string | null {
  const lacks = offers.map((offer) => lacksOf(offer, params));
  const [fewest] = lacks.toSorted((a, b) => a.length - b.length);
  if (fewest === undefined || fewest.length === 0) return null;
  const known = [...new Set(offers.flatMap((offer) => categoriesTaken(offer)))];
  const categories = known.length > 1 ? known.join(", ") : null;
  const parts = fewest.map((setting) =>
    setting === "category" && categories !== null
      ? `needs one of the categories ${categories}`
      : `takes no ${namesOf[setting]}`,
  );
  return `The model "${title}" ${parts.join(" and ")}. Change that, or choose another model.`;
}

const namesOf: Readonly<Record<Setting, string>> = {
  prompt: "prompt",
  negativePrompt: "negative prompt (negativePrompt)",
  seed: "seed",
  steps: "steps",
  guidance: "guidance",
  strength: "strength",
  scale: "scale",
  category: "category: it finds out by itself",
  size: "size (width, height)",
  loras: "LoRAs",
  checkpoint: "checkpoint",
  sampler: "sampler and scheduler",
  pictureStrength: "strength of its pictures",
};

/** Whether a model can run a request that does not name it: what it lacks of it may be left out. */
export function mayTake({ offers }: Pick<CloudModel, "offers">, params: Params): boolean {
  return offers.some((offer) => lacksOf(offer, params).every((setting) => soft.includes(setting)));
}

/** The params of a request that a model was chosen for, without those that none of its offers carries. */
export function paramsTaken({ offers }: Pick<CloudModel, "offers">, params: Params): Record<string, unknown> {
  const lacks =
    offers.map((offer) => lacksOf(offer, params)).toSorted((a, b) => a.length - b.length)[0] ?? [];
  const left = new Set<string>(
    lacks.filter((setting) => soft.includes(setting)).flatMap((one) => paramsOf[one]),
  );
  return Object.fromEntries(Object.entries(params).filter(([name]) => !left.has(name)));
}
