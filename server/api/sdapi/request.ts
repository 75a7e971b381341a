import { z } from "zod";
import { optionalInputs, type JobKind } from "../../engines.ts";
import { reverseMask } from "../../images/index.ts";
import { kindParams } from "../../jobs/index.ts";
import { hasRight } from "../../accounts/index.ts";
import { AppError } from "../../platform/index.ts";
import { readListedNames, readProgramModel } from "../../scheduling/index.ts";
import { listedAs, samplingOf } from "../../carried/index.ts";
import { type Choice, findChoice, readChoices } from "../clients/choices.ts";
import { type Order } from "../clients/orders.ts";
import { pictureSchema, readBody, withoutNothing } from "../clients/picture-bodies.ts";
import type { ClientInput } from "../clients/route.ts";

/** The mark of jobs by which `progress` and `interrupt` find them. */
export const sdapiSession = "sdapi";

/** Bounded together, by `mostPictures`. */
const count = z.coerce.number().int().min(1).default(1);

/** Far above what a job takes; patterns run over it. */
const promptText = z.string().max(20_000).default("");

const common = {
  prompt: promptText,
  negative_prompt: promptText,
  width: z.coerce.number().int().optional(),
  height: z.coerce.number().int().optional(),
  steps: z.coerce.number().int().optional(),
  sampler_name: z.string().max(200).optional(),
  sampler_index: z.string().max(200).optional(),
  scheduler: z.string().max(200).optional(),
  cfg_scale: z.coerce.number().optional(),
  seed: z.coerce.number().int().default(-1),
  batch_size: count,
  n_iter: count,
  denoising_strength: z.coerce.number().optional(),
  send_images: z.boolean().default(true),
  override_settings: z
    .preprocess(withoutNothing, z.looseObject({ sd_model_checkpoint: z.string().optional() }))
    .default({}),
  max_price_usd: z.number().min(0).optional(),
};

const textSchema = z.looseObject(common);
const imageSchema = z.looseObject({
  ...common,
  init_images: z.array(pictureSchema).min(1),
  mask: pictureSchema.optional(),
  inpainting_mask_invert: z.coerce.number().default(0),
  /** Further pictures, as sd.cpp's server takes them. */
  extra_images: z.array(pictureSchema).default([]),
});

type Fields = z.output<typeof textSchema>;

/** What these programs send with every request, and what means nothing at this value. */
const idle: Readonly<Record<string, readonly unknown[]>> = {
  restore_faces: [false],
  tiling: [false],
  enable_hr: [false],
  styles: [],
  subseed: [-1],
  subseed_strength: [0],
  seed_resize_from_h: [-1, 0],
  seed_resize_from_w: [-1, 0],
  sampler_name: ["", "Automatic", "Workflow"],
  sampler_index: ["", "Automatic", "Workflow"],
  scheduler: ["", "Automatic", "automatic"],
  script_name: ["", "None"],
  refiner_checkpoint: ["", "None"],
  resize_mode: [0],
  mask_blur: [0, 4],
  inpainting_fill: [0, 1],
  inpaint_full_res: [false, true, 0],
  image_cfg_scale: [0, 1.5],
  eta: [0, 1],
  clip_skip: [0, 1],
  CLIP_stop_at_last_layers: [0, 1],
};

/** Which say how something runs that is off, where it is kept or who asks, and nothing of the picture. */
const silent =
  /^(?:hr_|firstphase_|s_(?:churn|t|noise|min)|do_not_save_|save_images|include_init_images|override_settings_restore_afterwards|script_args|refiner_switch_at|disable_extra_networks|comments|inpaint_full_res_padding|mask_blur_[xy]|mask_round|latent_mask|initial_noise_multiplier|force_task_id|infotext|client_id|session_hash|url$|auth$)/;

/** What a Photoshop plug-in sends for itself alone: by then it has expanded its mask. */
const plugInNotes =
  /^(?:selection_info|original_(?:negative_)?prompt|expanded_mask|mask_expansion|use_sharp_mask|use_prompt_shortcut|prompt_shortcut_ui_dict|uniqueDocumentId|mode)$/;

const isNothing = (value: unknown) =>
  value === null ||
  value === undefined ||
  value === "" ||
  (typeof value === "object" && Object.keys(value).length === 0);

/** Fields that the studio has no place for, one sentence each. */
function notesOf(body: Fields, known: ReadonlySet<string>): string[] {
  const others = Object.entries(body).filter(
    ([name]) => !known.has(name) && !silent.test(name) && !plugInNotes.test(name),
  );
  const meant = others.filter(([name, value]) => !isNothing(value) && !idle[name]?.includes(value));
  const { sd_model_checkpoint: _model, ...overrides } = body.override_settings;
  const changed = Object.entries(overrides).filter(
    ([name, value]) => !isNothing(value) && value !== "Automatic" && !idle[name]?.includes(value),
  );
  return [
    ...meant.map(([name]) => `${name} is not known here and was left out: the workflow decides.`),
    ...changed.map(([name]) => `override_settings.${name} is not known here and was left out.`),
  ];
}

/**
 * The fields that this API has, as they were read. Others may be pictures of scripts, or a program's own settings with the key,
 * which SillyTavern sends along.
 */
function parametersOf(body: Fields, known: ReadonlySet<string>): Readonly<Record<string, unknown>> {
  const isShown = (name: string) => name !== "max_price_usd" && (known.has(name) || name in idle);
  return Object.fromEntries(Object.entries(body).filter(([name]) => isShown(name)));
}

/** A request in the words of the studio. */
export interface Asked {
  readonly body: Fields;
  /** What the answer repeats of it. */
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly order: Order;
  readonly settings: Readonly<Record<string, unknown>>;
  readonly notes: readonly string[];
}

// Bounded, and never beyond the next mark: the time stays linear in the prompt.
const loraMark = /<lora:([^<:>]{1,200})(?::(-?[\d.]{1,8}))?[^<>]{0,200}>/g;

/** Programs leave the ending out; the server's own ending is found by the rest of the name. */
const fileOf = (name: string) =>
  /\.(?:safetensors|sft|ckpt|pt|bin)$/i.test(name) ? name : `${name}.safetensors`;

/** LoRAs stand in the prompt as `<lora:name:weight>`. */
function takeLoras(prompt: string) {
  const loras = [...prompt.matchAll(loraMark)].map(([, name = "", weight]) => ({
    name: fileOf(name),
    weight: weight === undefined ? 1 : Number(weight),
  }));
  return { prompt: prompt.replaceAll(loraMark, "").trim(), loras };
}

interface Wish {
  readonly kinds: readonly JobKind[];
  readonly pictures: Order["pictures"];
  readonly known: ReadonlySet<string>;
}

async function toAsked(input: ClientInput, body: Fields, { kinds, pictures, known }: Wish): Promise<Asked> {
  const { choice, maxPriceUsd, note } = await choose(input, body, kinds);
  const kind = choice?.kind ?? kinds[0] ?? "text_to_image";
  const { prompt, settings: own } = settingsOf(body, kind);
  const sampling = await readSampling(input, body, choice);
  const settings = { ...own, ...sampling };
  const count = body.batch_size * body.n_iter;
  if (count > mostPictures)
    throw new AppError("bad_request", `batch_size times n_iter: at most ${mostPictures} pictures at a time.`);
  const isWordless = prompt === "" && kind !== "text_to_image";
  const order: Order = {
    kind,
    choice,
    pictures,
    params: { ...(isWordless ? {} : { prompt }), ...settings },
    count,
    maxPriceUsd: body.max_price_usd ?? headerPrice(input) ?? maxPriceUsd ?? 0,
    sessionId: sdapiSession,
  };
  const notes = [...(note === null ? [] : [note]), ...notesOf(body, known), ...samplingNotes(body, sampling)];
  return { body, parameters: parametersOf(body, known), order, settings, notes };
}

export const mostPictures = 16;

/** The sampler and scheduler of the request, where a named model's servers list them: the studio's own choice keeps its own. */
async function readSampling({ services }: ClientInput, body: Fields, choice: Choice | null) {
  if (choice === null || !("workflow" in choice.named)) return {};
  const asked = samplingOf(body.sampler_name || (body.sampler_index ?? null), body.scheduler ?? null);
  if (asked.sampler === null && asked.scheduler === null) return {};
  const listed = await readListedNames(services.db, choice.named.workflow);
  const found = (["sampler", "scheduler"] as const).flatMap((name) => {
    const value = asked[name] === null ? null : listedAs(asked[name], listed[name] ?? []);
    return value === null ? [] : [[name, value] as const];
  });
  return Object.fromEntries(found);
}

function samplingNotes(body: Fields, taken: Readonly<Record<string, unknown>>): string[] {
  const fields = { sampler_name: "sampler", sampler_index: "sampler", scheduler: "scheduler" } as const;
  return (["sampler_name", "sampler_index", "scheduler"] as const).flatMap((field) => {
    const value = body[field];
    const isLeftOut = !isNothing(value) && !idle[field]?.includes(value) && !(fields[field] in taken);
    return isLeftOut ? [`${field} is not known here and was left out: the workflow decides.`] : [];
  });
}

/** What a job of the kind can be told of it. */
function settingsOf(body: Fields, kind: JobKind) {
  const { prompt, loras } = takeLoras(body.prompt);
  const given = {
    negativePrompt: body.negative_prompt === "" ? undefined : body.negative_prompt,
    width: body.width,
    height: body.height,
    steps: body.steps,
    guidance: body.cfg_scale,
    strength: body.denoising_strength,
    seed: body.seed >= 0 ? body.seed : undefined,
    loras: loras.length > 0 ? loras : undefined,
  };
  const taken = Object.entries(given).filter(
    ([name, value]) => value !== undefined && name in kindParams[kind].shape,
  );
  return { prompt, settings: Object.fromEntries(taken) };
}

function headerPrice({ request }: ClientInput): number | null {
  const price = Number(request.headers.get("x-max-price-usd") ?? Number.NaN);
  return price >= 0 ? price : null;
}

/** The model of the request, else the one that the program chose before: that one only where it can do this. */
async function choose(input: ClientInput, { override_settings: own }: Fields, kinds: readonly JobKind[]) {
  const choices = await readChoices(input.services, kinds);
  if (own.sd_model_checkpoint !== undefined) return findChoice(choices, own.sd_model_checkpoint);
  const { services, caller } = input;
  const chosen = await readProgramModel(services.db, caller.userId);
  const none = { choice: null, maxPriceUsd: null, note: null };
  if (chosen === null) return none;
  try {
    const found = findChoice(choices, chosen);
    // Another key of the user may have stored the price.
    return hasRight(caller, "spend") ? found : { ...found, maxPriceUsd: null };
  } catch {
    const note = `The chosen model ${chosen} cannot do this, so the studio chose another one.`;
    return { ...none, note };
  }
}

const textKnown = new Set(Object.keys(textSchema.shape));
const imageKnown = new Set(Object.keys(imageSchema.shape));

/** Reads POST txt2img. Throws `bad_request`, `request_too_large`, `model_unknown`. */
export async function readText(input: ClientInput): Promise<Asked> {
  const body = await readBody(input, z.preprocess(withoutNothing, textSchema));
  if (takeLoras(body.prompt).prompt === "")
    throw new AppError("bad_request", "prompt: write what the picture shows.");
  return toAsked(input, body, { kinds: ["text_to_image"], pictures: [], known: textKnown });
}

/** Reads POST img2img. Throws the same. */
export async function readImage(input: ClientInput): Promise<Asked> {
  const body = await readBody(input, z.preprocess(withoutNothing, imageSchema));
  const { init_images: sent, extra_images: further, mask, inpainting_mask_invert: invert } = body;
  const [image, ...others] = sent;
  const references = [...others, ...further];
  const roles = optionalInputs("edit").filter((role) => role !== "mask");
  if (!image) throw new AppError("bad_request", "init_images: send a picture.");
  if (references.length > roles.length)
    throw new AppError("bad_request", `At most ${roles.length + 1} pictures are taken.`);
  const marked = mask && invert === 1 ? await reverseMask(input.caller.userId, mask) : mask;
  const kinds: JobKind[] = marked && references.length === 0 ? ["inpaint", "edit"] : ["edit"];
  const { init_images: _sent, extra_images: _further, mask: _mask, ...fields } = body;
  return toAsked(input, fields, {
    kinds,
    known: imageKnown,
    pictures: [
      { role: "image", picture: { bytes: image } },
      ...references.flatMap((bytes, at) => {
        const role = roles[at];
        return role ? [{ role, picture: { bytes } }] : [];
      }),
      ...(marked ? [{ role: "mask" as const, picture: { bytes: marked } }] : []),
    ],
  });
}
