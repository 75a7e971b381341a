import { z } from "zod";
import { kindInputs, type InputRole, type JobKind } from "../engines/index.ts";
import { isStorable } from "../platform/index.ts";

const imageId = z.uuid();

const outfitChangeParams = z.strictObject({
  category: z.enum(["auto", "top", "bottom", "dress"]).default("auto"),
  /** The user's statement that the photo shows an adult who agrees. */
  consent: z.literal(true, { error: "must be true: say that the photo shows an adult who agrees" }),
});
const upscaleParams = z.strictObject({ scale: z.literal(2).default(2) });
const noParams = z.strictObject({});
const prompt = z.string().trim().min(1).max(4_000).refine(isStorable, "must be plain text");
const textToImageParams = z.strictObject({ prompt });

/** Params of each kind; the same schemas serve tRPC, the HTTP API and OpenAPI. */
export const kindParams = {
  outfit_change: outfitChangeParams,
  upscale: upscaleParams,
  inpaint: noParams,
  remove_background: noParams,
  text_to_image: textToImageParams,
} as const satisfies Record<JobKind, z.ZodType>;

function inputsSchema(roles: readonly InputRole[]) {
  return z.strictObject(Object.fromEntries(roles.map((role) => [role, imageId])));
}

const retention = z.enum(["keep", "ephemeral"]).default("keep");

/** What a caller may ask for: one shape per kind, so that a wrong input or param is named. */
export const submitSchema = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("outfit_change"),
    params: kindParams.outfit_change,
    inputs: inputsSchema(kindInputs.outfit_change),
    retention,
  }),
  z.strictObject({
    kind: z.literal("upscale"),
    params: kindParams.upscale.prefault({}),
    inputs: inputsSchema(kindInputs.upscale),
    retention,
  }),
  z.strictObject({
    kind: z.literal("inpaint"),
    params: noParams.prefault({}),
    inputs: inputsSchema(kindInputs.inpaint),
    retention,
  }),
  z.strictObject({
    kind: z.literal("remove_background"),
    params: noParams.prefault({}),
    inputs: inputsSchema(kindInputs.remove_background),
    retention,
  }),
  z.strictObject({
    kind: z.literal("text_to_image"),
    params: textToImageParams,
    inputs: z.strictObject({}).prefault({}),
    retention,
  }),
]);

export type SubmitInput = z.input<typeof submitSchema>;
export type SubmitRequest = z.output<typeof submitSchema>;
