import { readFile } from "node:fs/promises";
import { z } from "zod";
import { readPngTexts } from "../../images/index.ts";
import { readCapabilities } from "../../jobs/index.ts";
import { AppError, ruleOf, pictureLimits } from "../../platform/index.ts";
import type { Services } from "../../services.ts";
import { type MultipartRules, withParts } from "../http/multipart.ts";
import { readBody } from "./picture-bodies.ts";
import { pluginJob, unknownPlugin } from "./picture-jobs.ts";
import type { ClientRoute } from "./route.ts";

/** What the model that needs no prompt is called: the name that every client knows. */
export const eraseModel = "lama";
const promptModel = "inpaint-with-prompt";

function modelInfo(name: string) {
  const needsPrompt = name === promptModel;
  return {
    name,
    path: name,
    model_type: needsPrompt ? "diffusers_sd_inpaint" : "inpaint",
    is_single_file_diffusers: false,
    need_prompt: needsPrompt,
    controlnets: [],
    controlnet: null,
    brushnets: [],
    brushnet: null,
    support_strength: needsPrompt,
    support_outpainting: false,
    support_lcm_lora: false,
    support_controlnet: false,
    support_brushnet: false,
    support_powerpaint_v2: false,
  };
}

export async function readModels(services: Services): Promise<string[]> {
  const { items } = await readCapabilities(services, { mayUseCloud: false });
  const canPaint = items.some(({ kind, engines }) => kind === "inpaint" && engines.includes("comfyui"));
  return canPaint ? [eraseModel, promptModel] : [eraseModel];
}

/** The plugin that makes masks as well as pictures. */
export const cutOutPlugin = "RemoveBG";
/** The plugin that makes a mask from clicks. */
export const clickPlugin = "InteractiveSeg";

/** Plugins that make pictures and whose jobs can run now. */
export async function readPicturePlugins(services: Services): Promise<string[]> {
  const { items } = await readCapabilities(services, { mayUseCloud: false });
  const names = [cutOutPlugin, "RealESRGAN", "GFPGAN"];
  return names.filter((name) =>
    items.some(({ kind, available }) => available && kind === pluginJob(name, 2)?.kind),
  );
}

/** All plugins whose jobs can run now. */
async function readPlugins(services: Services): Promise<string[]> {
  const [names, { items }] = await Promise.all([
    readPicturePlugins(services),
    readCapabilities(services, { mayUseCloud: false }),
  ]);
  const canSegment = items.some(({ kind, means }) => kind === "segment" && means.includes("clicks"));
  return canSegment ? [...names, clickPlugin] : names;
}

/** The workflow chooses its own; the name is the default of the clients. */
const samplers = ["UniPC"];

/** GET server-config */
const serverConfigRoute: ClientRoute = {
  method: "get",
  path: "/server-config",
  operationId: "iopaintServerConfig",
  async handle({ services }) {
    const [plugins, models] = await Promise.all([readPlugins(services), readModels(services)]);
    return Response.json({
      plugins: plugins.map((name) => ({
        name,
        support_gen_image: name !== clickPlugin,
        support_gen_mask: name === cutOutPlugin || name === clickPlugin,
      })),
      modelInfos: models.map(modelInfo),
      removeBGModel: "atelier",
      removeBGModels: ["atelier"],
      realesrganModel: "atelier",
      realesrganModels: ["atelier"],
      interactiveSegModel: "atelier",
      interactiveSegModels: ["atelier"],
      enableFileManager: true,
      // Its *Save* sends the picture to `save_image`; without it the page downloads.
      enableAutoSaving: true,
      enableControlnet: false,
      controlnetMethod: null,
      disableModelSwitch: false,
      isDesktop: false,
      samplers,
    });
  },
};

/** GET model */
const modelRoute: ClientRoute = {
  method: "get",
  path: "/model",
  operationId: "iopaintModel",
  handle: () => Promise.resolve(Response.json(modelInfo(eraseModel))),
};

const switchSchema = z.looseObject({ name: z.string() });

/** POST model: whether a request has a prompt decides which model it gets, so that nothing is switched for others. */
const switchModelRoute: ClientRoute = {
  method: "post",
  path: "/model",
  operationId: "iopaintSwitchModel",
  async handle(input) {
    const { name } = await readBody(input, switchSchema);
    if (!(await readModels(input.services)).includes(name))
      throw new AppError("no_engine", `${name} not found`);
    return Response.json(modelInfo(name));
  },
};

const samplersRoute: ClientRoute = {
  method: "get",
  path: "/samplers",
  operationId: "iopaintSamplers",
  handle: () => Promise.resolve(Response.json(samplers)),
};

/** The picture that an IOPaint was started with: there is none. */
const inputImageRoute: ClientRoute = {
  method: "get",
  path: "/inputimage",
  operationId: "iopaintInputImage",
  handle: () => Promise.reject(new AppError("not_found", "Input image not found")),
};

const infoRules: MultipartRules = { files: { file: 1 }, fields: 4, fieldBytes: 1_024 };
const nothingSaid = { prompt: "", negative_prompt: "" };
const negativeLabel = "Negative prompt: ";

/** POST gen-info: the prompt that a picture's own text says it was made with; the page of IOPaint reads it at each picture. */
const genInfoRoute: ClientRoute = {
  method: "post",
  path: "/gen-info",
  operationId: "iopaintGenInfo",
  handle: ({ services, caller, request }) =>
    withParts(services, { request, caller, rules: infoRules }, async ({ files: [file] }) => {
      if (!file) throw new AppError("bad_request", "file is required as a file.");
      return Response.json(await readGenInfo(file.path));
    }),
};

/** A text of the form `prompt\nNegative prompt: words\nSteps: 20, …`; a picture that cannot be read says nothing. */
async function readGenInfo(path: string): Promise<typeof nothingSaid> {
  const texts = await readFile(path)
    .then(readPngTexts)
    .catch(() => []);
  const text = texts.find(({ keyword }) => keyword === "parameters")?.text;
  if (!text) return nothingSaid;
  const words = text.split(/\nSteps: /)[0] ?? "";
  const [prompt = "", negative = ""] = words.split(negativeLabel);
  return { prompt: clean(prompt), negative_prompt: clean(negative) };
}

const clean = (text: string) => text.trim().slice(0, pictureLimits.promptCharacters).toWellFormed();

const switchPluginSchema = z.looseObject({ plugin_name: z.string(), model_name: z.string() });

/** POST switch_plugin_model: each plugin has one model. */
const switchPluginRoute: ClientRoute = {
  method: "post",
  path: "/switch_plugin_model",
  operationId: "iopaintSwitchPluginModel",
  async handle(input) {
    const { plugin_name: name } = await readBody(input, switchPluginSchema);
    if (!(await readPlugins(input.services)).includes(name)) throw unknownPlugin();
    return Response.json(null);
  },
};

/** The routes of IOPaint that tell what the server can do. */
export const iopaintInfoRoutes: readonly ClientRoute[] = [
  serverConfigRoute,
  modelRoute,
  switchModelRoute,
  { ...switchModelRoute, path: "/switch_model", operationId: "iopaintSwitchModelByName" },
  switchPluginRoute,
  samplersRoute,
  { ...samplersRoute, method: "post", operationId: "iopaintSamplersByPost" },
  genInfoRoute,
  inputImageRoute,
];

/** IOPaint's own shape of errors; its clients show `detail`. */
export function iopaintError(error: AppError): Response {
  const { httpStatus } = ruleOf(error.code);
  // A mask of another size than the picture is 400 there.
  const status = error.code === "mask_size" ? 400 : httpStatus;
  const body = { error: error.code, detail: error.message, body: "", errors: error.message };
  return Response.json(body, { status, headers: { "cache-control": "no-store" } });
}
