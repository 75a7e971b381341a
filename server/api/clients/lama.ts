import { readFile } from "node:fs/promises";
import { AppError, ruleOf } from "../../platform/index.ts";
import { formatOf } from "../../images/index.ts";
import { type MultipartRules, type ReceivedParts, withParts } from "../http/multipart.ts";
import { asOneOfFew } from "../requests.ts";
import { eraseModel, readModels, readPicturePlugins } from "./iopaint-info.ts";
import {
  collectPicture,
  paintParams,
  pictureResponse,
  pluginJob,
  seedOf,
  submitPictureJob,
  unknownPlugin,
} from "./picture-jobs.ts";
import type { ClientApi, ClientRoute } from "./route.ts";

const rules: MultipartRules = {
  files: { image: 1, mask: 1, paintByExampleImage: 1 },
  fields: 64,
  fieldBytes: 32_768,
};

function pathOf({ files }: ReceivedParts, name: string): string {
  const file = files.find(({ part }) => part === name);
  if (!file) throw new AppError("bad_request", `${name} is required as a file.`);
  return file.path;
}

/** A number of a form; undefined for a missing one and for a text. */
function numberOf({ fields }: ReceivedParts, name: string): number | undefined {
  const text = fields.get(name)?.trim();
  const value = text ? Number(text) : Number.NaN;
  return Number.isFinite(value) ? value : undefined;
}

/** POST /inpaint of Lama Cleaner: a form whose many settings may all be missing here. */
const inpaintRoute: ClientRoute = {
  method: "post",
  path: "/inpaint",
  operationId: "lamaInpaint",
  handle: (input) =>
    asOneOfFew(input, "answer", async () => {
      const { services, request, caller } = input;
      const { id, format, seed } = await withParts(services, { request, caller, rules }, async (parts) => {
        if (
          parts.fields.get("useCroper") === "true" ||
          parts.files.some(({ part }) => part.startsWith("paint"))
        )
          throw new AppError(
            "bad_request",
            "useCroper and paintByExampleImage are not supported by this server.",
          );
        const used = seedOf(numberOf(parts, "sdSeed") ?? 42);
        const image = pathOf(parts, "image");
        const pictures = [
          { role: "image", bytes: image },
          { role: "mask", bytes: pathOf(parts, "mask") },
        ] as const;
        const params = paintParams({ ...paintSettings(parts), seed: used });
        // First: a failure after the submit would leave a job that nobody collects.
        const format = formatOf(await readFile(image));
        const id = await submitPictureJob(input, { kind: "inpaint", params, pictures });
        return { id, format, seed: used };
      });
      return pictureResponse(await collectPicture(input, id, format), format, seed);
    }),
};

function paintSettings(parts: ReceivedParts) {
  return {
    prompt: parts.fields.get("prompt") ?? "",
    negativePrompt: parts.fields.get("negativePrompt") ?? "",
    steps: numberOf(parts, "sdSteps"),
    guidance: numberOf(parts, "sdGuidanceScale"),
    strength: numberOf(parts, "sdStrength"),
  };
}

/** POST /run_plugin of Lama Cleaner */
const pluginRoute: ClientRoute = {
  method: "post",
  path: "/run_plugin",
  operationId: "lamaRunPlugin",
  handle: (input) =>
    asOneOfFew(input, "answer", async () => {
      const { services, request, caller } = input;
      const id = await withParts(services, { request, caller, rules }, async (parts) => {
        const job = pluginJob(parts.fields.get("name") ?? "", numberOf(parts, "upscale") ?? 2);
        if (!job) throw unknownPlugin();
        const pictures = [{ role: "image", bytes: pathOf(parts, "image") }] as const;
        return submitPictureJob(input, { ...job, pictures });
      });
      return pictureResponse(await collectPicture(input, id, "png"), "png");
    }),
};

/** GET /server_config of Lama Cleaner */
const serverConfigRoute: ClientRoute = {
  method: "get",
  path: "/server_config",
  operationId: "lamaServerConfig",
  handle: async ({ services }) =>
    Response.json({
      isControlNet: false,
      controlNetMethod: null,
      isDisableModelSwitchState: false,
      isEnableAutoSaving: false,
      enableFileManager: false,
      plugins: await readPicturePlugins(services),
    }),
};

/** GET /model of Lama Cleaner */
const modelRoute: ClientRoute = {
  method: "get",
  path: "/model",
  operationId: "lamaModel",
  handle: () => Promise.resolve(new Response(eraseModel)),
};

/** GET /is_desktop, as Python writes it. */
const isDesktopRoute: ClientRoute = {
  method: "get",
  path: "/is_desktop",
  operationId: "lamaIsDesktop",
  handle: () => Promise.resolve(new Response("False")),
};

/** GET /model_downloaded/NAME: a model that can be chosen needs no download. */
const isDownloadedRoute: ClientRoute = {
  method: "get",
  path: "/model_downloaded/:name",
  operationId: "lamaModelDownloaded",
  handle: async ({ services, params }) =>
    new Response((await readModels(services)).includes(params["name"] ?? "") ? "True" : "False"),
};

const switchRules: MultipartRules = { files: {}, fields: 4, fieldBytes: 1_024 };

/** POST /model of Lama Cleaner: checks the name and switches nothing, as for IOPaint. */
const switchModelRoute: ClientRoute = {
  method: "post",
  path: "/model",
  operationId: "lamaSwitchModel",
  handle: ({ services, caller, request }) =>
    withParts(services, { request, caller, rules: switchRules }, async ({ fields }) => {
      const name = fields.get("name") ?? "";
      if (!(await readModels(services)).includes(name)) throw new AppError("no_engine", `${name} not found`);
      return new Response(`ok, switch to ${name}`);
    }),
};

/** Texts, as Flask gave them. Clients of Lama Cleaner know this one by its words and its status. */
function errorResponse(error: AppError): Response {
  const headers = { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" };
  if (error.code === "gpu_out_of_memory") return new Response("CUDA out of memory", { status: 500, headers });
  const { httpStatus } = ruleOf(error.code);
  return new Response(error.message, { status: error.code === "mask_size" ? 400 : httpStatus, headers });
}

/** The HTTP API of Lama Cleaner 1.2.5, without its socket, its file manager and saving on the server. */
export const lamaApi: ClientApi = {
  routes: [
    inpaintRoute,
    pluginRoute,
    serverConfigRoute,
    modelRoute,
    switchModelRoute,
    isDesktopRoute,
    isDownloadedRoute,
  ],
  isSwitched: false,
  errorResponse,
};
