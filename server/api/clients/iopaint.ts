import { z } from "zod";
import { adjustMask, formatOf, highlightMask, maskOfCutOut } from "../../images/index.ts";
import { asOneOfFew } from "../requests.ts";
import { iopaintFileRoutes } from "./iopaint-files.ts";
import { clickPlugin, cutOutPlugin, iopaintError, iopaintInfoRoutes } from "./iopaint-info.ts";
import { pictureSchema, readBody } from "./picture-bodies.ts";
import {
  collectPicture,
  paintParams,
  pictureResponse,
  pluginJob,
  seedOf,
  submitPictureJob,
  unknownPlugin,
} from "./picture-jobs.ts";
import type { ClientApi, ClientInput, ClientRoute } from "./route.ts";

/** Requests that change what is painted in a way that no engine here knows; other unknown settings are left out. */
const refusedFields = [
  "use_croper",
  "use_extender",
  "paint_by_example_example_image",
  "enable_controlnet",
] as const;
const isUnset = (value: unknown) => value === undefined || value === null || value === false || value === "";

const inpaintSchema = z
  .looseObject({
    image: pictureSchema,
    mask: pictureSchema,
    prompt: z.string().default(""),
    negative_prompt: z.string().default(""),
    sd_steps: z.number().int().optional(),
    sd_guidance_scale: z.number().optional(),
    sd_strength: z.number().optional(),
    sd_seed: z.number().int().default(42),
  })
  .superRefine((body, context) => {
    for (const name of refusedFields)
      if (!isUnset(body[name]))
        context.addIssue({ code: "custom", path: [name], message: "is not supported by this server" });
  });

const pluginSchema = z.looseObject({
  name: z.string(),
  image: pictureSchema,
  scale: z.number().default(2),
});

const maskSchema = z.looseObject({
  name: z.string(),
  image: pictureSchema,
  /** x and y in pixels, and 1 to include or 0 to exclude. */
  clicks: z.array(z.tuple([z.number(), z.number(), z.literal([0, 1])])).default([]),
});

const adjustSchema = z.looseObject({
  mask: pictureSchema,
  operate: z.enum(["expand", "shrink", "reverse"]),
  kernel_size: z.number().int().min(0).max(100).default(5),
});

/** POST inpaint: the answer has the format of the picture. */
const inpaintRoute: ClientRoute = {
  method: "post",
  path: "/inpaint",
  operationId: "iopaintInpaint",
  handle: (input) =>
    asOneOfFew(input, "answer", async () => {
      const { id, format, seed } = await submitInpaint(input);
      return pictureResponse(await collectPicture(input, id, format), format, seed);
    }),
};

/** Reads and submits apart from the wait, so that the pictures are not held in memory meanwhile; the others below as well. */
async function submitInpaint(input: ClientInput) {
  const { image, mask, ...body } = await readBody(input, inpaintSchema);
  const seed = seedOf(body.sd_seed);
  const params = paintParams({
    prompt: body.prompt,
    negativePrompt: body.negative_prompt,
    steps: body.sd_steps,
    guidance: body.sd_guidance_scale,
    strength: body.sd_strength,
    seed,
  });
  const pictures = [
    { role: "image", bytes: image },
    { role: "mask", bytes: mask },
  ] as const;
  const format = formatOf(image);
  const id = await submitPictureJob(input, { kind: "inpaint", params, pictures });
  return { id, format, seed };
}

/** POST run_plugin_gen_image */
const pluginImageRoute: ClientRoute = {
  method: "post",
  path: "/run_plugin_gen_image",
  operationId: "iopaintPluginImage",
  handle: (input) =>
    asOneOfFew(input, "answer", async () => {
      const id = await submitPlugin(input);
      return pictureResponse(await collectPicture(input, id, "png"), "png");
    }),
};

async function submitPlugin(input: ClientInput): Promise<string> {
  const { name, image, scale } = await readBody(input, pluginSchema);
  const job = pluginJob(name, scale);
  if (!job) throw unknownPlugin();
  return submitPictureJob(input, { ...job, pictures: [{ role: "image", bytes: image }] });
}

type MaskRequest = Pick<z.output<typeof maskSchema>, "name" | "clicks">;

/** Which job makes what the mask is read from, and how it is read. */
function maskJob({ name, clicks }: MaskRequest) {
  switch (name) {
    case cutOutPlugin:
      return { kind: "remove_background", params: {}, toMask: maskOfCutOut } as const;
    case clickPlugin: {
      const points = clicks.map(([x, y, include]) => ({ x, y, mode: include ? "include" : "exclude" }));
      return { kind: "segment", params: { clicks: points }, toMask: highlightMask } as const;
    }
    default:
      throw unknownPlugin();
  }
}

/** POST run_plugin_gen_mask: the subject that the background is removed from, or what the clicks select. */
const pluginMaskRoute: ClientRoute = {
  method: "post",
  path: "/run_plugin_gen_mask",
  operationId: "iopaintPluginMask",
  handle: (input) =>
    asOneOfFew(input, "answer", async () => {
      const { id, toMask } = await submitMask(input);
      const { bytes } = await collectPicture(input, id, "png");
      return pngResponse(await toMask(input.caller.userId, bytes));
    }),
};

async function submitMask(input: ClientInput) {
  const { image, ...body } = await readBody(input, maskSchema);
  const { toMask, ...job } = maskJob(body);
  return {
    id: await submitPictureJob(input, { ...job, pictures: [{ role: "image", bytes: image }] }),
    toMask,
  };
}

function pngResponse(png: Buffer<ArrayBuffer>): Response {
  return new Response(png, { headers: { "content-type": "image/png", "cache-control": "no-store" } });
}

/** POST adjust_mask */
const adjustMaskRoute: ClientRoute = {
  method: "post",
  path: "/adjust_mask",
  operationId: "iopaintAdjustMask",
  handle: (input) =>
    asOneOfFew(input, "answer", async () => {
      const { mask, operate, kernel_size: reachPx } = await readBody(input, adjustSchema);
      const ownerId = input.caller.userId;
      const png = await adjustMask({ ownerId, bytes: mask, operate, reachPx });
      return pngResponse(png);
    }),
};

/** The HTTP API of IOPaint 1.6; `iopaint-socket.ts` has its progress. */
export const iopaintApi: ClientApi = {
  routes: [
    inpaintRoute,
    pluginImageRoute,
    pluginMaskRoute,
    adjustMaskRoute,
    ...iopaintInfoRoutes,
    ...iopaintFileRoutes,
  ],
  isSwitched: false,
  errorResponse: iopaintError,
};
