import { randomInt } from "node:crypto";
import { z } from "zod";
import { engineNames, type InputRole, type JobKind, optionalInputs, requiredInputs } from "../engines.ts";
import { AppError, isStorable, issuesOf } from "../platform/index.ts";
import { requireConsent } from "../safety.ts";
import { sizeClassOf } from "../scheduling/index.ts";
import { type Workflow, workflowParams } from "../workflows/index.ts";
import type { InputImages } from "./admission.ts";

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

/** Parses what a caller sent; a missing consent has a code of its own, everything else is `bad_request`. */
export function parseSubmit(input: unknown): SubmitRequest {
  if (typeof input === "object" && input !== null && "kind" in input && input.kind === "outfit_change") {
    requireConsent("params" in input ? input.params : undefined);
  }
  const result = submitSchema.safeParse(input);
  if (result.success) return result.data;
  throw new AppError("bad_request", z.prettifyError(result.error), {
    details: { issues: issuesOf(result.error) },
  });
}

type Params = Readonly<Record<string, unknown>>;

/** What belongs to the kind; a workflow gets these only where it maps them. */
const ofTheKind = new Set(["consent", "category", "scale"]);
const maxRandom = 2 ** 48 - 1;

/**
 * The params that a run needs in full: ranges checked against the workflow, its defaults filled in, the seed drawn, so
 * that the same params give the same picture again. What an unnamed workflow does not take is left out. Throws `workflow_params`.
 */
export function resolveParams(request: SubmitRequest, workflow: Workflow | null): Record<string, unknown> {
  const given: Params = request.params;
  if (!workflow) return { ...given };
  const kept = Object.entries(given).filter(([name]) => ofTheKind.has(name) && !(name in workflow.params));
  const own = Object.entries(given).filter(
    ([name]) => name in workflow.params || (request.workflow !== undefined && !ofTheKind.has(name)),
  );
  const result = workflowParams(workflow).safeParse(Object.fromEntries(own));
  if (!result.success) {
    throw new AppError("workflow_params", `"${workflow.title}": ${z.prettifyError(result.error)}`, {
      details: { issues: issuesOf(result.error) },
    });
  }
  const seed = "seed" in workflow.params ? { seed: result.data.seed ?? randomInt(maxRandom) } : {};
  // A default of no words says nothing, and would count as words that were given.
  const said = Object.entries(result.data).filter(([name, value]) => value !== "" || name in given);
  return { ...Object.fromEntries(kept), ...Object.fromEntries(said), ...seed };
}

/** Pixels that workflows work on where neither the params nor a picture say it. */
const usualPixels = 1_000_000;

/** The size of a run for comparing it with past ones: pixels of the result, or of the picture worked on, times steps. */
export function sizeClassOfRun(
  kind: JobKind,
  params: Readonly<Record<string, unknown>>,
  inputs: InputImages,
): number {
  const number = (name: string) => (typeof params[name] === "number" ? params[name] : null);
  const [width, height] = [number("width"), number("height")];
  const picture = inputs.get("image") ?? inputs.get("person");
  const scale = kind === "upscale" ? (number("scale") ?? 1) : 1;
  const ofPicture = picture ? picture.widthPx * picture.heightPx * scale ** 2 : usualPixels;
  const pixels = width !== null && height !== null ? width * height : ofPicture;
  return sizeClassOf({ pixels, steps: number("steps") ?? 1 });
}
