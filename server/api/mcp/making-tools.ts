import { z } from "zod";
import { furtherRoles, type InputRole } from "../../engines.ts";
import { make, makingFields } from "./making.ts";
import { pictureId, tool, type Tool } from "./tool.ts";
import { pictureLimits } from "../../platform/index.ts";

const making = (name: string, title: string, description: string) => ({
  name,
  title,
  description: `${description} Costs nothing unless maxPriceUsd allows it. The result stays in the gallery.`,
  isReading: false,
  isLong: true,
});
const generate = tool(
  {
    ...making("generate_image", "Text to image", "Makes pictures from words."),
    schema: z.object({
      prompt: z.string().min(1).max(pictureLimits.promptCharacters),
      negativePrompt: z.string().max(pictureLimits.promptCharacters).optional(),
      width: z.number().int().min(64).max(4_096).optional(),
      height: z.number().int().min(64).max(4_096).optional(),
      seed: z.number().int().min(0).optional(),
      count: z.number().int().min(1).max(8).default(1),
      ...makingFields,
    }),
  },
  (input, { count, model, maxPriceUsd, waitSeconds, ...params }, extra) =>
    make(
      input,
      { kind: "text_to_image", params, pictures: [], count, model, maxPriceUsd, waitSeconds },
      extra,
    ),
);

const edit = tool(
  {
    ...making("edit_image", "Edit with a prompt", "Changes a picture by words."),
    schema: z.object({
      pictureId,
      prompt: z.string().min(1).max(pictureLimits.promptCharacters),
      referenceIds: z
        .array(z.uuid())
        .max(3)
        .default([])
        .describe("Further pictures that the prompt speaks of."),
      maskId: z
        .uuid()
        .optional()
        .describe("A mask of the studio of the same size: only what is white in it may change."),
      strength: z.number().min(0).max(1).optional(),
      seed: z.number().int().min(0).optional(),
      ...makingFields,
    }),
  },
  (input, given, extra) => {
    const { pictureId: id, referenceIds, maskId, model, maxPriceUsd, waitSeconds, ...params } = given;
    const kind = maskId !== undefined && referenceIds.length === 0 ? "inpaint" : "edit";
    const pictures = [
      { role: "image" as const, id },
      ...inRoles("reference", referenceIds),
      ...(maskId === undefined ? [] : [{ role: "mask" as const, id: maskId }]),
    ];
    return make(input, { kind, params, pictures, model, maxPriceUsd, waitSeconds }, extra);
  },
);

/** Several pictures of one sort, in the roles that the studio has for them. */
function inRoles(first: InputRole, ids: readonly string[]) {
  const roles = furtherRoles.find((row) => row[0] === first) ?? [];
  return ids.flatMap((id, at) => {
    const role = roles[at];
    return role ? [{ role, id }] : [];
  });
}

const changeOutfit = tool(
  {
    ...making("change_outfit", "Change outfit", "Puts garments on a person."),
    schema: z.object({
      personId: pictureId,
      garmentIds: z.array(z.uuid()).min(1).max(4),
      category: z.enum(["auto", "top", "bottom", "dress"]).default("auto"),
      consent: z
        .literal(true)
        .optional()
        .describe(
          "The person you work for states that the photo shows an adult who agrees. Never state it by yourself: ask.",
        ),
      ...makingFields,
    }),
  },
  (input, { personId, garmentIds, category, consent, ...others }, extra) => {
    const pictures = [{ role: "person" as const, id: personId }, ...inRoles("garment", garmentIds)];
    const params = consent === undefined ? { category } : { category, consent };
    return make(input, { kind: "outfit_change", params, pictures, ...others }, extra);
  },
);

const upscale = tool(
  {
    ...making("upscale_image", "Upscale", "Enlarges a picture by 2 or 4."),
    schema: z.object({ pictureId, scale: z.literal([2, 4]).default(2), ...makingFields }),
  },
  (input, { pictureId: id, scale, ...others }, extra) =>
    make(input, { kind: "upscale", params: { scale }, pictures: [{ role: "image", id }], ...others }, extra),
);

const removeBackground = tool(
  {
    ...making("remove_background", "Remove background", "Cuts out what stands out in a picture."),
    schema: z.object({
      pictureId,
      colour: z
        .string()
        .regex(/^#[\da-fA-F]{6}$/)
        .optional()
        .describe("The new background, as #rrggbb. Default: transparent."),
      ...makingFields,
    }),
  },
  (input, { pictureId: id, colour, ...others }, extra) => {
    const params = colour === undefined ? {} : { colour };
    return make(
      input,
      { kind: "remove_background", params, pictures: [{ role: "image", id }], ...others },
      extra,
    );
  },
);

/** The tools that make pictures. */
export const makingTools: readonly Tool[] = [generate, edit, changeOutfit, upscale, removeBackground];
