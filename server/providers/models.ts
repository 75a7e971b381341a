import { z } from "zod";
import {
  type InputRole,
  inputRoles,
  type JobKind,
  jobKinds,
  optionalInputs,
  requiredInputs,
} from "../engines.ts";
import { type Config, ConfigError, readConfigProblems } from "../platform/index.ts";
import { builtInModels } from "./built-in-models.ts";
import { paramPlaceholders, placeholdersOf } from "./mapping.ts";
import { type CloudModel, providerNames } from "./port.ts";
import { tryOnModels } from "./try-on-models.ts";

const offerSchema = z.strictObject({
  provider: z.enum(providerNames),
  endpoint: z.string().min(1).max(200),
  input: z.record(z.string(), z.json()),
  ratios: z
    .array(z.string().regex(/^\d{1,2}:\d{1,2}$/, "must be a ratio like 16:9"))
    .min(1)
    .optional(),
  priceUsd: z.number().min(0).nullable(),
});

const modelSchema = z
  .strictObject({
    id: z.string().regex(/^[a-z0-9][a-z0-9.-]{0,60}$/, "must be of small letters, digits, dots and hyphens"),
    title: z.string().min(1).max(100),
    kind: z.enum(jobKinds),
    inputs: z.strictObject({ required: z.array(z.enum(inputRoles)), optional: z.array(z.enum(inputRoles)) }),
    params: z.array(z.enum(paramPlaceholders)),
    isNonCommercial: z.boolean().optional(),
    offers: z.array(offerSchema).min(1),
  })
  .superRefine((model, context) => {
    for (const message of faultsOf(model)) context.addIssue({ code: "custom", message });
  });

type Model = Pick<CloudModel, "kind" | "inputs" | "params"> & {
  readonly offers: readonly { readonly provider: string; readonly input: unknown }[];
};

/** What is wrong with a model besides its shape. */
function faultsOf({ kind, inputs, params, offers }: Model): string[] {
  const known = new Set<string>([...paramPlaceholders, ...inputs.required, ...inputs.optional]);
  const allowed = new Set<string>([...requiredInputs(kind), ...optionalInputs(kind)]);
  const foreign = [...inputs.required, ...inputs.optional].filter((role) => !allowed.has(role));
  const missing = requiredInputs(kind).filter((role) => !inputs.required.includes(role));
  const unknown = offers.flatMap(({ input }) => placeholdersOf(input)).filter((name) => !known.has(name));
  const undeclared = offers
    .flatMap(({ input }) => placeholdersOf(input))
    .filter((name) => name === "prompt" && !params.includes(name));
  const names = offers.map(({ provider }) => provider);
  return [
    ...foreign.map((role) => `the kind ${kind} takes no "${role}"`),
    ...missing.map((role) => `the kind ${kind} needs "${role}"`),
    ...unknown.map((name) => `there is no placeholder $${name}`),
    ...undeclared.map((name) => `"${name}" is missing in params`),
    ...(new Set(names).size < names.length ? ["a provider stands twice in the chain"] : []),
  ];
}

const builtIn: readonly CloudModel[] = [...builtInModels, ...tryOnModels];
const modelsByConfig = new WeakMap<object, readonly CloudModel[]>();

const at = ["cloud", "models"];

/**
 * All models: those of the configuration, then the built-in ones that it does not replace. Throws `ConfigError`
 * with every fault of the configured ones.
 */
export function modelsOf({ cloud }: Pick<Config, "cloud">): readonly CloudModel[] {
  const known = modelsByConfig.get(cloud);
  if (known) return known;
  const result = z.array(modelSchema).safeParse(cloud.models);
  if (!result.success) {
    const schema = z.array(modelSchema);
    throw new ConfigError(readConfigProblems(result.error, { schema, input: cloud.models, at }));
  }
  // Safe: the schema is that of the type, and its inputs are plain JSON.
  const own = result.data as readonly CloudModel[];
  const ids = own.map(({ id }) => id);
  const twice = ids.find((id, at) => ids.indexOf(id) !== at);
  if (twice !== undefined) throw new ConfigError([{ name: at.join("."), message: `names "${twice}" twice` }]);
  const models = priced(cloud.prices, [...own, ...builtIn.filter(({ id }) => !ids.includes(id))]);
  modelsByConfig.set(cloud, models);
  return models;
}

/** The models with the operator's own prices. Throws `ConfigError` for a price of a model, or of a provider of it, that is not there. */
function priced(prices: Config["cloud"]["prices"], models: readonly CloudModel[]): readonly CloudModel[] {
  const faults = Object.entries(prices).flatMap(([id, price]) => {
    const model = findModel(models, id);
    if (!model) return [{ name: `cloud.prices.${id}`, message: "names a model that is not there" }];
    const sellers = model.offers.map(({ provider }) => provider);
    const strange =
      typeof price === "number"
        ? []
        : Object.keys(price).filter((name) => !sellers.some((own) => own === name));
    return strange.map((name) => ({
      name: `cloud.prices.${id}.${name}`,
      message: "does not offer this model",
    }));
  });
  if (faults.length > 0) throw new ConfigError(faults);
  return models.map((model) => {
    const price = prices[model.id];
    if (price === undefined) return model;
    const offers = model.offers.map((offer) => {
      const own = typeof price === "number" ? price : price[offer.provider];
      return own === undefined ? offer : { ...offer, priceUsd: own };
    });
    return { ...model, offers };
  });
}

export function findModel(models: readonly CloudModel[], id: string): CloudModel | null {
  return models.find((model) => model.id === id) ?? null;
}

/** The models that can do a kind with these pictures, in the order of the list, each with the offers that send the optional ones too. */
export function modelsFor(
  models: readonly CloudModel[],
  { kind, roles: given }: { readonly kind: JobKind; readonly roles: ReadonlySet<InputRole> },
): CloudModel[] {
  const fitting = models.filter(
    ({ kind: own, inputs }) =>
      own === kind &&
      inputs.required.every((role) => given.has(role)) &&
      [...given].every((role) => inputs.required.includes(role) || inputs.optional.includes(role)),
  );
  return fitting.flatMap((model) => {
    const offers = model.offers.filter(({ input }) => {
      const sent = new Set(placeholdersOf(input));
      return [...given].every((role) => model.inputs.required.includes(role) || sent.has(role));
    });
    if (offers.length === 0) return [];
    return offers.length === model.offers.length ? [model] : [{ ...model, offers }];
  });
}
