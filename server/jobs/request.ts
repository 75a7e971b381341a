import { z } from "zod";
import {
  engineNames,
  findGap,
  furtherRoles,
  type InputRole,
  type JobKind,
  optionalInputs,
  requiredInputs,
  selectionMeans,
} from "../engines.ts";
import { isStorable, jsonObject, lineOfText, parseAsked, pictureLimits } from "../platform/index.ts";
import { adjustmentLimit, mostAngle } from "../retouch/index.ts";
import { refuseDenied } from "../safety.ts";
import { listedParams, lorasSchema, pictureStrengths } from "../workflows/index.ts";
import { templateSchema } from "../presets/index.ts";
import { agreedSchema } from "./agreement.ts";

const imageId = z.uuid();
const maxSeed = Number.MAX_SAFE_INTEGER;

const text = z.string().trim().max(pictureLimits.promptCharacters).refine(isStorable, "must be plain text");
/** The document of the API knows no trimming. */
const prompt = text.min(1).meta({ pattern: String.raw`\S` });
/** By how much one side of a picture grows. */
const margin = z.number().int().min(0).max(pictureLimits.expandSidePx).default(0);
const margins = ["left", "top", "right", "bottom"] as const;
const grown = (name: string) => ({ required: [name], properties: { [name]: { minimum: 1 } } });
/** Width to height, such as `4:5`, for pictures of any size. */
const shape = z.string().regex(/^[1-9]\d{0,2}:[1-9]\d{0,2}$/, "is width to height, such as 4:5");
const side = z.number().int().min(64).max(4_096).optional();

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

/** A point of the picture in whole pixels, from the corner at the top left. */
const click = z.strictObject({
  x: z.number().int().min(0),
  y: z.number().int().min(0),
  mode: z.enum(["include", "exclude"]).default("include"),
});

const share = z.number().min(0).max(1).default(0.5);

/** 0 changes nothing. */
const adjustment = z.number().int().min(-adjustmentLimit).max(adjustmentLimit).default(0);
const place = z.number().int().min(0);
const length = z.number().int().min(1);

/** Params of each kind; the same schemas serve tRPC, the HTTP API and OpenAPI. */
export const kindParams = {
  outfit_change: z.strictObject({
    category: z.enum(["auto", "top", "bottom", "dress"]).default("auto"),
    consent: z
      .literal(true, { error: "must be true: say that the photo shows an adult who agrees" })
      .optional()
      .describe(
        "Your statement that the photo of the person shows an adult who agrees. It is stored for these bytes of the photo and your account: later requests with the same photo need none. Without either the request is refused with `consent_required` (422).",
      ),
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
  remove_background: z.strictObject({
    subject: z
      .literal("garment")
      .optional()
      .describe(
        "What is cut out: a garment by itself, laid flat or hung up, by this computer alone. Default: what stands out.",
      ),
    colour: z
      .string()
      .regex(/^#[\da-fA-F]{6}$/)
      .optional()
      .describe(
        "The new background, as `#rrggbb`; also what is behind the transparent parts of a picture given as `background`. Default: none, and without such a picture the result is transparent. A picture of which a twentieth is transparent keeps its own outline.",
      ),
    position: z
      .strictObject({ x: share, y: share })
      .optional()
      .describe(
        "Which part of the picture `background` is seen, since it covers all of the result: 0 is its left or upper end, 1 its right or lower one. Default: its middle.",
      ),
  }),
  text_to_image: z.strictObject({
    prompt,
    width: side,
    height: side,
    ...drawing,
    ...pictureStrengths,
    ...listedParams,
    loras: lorasSchema
      .optional()
      .describe(
        "LoRAs by the names that the servers report, one after another, for a workflow that takes them. Weight 1 by default.",
      ),
  }),
  edit: z.strictObject({ prompt: prompt.optional(), width: side, height: side, ...drawing, strength }),
  restore_faces: z.strictObject({}),
  segment: z
    .strictObject({
      clicks: z
        .array(click)
        .min(1)
        .max(pictureLimits.clicks)
        .refine((clicks) => clicks.some(({ mode }) => mode === "include"), "one click at least must include")
        .meta({ contains: { type: "object", properties: { mode: { const: "include" } } } })
        .optional()
        .describe("All of them together select one area."),
      box: z
        .strictObject({ left: place, top: place, width: length, height: length })
        .optional()
        .describe("The main thing in this rectangle is selected, in pixels of the picture."),
      prompt: prompt
        .optional()
        .describe("What these words name is selected, each of several parted by commas."),
      subject: z.literal(true).optional().describe("What stands out is selected, without a click."),
    })
    .refine((params) => selectionMeans.filter((means) => params[means] !== undefined).length === 1, {
      error: `must have one of ${selectionMeans.join(", ")}`,
    })
    .meta({ oneOf: selectionMeans.map((means) => ({ required: [means] })) }),
  adjust: z.strictObject({
    light: adjustment,
    contrast: adjustment,
    saturation: adjustment,
    temperature: adjustment,
    sharpness: adjustment,
  }),
  crop: z.strictObject({
    turns: z.number().int().min(0).max(3).default(0).describe("Quarter turns clockwise, done first."),
    mirror: z.boolean().default(false).describe("Left and right are swapped, after the turns."),
    angle: z
      .number()
      .min(-mostAngle)
      .max(mostAngle)
      .default(0)
      .describe("Degrees clockwise by which the picture is straightened, after turning and mirroring."),
    rect: z
      .strictObject({ left: place, top: place, width: length, height: length })
      .optional()
      .describe(
        "The part that is kept, in pixels of the straightened picture: the smallest upright rectangle that holds all of it, whose corners are transparent. Default: the largest part of the picture's shape without an empty corner.",
      ),
    shape: shape.optional().describe("In place of `rect`: the largest part of this shape, in the middle."),
  }),
  restore: z.strictObject({}),
  expand: z
    .strictObject({
      left: margin.describe("Pixels that are added on the left."),
      top: margin,
      right: margin,
      bottom: margin,
      shape: shape.optional().describe("In place of the margins: what the picture grows to on two sides."),
      prompt: prompt.optional().describe("What is there. Default: what continues the picture."),
      ...drawing,
    })
    .refine(
      (params) => params.shape !== undefined || margins.some((name) => params[name] > 0),
      "one side at least must grow",
    )
    .meta({ anyOf: [...margins.map(grown), { required: ["shape"] }] }),
} as const satisfies Record<JobKind, z.ZodType>;

/** The first further picture that is given without the one before it. */
function gapOf(inputs: unknown) {
  const given = typeof inputs === "object" && inputs !== null ? Object.entries(inputs) : [];
  return findGap(new Set(given.filter(([, picture]) => picture !== undefined).map(([role]) => role)));
}

/** For the document of the API: which role each of these is given only with. */
function rolesBefore(known: readonly InputRole[]): Record<string, InputRole[]> {
  const pairs = furtherRoles.flatMap((row) =>
    row.flatMap((role, at) => {
      const before = row[at - 1];
      return before !== undefined && known.includes(role) ? [[role, [before]] as [string, InputRole[]]] : [];
    }),
  );
  return Object.fromEntries(pairs);
}

function inputsSchema(kind: JobKind, picture: z.ZodType) {
  const required = requiredInputs(kind).map((role): [InputRole, z.ZodType] => [role, picture]);
  const optional = optionalInputs(kind).map((role): [InputRole, z.ZodType] => [role, picture.optional()]);
  const schema = z
    .strictObject(Object.fromEntries([...required, ...optional]))
    .refine((given) => gapOf(given) === null, {
      error: ({ input }) => `takes ${gapOf(input)?.role ?? ""} only after ${gapOf(input)?.before ?? ""}`,
    })
    .meta({ dependentRequired: rolesBefore([...required, ...optional].map(([role]) => role)) });
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
  agreed: agreedSchema
    .optional()
    .describe(
      "What you agreed to, as `agreed` of an estimate. What would cost more or leave the studio's own machines against it is refused with `not_agreed` (409), now and as long as the job lives. Without it the settings and the caps alone decide. It does not count for an `Idempotency-Key`: a repeated request may name other bounds.",
    ),
  template: templateSchema
    .optional()
    .describe(
      "Given, even as `{}`: `prompt` and `negativePrompt` are templates. One of `{a|b}` (`{2::a|b}`: the first twice as often) and one line of a list `__name__` is drawn for the job, and styles are put around. The job has the drawn prompts in its params and says in `template` what they were made from. A backslash before one of `{ } | _` writes it as it is. Faults are `template_invalid` (422).",
    ),
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
    z.strictObject({ ...of("outfit_change"), params: kindParams.outfit_change.prefault({}) }),
    z.strictObject({ ...of("upscale"), params: kindParams.upscale.prefault({}) }),
    z.strictObject({ ...of("inpaint"), params: kindParams.inpaint.prefault({}) }),
    z.strictObject({ ...of("remove_background"), params: kindParams.remove_background.prefault({}) }),
    z.strictObject({ ...of("text_to_image"), params: kindParams.text_to_image }),
    z.strictObject({ ...of("edit"), params: kindParams.edit.prefault({}) }),
    z.strictObject({ ...of("restore_faces"), params: kindParams.restore_faces.prefault({}) }),
    z.strictObject({ ...of("segment"), params: kindParams.segment }),
    z.strictObject({ ...of("adjust"), params: kindParams.adjust.prefault({}) }),
    z.strictObject({ ...of("crop"), params: kindParams.crop.prefault({}) }),
    z.strictObject({ ...of("restore"), params: kindParams.restore.prefault({}) }),
    z.strictObject({ ...of("expand"), params: kindParams.expand }),
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

/** Parses a request. Throws `consent_required` for a denied consent, else `bad_request`. */
export function parseSubmit(input: unknown, schema: typeof submitSchema = submitSchema): SubmitRequest {
  if (typeof input === "object" && input !== null && "kind" in input && input.kind === "outfit_change") {
    refuseDenied("params" in input ? input.params : undefined);
  }
  return parseAsked(schema, input);
}
