import { buffer } from "node:stream/consumers";
import { z } from "zod";
import type { JobKind } from "../../engines.ts";
import { readAs } from "../../images/index.ts";
import { type JobView, openWithSettings, parametersText } from "../../jobs/index.ts";
import { AppError } from "../../platform/index.ts";
import { awaitOrder, outputOf, type Placed, placeOrder, unusedNotes } from "../clients/orders.ts";
import { pictureSchema, readBody, withoutNothing } from "../clients/picture-bodies.ts";
import type { ClientInput, ClientRoute } from "../clients/route.ts";
import { sendJson } from "../clients/send.ts";
import { type Asked, mostPictures, readImage, readText, sdapiSession } from "./request.ts";

/** What outlives the order: its pictures stay in memory no longer. */
interface Ordered extends Omit<Asked, "order"> {
  readonly placed: Placed;
}

async function orderOf(input: ClientInput, read: (input: ClientInput) => Promise<Asked>): Promise<Ordered> {
  const { order, ...asked } = await read(input);
  return { ...asked, placed: await placeOrder(input, order) };
}

async function answer(input: ClientInput, { placed, ...asked }: Ordered): Promise<Response> {
  const { ids } = placed;
  const jobs = await awaitOrder(input, placed, true);
  if (!jobs)
    return Response.json({ images: [], parameters: {}, info: infoOf(asked, [], ids) }, { status: 202 });
  const tail = JSON.stringify({ parameters: asked.parameters, info: infoOf(asked, jobs, ids) }).slice(1);
  return sendJson(input.services, pieces(input, asked.body.send_images ? jobs : [], tail), {
    onServed: () => Promise.resolve(),
  });
}

async function* pieces(
  { services, caller }: ClientInput,
  jobs: readonly JobView[],
  tail: string,
): AsyncGenerator<string> {
  yield `{"images":[`;
  for (const [at, job] of jobs.entries()) {
    // A PNG with its settings as text, as that server's pictures have them.
    const own = { id: outputOf(job).imageId, ownerId: caller.userId };
    const { body } = await openWithSettings(services, own);
    const bytes = body ? await buffer(body) : Buffer.alloc(0);
    yield `${at > 0 ? "," : ""}"${bytes.toString("base64")}"`;
  }
  yield `],${tail}`;
}

const textIn = (value: unknown) => (typeof value === "string" ? value : "");

/** A text of JSON: what the pictures were made with, as far as it is known, and what was asked and not done. */
function infoOf(
  { body, settings, notes }: Omit<Asked, "order">,
  jobs: readonly JobView[],
  ids: readonly string[],
): string {
  const said = [...new Set([...notes, ...jobs.flatMap((job) => unusedNotes(settings, job))])];
  const [first] = jobs;
  const seeds = jobs.map((job) => Number(job.params["seed"] ?? -1));
  return JSON.stringify({
    prompt: body.prompt,
    negative_prompt: body.negative_prompt,
    seed: body.seed,
    width: body.width ?? 0,
    height: body.height ?? 0,
    ...(first ? madeWith(first) : {}),
    all_prompts: jobs.map(({ params }) => textIn(params["prompt"])),
    all_negative_prompts: jobs.map(({ params }) => textIn(params["negativePrompt"])),
    all_seeds: seeds,
    subseed: -1,
    all_subseeds: jobs.map(() => -1),
    subseed_strength: 0,
    sampler_name: "Workflow",
    batch_size: jobs.length,
    restore_faces: false,
    face_restoration_model: null,
    sd_model_hash: "",
    seed_resize_from_w: -1,
    seed_resize_from_h: -1,
    extra_generation_params: {},
    index_of_first_image: 0,
    infotexts: jobs.map((job) => parametersText(job) ?? ""),
    styles: [],
    clip_skip: 1,
    is_using_inpainting_conditioning: false,
    atelier: { jobs: ids, notes: said },
  });
}

function madeWith(job: JobView) {
  const { params, createdAt, model, workflow, engine } = job;
  const { widthPx, heightPx } = outputOf(job);
  return {
    prompt: textIn(params["prompt"]),
    negative_prompt: textIn(params["negativePrompt"]),
    seed: Number(params["seed"] ?? -1),
    width: widthPx,
    height: heightPx,
    cfg_scale: params["guidance"] ?? null,
    steps: params["steps"] ?? null,
    denoising_strength: params["strength"] ?? null,
    sd_model_name: `atelier/${model ?? workflow ?? engine}`,
    job_timestamp: createdAt.replaceAll(/\D/g, "").slice(0, 14),
  };
}

const textRoute: ClientRoute = {
  method: "post",
  path: "/sdapi/v1/txt2img",
  operationId: "sdapiTxt2img",
  handle: async (input) => answer(input, await orderOf(input, readText)),
};

const imageRoute: ClientRoute = {
  method: "post",
  path: "/sdapi/v1/img2img",
  operationId: "sdapiImg2img",
  handle: async (input) => answer(input, await orderOf(input, readImage)),
};

const extraSchema = z.looseObject({
  image: pictureSchema,
  resize_mode: z.coerce.number().default(0),
  upscaling_resize: z.coerce.number().default(2),
  gfpgan_visibility: z.coerce.number().default(0),
  codeformer_visibility: z.coerce.number().default(0),
  upscaler_1: z.string().default(""),
  upscaler_2: z.string().default("None"),
});

type Enlarging = Pick<
  z.output<typeof extraSchema>,
  "resize_mode" | "upscaling_resize" | "gfpgan_visibility" | "codeformer_visibility" | "upscaler_2"
>;

interface OneJob {
  readonly kind: JobKind;
  readonly params: Readonly<Record<string, unknown>>;
  readonly image: Buffer;
}

/** Apart from the wait for it, so that the picture that was sent leaves the memory before. */
function orderOne(input: ClientInput, { kind, params, image }: OneJob): Promise<Placed> {
  const order = { kind, params, choice: null, count: 1, maxPriceUsd: 0, sessionId: sdapiSession };
  const pictures = [{ role: "image" as const, picture: { bytes: image } }];
  return placeOrder(input, { ...order, pictures });
}

/** The picture that was made, as a PNG in base64. */
async function madeOf(input: ClientInput, placed: Placed): Promise<string> {
  const [job] = (await awaitOrder(input, placed)) ?? [];
  if (!job) throw new AppError("engine_timeout");
  const own = { id: outputOf(job).imageId, ownerId: input.caller.userId };
  return (await readAs(input.services, own, "png")).toString("base64");
}

/** POST extra-single-image: an upscale by 2 or 4. */
const extraRoute: ClientRoute = {
  method: "post",
  path: "/sdapi/v1/extra-single-image",
  operationId: "sdapiExtraSingleImage",
  async handle(input) {
    const { notes, placed } = await orderUpscale(input);
    return Response.json({ html_info: notes.join(" "), image: await madeOf(input, placed) });
  },
};

async function orderUpscale(input: ClientInput) {
  const { image, ...asked } = await readBody(input, z.preprocess(withoutNothing, extraSchema));
  const { scale, notes } = scaleOf(asked);
  return { notes, placed: await orderOne(input, { kind: "upscale", params: { scale }, image }) };
}

/** How much is enlarged, and what is left out. Throws `bad_request`. */
function scaleOf(asked: Enlarging) {
  if (asked.resize_mode !== 0)
    throw new AppError(
      "bad_request",
      "resize_mode: only 0 is taken here, which enlarges by upscaling_resize.",
    );
  const scale = asked.upscaling_resize <= 2 ? 2 : 4;
  const notes = [
    ...(scale === asked.upscaling_resize
      ? []
      : [`The picture was enlarged by ${scale}: 2 and 4 are possible.`]),
    ...(asked.gfpgan_visibility + asked.codeformer_visibility > 0 ? ["Faces were not restored."] : []),
    ...(["None", ""].includes(asked.upscaler_2) ? [] : ["upscaler_2 is not known here and was left out."]),
  ];
  return { scale, notes };
}

const listedSchema = z.looseObject({ data: pictureSchema });
const extraBatchSchema = extraSchema
  .omit({ image: true })
  .extend({ imageList: z.array(listedSchema).min(1).max(mostPictures) });

/** POST extra-batch-images: the same of several pictures, one after the other. */
const extraBatchRoute: ClientRoute = {
  method: "post",
  path: "/sdapi/v1/extra-batch-images",
  operationId: "sdapiExtraBatchImages",
  async handle(input) {
    // Each picture is an order by itself, and a key names one.
    if (input.request.headers.has("idempotency-key"))
      throw new AppError("bad_request", "extra-batch-images takes no Idempotency-Key.");
    const { imageList, ...asked } = await readBody(input, z.preprocess(withoutNothing, extraBatchSchema));
    const { scale, notes } = scaleOf(asked);
    const images: string[] = [];
    for (const { data } of imageList) {
      const placed = await orderOne(input, { kind: "upscale", params: { scale }, image: data });
      images.push(await madeOf(input, placed));
    }
    return Response.json({ html_info: notes.join(" "), images });
  },
};

const cutOutSchema = z.looseObject({
  input_image: pictureSchema,
  return_mask: z.boolean().default(false),
});

/** POST rembg, as the extension of that name has it. */
const cutOutRoute: ClientRoute = {
  method: "post",
  path: "/rembg",
  operationId: "rembg",
  async handle(input) {
    return Response.json({ image: await madeOf(input, await orderCutOut(input)) });
  },
};

async function orderCutOut(input: ClientInput): Promise<Placed> {
  const { input_image: image, return_mask: wantsMask } = await readBody(
    input,
    z.preprocess(withoutNothing, cutOutSchema),
  );
  if (wantsMask)
    throw new AppError("bad_request", "return_mask: the cut-out picture alone is returned here.");
  return orderOne(input, { kind: "remove_background", params: {}, image });
}

export const runRoutes: readonly ClientRoute[] = [
  textRoute,
  imageRoute,
  extraRoute,
  extraBatchRoute,
  cutOutRoute,
  { ...cutOutRoute, path: "/sdapi/v1/rembg", operationId: "sdapiRembg" },
];
