import { randomInt } from "node:crypto";
import { z } from "zod";
import { engineNames, type InputRole, type JobKind, optionalInputs, requiredInputs } from "../engines.ts";
import { AppError, isStorable, issuesOf, jsonObject, lineOfText } from "../platform/index.ts";
import { requireConsent } from "../safety.ts";
import { sizeClassOf } from "../scheduling/index.ts";
import { type Workflow, workflowParams } from "../workflows/index.ts";
import type { Inputs } from "./pictures.ts";

const imageId = z.uuid();
const maxSeed = Number.MAX_SAFE_INTEGER;
const maxSidePx = 4_096;

const text = z.string().trim().max(4_000).refine(isStorable, "must be plain text");
const prompt = text.min(1);
const side = z.number().int().min(64).max(maxSidePx).optional();

/** Settings of a generating run; the workflow decides which of them it uses and in which range. */
const drawing = {
  negativePrompt: text.optional(),
  steps: z.number().int().min(1).max(200).optional(),
  guidance: z.number().min(0).max(100).optional(),
  /** Random by default. */
  seed: z.number().int().min(0).max(maxSeed).optional(),
};
/** How much the picture may change, 0..1. */
const strength = z.number().min(0).max(1).optional();

const maxClicks = 50;

/** A point of the picture in whole pixels, from the corner at the top left. */
const click = z.strictObject({
  x: z.number().int().min(0),
  y: z.number().int().min(0),
  mode: z.enum(["include", "exclude"]).default("include"),
});

/** Params of each kind; the same schemas serve tRPC, the HTTP API and OpenAPI. */
export const kindParams = {
  outfit_change: z.strictObject({
    category: z.enum(["auto", "top", "bottom", "dress"]).default("auto"),
    /** The user's statement that the photo shows an adult who agrees. */
    consent: z.literal(true, { error: "must be true: say that the photo shows an adult who agrees" }),
    prompt: prompt.optional(),
    ...drawing,
  }),
  upscale: z.strictObject({
    scale: z.union([z.literal(2), z.literal(4)]).default(2),
    prompt: prompt.optional(),
    ...drawing,
    strength,
  }),
  inpaint: z.strictObject({ prompt: prompt.optional(), ...drawing, strength }),
  remove_background: z.strictObject({}),
  text_to_image: z.strictObject({ prompt, width: side, height: side, ...drawing }),
  edit: z.strictObject({ prompt: prompt.optional(), width: side, height: side, ...drawing, strength }),
  restore_faces: z.strictObject({}),
  segment: z.strictObject({
    /** All of them together select one area. */
    clicks: z
      .array(click)
      .min(1)
      .max(maxClicks)
      .refine((clicks) => clicks.some(({ mode }) => mode === "include"), "one click at least must include"),
  }),
} as const satisfies Record<JobKind, z.ZodType>;

function inputsSchema(kind: JobKind, picture: z.ZodType) {
  const required = requiredInputs(kind).map((role): [InputRole, z.ZodType] => [role, picture]);
  const optional = optionalInputs(kind).map((role): [InputRole, z.ZodType] => [role, picture.optional()]);
  const schema = z.strictObject(Object.fromEntries([...required, ...optional]));
  return required.length > 0 ? schema : schema.prefault({});
}

const maxMetadataBytes = 8_192;

/** A client's own mark for jobs that belong together. */
export const sessionIdSchema = lineOfText.min(1).max(200);

/** Fields of every request besides its params and pictures. */
const common = {
  tier: z.enum(["low", "normal", "high", "urgent"]).default("normal"),
  retention: z.enum(["keep", "ephemeral"]).default("keep"),
  /** By default the first one that a live server can run. */
  workflow: z.string().max(100).optional(),
  /** By default the best one available. */
  engine: z.enum(engineNames).optional(),
  model: z.string().max(100).optional().describe("A model of an image provider, which costs money."),
  ownOnly: z
    .boolean()
    .default(false)
    .describe("Only the studio's own machines may run it: the pictures do not leave them."),
  maxRetries: z
    .number()
    .int()
    .min(0)
    .max(1_000)
    .optional()
    .describe(
      "Attempts after the first that may count against the job. More than the studio allows means as many as it allows, which is also the default. Lost and busy servers cost no attempt.",
    ),
  sessionId: sessionIdSchema.optional().describe("Your own mark for jobs that belong together."),
  metadata: jsonObject(maxMetadataBytes)
    .optional()
    .describe(`Any JSON object of at most ${maxMetadataBytes} bytes, returned with the job.`),
  webhookUrl: z
    .url({ protocol: /^https?$/ })
    .max(2_000)
    .optional()
    .describe(
      "Public address that gets a webhook when the job has completed or failed, besides the webhooks of the account.",
    ),
};

/** A request: one shape per kind, so that errors name the wrong input or param. */
function requestWith(picture: z.ZodType) {
  const of = <Kind extends JobKind>(kind: Kind) => ({
    kind: z.literal(kind),
    inputs: inputsSchema(kind, picture),
    ...common,
  });
  return z.discriminatedUnion("kind", [
    z.strictObject({ ...of("outfit_change"), params: kindParams.outfit_change }),
    z.strictObject({ ...of("upscale"), params: kindParams.upscale.prefault({}) }),
    z.strictObject({ ...of("inpaint"), params: kindParams.inpaint.prefault({}) }),
    z.strictObject({ ...of("remove_background"), params: kindParams.remove_background.prefault({}) }),
    z.strictObject({ ...of("text_to_image"), params: kindParams.text_to_image }),
    z.strictObject({ ...of("edit"), params: kindParams.edit.prefault({}) }),
    z.strictObject({ ...of("restore_faces"), params: kindParams.restore_faces.prefault({}) }),
    z.strictObject({ ...of("segment"), params: kindParams.segment }),
  ]);
}

export const submitSchema = requestWith(imageId);
export type SubmitInput = z.input<typeof submitSchema>;
export type SubmitRequest = z.output<typeof submitSchema>;

const maxUrlLength = 2_048;
const pictureUrl = z
  .strictObject({ url: z.string().min(1).max(maxUrlLength) })
  .describe("A picture at a public https address, which is fetched, checked and stored like an upload.");

/** A request whose pictures may be addresses as well. */
export const submitWithUrlsSchema = requestWith(z.union([imageId, pictureUrl]));

/** Parses a request. Throws `consent_required` for a missing consent, else `bad_request`. */
export function parseSubmit(input: unknown, schema: typeof submitSchema = submitSchema): SubmitRequest {
  if (typeof input === "object" && input !== null && "kind" in input && input.kind === "outfit_change") {
    requireConsent("params" in input ? input.params : undefined);
  }
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  throw new AppError("bad_request", z.prettifyError(result.error), {
    details: { issues: issuesOf(result.error) },
  });
}

/** Params of the kind itself; a workflow receives them only if it maps them. */
const ofTheKind = new Set(["consent", "category", "scale"]);
const maxRandom = 2 ** 48 - 1;

/** A request as a run takes it. */
export interface FittedRequest {
  /** The complete params of a run. */
  readonly params: Record<string, unknown>;
  readonly metadata: SubmitRequest["metadata"];
}

/**
 * The complete params of a run: checked against the workflow, with its defaults and a seed, so that the same params
 * give the same picture again. Params that an unnamed workflow does not take are dropped. Throws `workflow_params`.
 */
export function resolveParams(request: SubmitRequest, workflow: Workflow | null): FittedRequest {
  const { params, metadata } = request;
  if (!workflow) return { params: { ...params }, metadata };
  const fitted = fit(request, workflow, none);
  if ("params" in fitted) return { params: fitted.params, metadata };
  throw new AppError("workflow_params", `"${workflow.title}": ${z.prettifyError(fitted)}`, {
    details: { issues: issuesOf(fitted) },
  });
}

/**
 * The same for a client that does not know the workflows: a value out of range costs itself alone, its default applies,
 * and what the run does not take is kept in the metadata.
 */
export function resolveTolerantly(request: SubmitRequest, workflow: Workflow | null): FittedRequest {
  const first = workflow && fit(request, workflow, none);
  if (!first) return resolveParams(request, workflow);
  const fitted =
    "params" in first ? first : fit(request, workflow, new Set(first.issues.map(({ path: [name] }) => name)));
  if (!("params" in fitted)) return resolveParams(request, workflow);
  const { params, unused } = fitted;
  const isUsed = Object.keys(unused).length === 0;
  return { params, metadata: isUsed ? request.metadata : { ...unused, ...request.metadata } };
}

const none: ReadonlySet<unknown> = new Set();

interface Fitted {
  readonly params: Record<string, unknown>;
  /** What the client gave and the run does not take. */
  readonly unused: Record<string, unknown>;
}

function fit(
  { params: given, workflow: named }: SubmitRequest,
  workflow: Workflow,
  wrong: ReadonlySet<unknown>,
): Fitted | z.ZodError {
  const all: [string, unknown][] = Object.entries(given);
  const isOfKind = (name: string) => ofTheKind.has(name) && !(name in workflow.params);
  // A named workflow refuses what it does not take.
  const isOfWorkflow = (name: string) =>
    !wrong.has(name) && !isOfKind(name) && (name in workflow.params || named !== undefined);
  const own = Object.fromEntries(all.filter(([name]) => isOfWorkflow(name)));
  const result = workflowParams(workflow).safeParse(own);
  if (!result.success) return result.error;
  const kept = all.filter(([name]) => isOfKind(name));
  const seed = "seed" in workflow.params ? { seed: result.data.seed ?? randomInt(maxRandom) } : {};
  // Drop empty defaults, or they would count as a prompt that the user typed.
  const filled = Object.entries(result.data).filter(([name, value]) => value !== "" || name in given);
  const unused = all.filter(([name]) => !isOfWorkflow(name) && !isOfKind(name));
  return {
    params: { ...Object.fromEntries(kept), ...Object.fromEntries(filled), ...seed },
    unused: Object.fromEntries(unused),
  };
}

/** The request without the settings that a workflow may refuse. */
export function withoutSettings(request: SubmitRequest): SubmitRequest {
  const all: [string, unknown][] = Object.entries(request.params);
  const kept = all.filter(([name]) => name === "prompt" || ofTheKind.has(name));
  // Safe: every setting is optional.
  return { ...request, params: Object.fromEntries(kept) } as SubmitRequest;
}

/** Assumed when neither the params nor a picture give a size. */
const usualPixels = 1_000_000;

/** The size class of a run, to compare it with past runs: pixels of the result, or of the input picture, times steps. */
export function sizeClassOfRun(
  kind: JobKind,
  params: Readonly<Record<string, unknown>>,
  inputs: Inputs,
): number {
  const number = (name: string) => (typeof params[name] === "number" ? params[name] : null);
  const [width, height] = [number("width"), number("height")];
  const picture = inputs.get("image") ?? inputs.get("person");
  const scale = kind === "upscale" ? (number("scale") ?? 1) : 1;
  const ofPicture = picture ? picture.widthPx * picture.heightPx * scale ** 2 : usualPixels;
  const pixels = width !== null && height !== null ? width * height : ofPicture;
  return sizeClassOf({ pixels, steps: number("steps") ?? 1 });
}
