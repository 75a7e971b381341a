import type { Db } from "../db/index.ts";
import type { Config } from "../platform/index.ts";
import { type OfferedModel, titleOfProvider, readOfferedModels } from "../providers/index.ts";
import { liveProviders } from "./places.ts";
import { currentWords } from "../words.ts";
import type { OfferedParam, OfferedWorkflow } from "./workflows.ts";

/** After every workflow. */
const firstRank = 10_000;
const side: OfferedParam = { type: "integer", min: 256, max: 2_048, multipleOf: 16, default: 1_024 };

/** The models of providers as choices beside the workflows: those of which a live node holds a key. */
export async function offeredModels(db: Db, config: Config): Promise<OfferedWorkflow[]> {
  const models = await readOfferedModels({ db, config }, await liveProviders(db));
  return models.map((model, at) => ({
    name: `cloud/${model.id}`,
    title: model.title,
    description: describe(model),
    kind: model.kind,
    rank: firstRank + at,
    vramGib: 0,
    isLive: true,
    missing: [],
    params: paramsOf(model),
    inputs: [
      ...model.inputs.required.map((role) => ({ role, required: true })),
      ...model.inputs.optional.map((role) => ({ role, required: false })),
    ],
    models: [],
    cloud: { model: model.id, provider: model.provider, priceUsd: model.priceUsd },
  }));
}

/** Where the pictures go and what it costs, before the click. */
function describe({ provider: name, priceUsd, isNonCommercial }: OfferedModel): string {
  const { t, format } = currentWords();
  const provider = titleOfProvider(name);
  const dollars = { style: "currency", currency: "USD", minimumFractionDigits: 3 } as const;
  const place =
    priceUsd === null
      ? t("offeredModels.unpriced", { provider })
      : t("offeredModels.place", { provider, price: format.number(priceUsd, dollars) });
  return isNonCommercial ? `${place} ${t("offeredModels.nonCommercial")}` : place;
}

/** The settings of the form that a model takes. */
function paramsOf({ kind, settings, categories }: OfferedModel): OfferedWorkflow["params"] {
  const isPromptNeeded = kind === "text_to_image" || kind === "edit" || kind === "inpaint";
  const choices = Object.fromEntries(categories.map((category) => [category, category]));
  return {
    ...(kind === "outfit_change" ? { category: { type: "text", choices } } : {}),
    ...(settings.has("prompt") ? { prompt: { type: "text", required: isPromptNeeded } } : {}),
    ...(settings.has("negativePrompt") ? { negativePrompt: { type: "text" } } : {}),
    ...(settings.has("seed") ? { seed: { type: "seed" } } : {}),
    ...(settings.has("strength") ? { strength: { type: "number", min: 0, max: 1 } } : {}),
    ...(kind === "text_to_image" && settings.has("size") ? { width: side, height: side } : {}),
    ...(settings.has("scale") ? { scale: { type: "integer", choices: { "2": 2, "4": 4 }, default: 2 } } : {}),
  };
}
