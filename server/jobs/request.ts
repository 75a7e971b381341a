import { z } from "zod";
import {
  engineNames,
  optionalInputs,
  requiredInputs,
  type InputRole,
  type JobKind,
} from "../engines/index.ts";
import { isStorable } from "../platform/index.ts";

const imageId = z.uuid();
const maxSeed = Number.MAX_SAFE_INTEGER;
const maxSidePx = 4_096;

const text = z.string().trim().max(4_000).refine(isStorable, "must be plain text");
const prompt = text.min(1);
const side = z.number().int().min(64).max(maxSidePx).optional();

/** Settings of a run that draws; which of them count and in which range is the workflow's to say. */
const drawing = {
  negativePrompt: text.optional(),
  steps: z.number().int().min(1).max(200).optional(),
  guidance: z.number().min(0).max(100).optional(),
  /** Drawn when it is not given. */
  seed: z.number().int().min(0).max(maxSeed).optional(),
};
/** How much of the old picture may go, 0..1. */
const strength = z.number().min(0).max(1).optional();

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
} as const satisfies Record<JobKind, z.ZodType>;

function inputsSchema(kind: JobKind) {
  const required = requiredInputs(kind).map((role): [InputRole, z.ZodType] => [role, imageId]);
  const optional = optionalInputs(kind).map((role): [InputRole, z.ZodType] => [role, imageId.optional()]);
  const schema = z.strictObject(Object.fromEntries([...required, ...optional]));
  return required.length > 0 ? schema : schema.prefault({});
}

/** What any job may say besides its params and pictures. */
const common = {
  tier: z.enum(["low", "normal", "high", "urgent"]).default("normal"),
  retention: z.enum(["keep", "ephemeral"]).default("keep"),
  /** Without one, the first whose models a live server has. */
  workflow: z.string().max(100).optional(),
  /** Without one, the best that is there. */
  engine: z.enum(engineNames).optional(),
};

function requestOf<Kind extends JobKind>(kind: Kind) {
  return { kind: z.literal(kind), inputs: inputsSchema(kind), ...common };
}

/** What a caller may ask for: one shape per kind, so that a wrong input or param is named. */
export const submitSchema = z.discriminatedUnion("kind", [
  z.strictObject({ ...requestOf("outfit_change"), params: kindParams.outfit_change }),
  z.strictObject({ ...requestOf("upscale"), params: kindParams.upscale.prefault({}) }),
  z.strictObject({ ...requestOf("inpaint"), params: kindParams.inpaint.prefault({}) }),
  z.strictObject({ ...requestOf("remove_background"), params: kindParams.remove_background.prefault({}) }),
  z.strictObject({ ...requestOf("text_to_image"), params: kindParams.text_to_image }),
  z.strictObject({ ...requestOf("edit"), params: kindParams.edit.prefault({}) }),
  z.strictObject({ ...requestOf("restore_faces"), params: kindParams.restore_faces.prefault({}) }),
]);

export type SubmitInput = z.input<typeof submitSchema>;
export type SubmitRequest = z.output<typeof submitSchema>;
