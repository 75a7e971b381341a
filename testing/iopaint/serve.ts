import type { IncomingMessage, ServerResponse } from "node:http";
import { type Answer, empty, json, proxyPage, readBody } from "../comfyui/http/answer.ts";
import { refuseStranger } from "../comfyui/http/serve.ts";
import { type JsonObject, objectOf, parseJson } from "../comfyui/options.ts";
import { isIopaintFault, missingField, refused, showTrouble, Trouble } from "./faults.ts";
import { inpaint } from "./inpaint.ts";
import { eraseModels, type Iopaint, pluginFacts } from "./options.ts";
import { adjustMask, runPluginImage, runPluginMask } from "./plugins.ts";

const samplers = [
  "DPM++ 2M",
  "DPM++ 2M Karras",
  "DPM++ SDE",
  "DDIM",
  "Euler",
  "Euler a",
  "Heun",
  "LMS",
  "UniPC",
  "LCM",
];

const removeModels = ["briaai/RMBG-1.4", "briaai/RMBG-2.0", "u2net", "isnet-general-use", "birefnet-general"];
const upscaleModels = ["realesr-general-x4v3", "RealESRGAN_x4plus", "RealESRGAN_x4plus_anime_6B"];
const segmentModels = ["vit_b", "vit_l", "vit_h", "mobile_sam", "sam2_tiny"];

/** What the server says about a model. */
function modelInfo(name: string): JsonObject {
  const isEraser = eraseModels.includes(name);
  return {
    name,
    path: name,
    model_type: isEraser ? "inpaint" : "diffusers_sd_inpaint",
    is_single_file_diffusers: false,
    need_prompt: !isEraser,
    controlnets: [],
    brushnets: [],
    support_strength: !isEraser,
    support_outpainting: !isEraser,
    support_lcm_lora: false,
    support_controlnet: false,
    support_brushnet: false,
    support_powerpaint_v2: false,
  };
}

/** GET /api/v1/server-config. */
function getServerConfig({ plugins, models, pluginModels }: Iopaint): Answer {
  const shown = plugins.map((name) => ({
    name,
    support_gen_image: pluginFacts[name]?.makesImage ?? false,
    support_gen_mask: pluginFacts[name]?.makesMask ?? false,
  }));
  return json({
    plugins: shown,
    modelInfos: models.map(modelInfo),
    removeBGModel: pluginModels.RemoveBG ?? removeModels[0],
    removeBGModels: removeModels,
    realesrganModel: pluginModels.RealESRGAN ?? upscaleModels[0],
    realesrganModels: upscaleModels,
    interactiveSegModel: pluginModels.InteractiveSeg ?? segmentModels[0],
    interactiveSegModels: segmentModels,
    enableFileManager: false,
    enableAutoSaving: false,
    enableControlnet: false,
    controlnetMethod: null,
    disableModelSwitch: false,
    isDesktop: false,
    samplers,
  });
}

function getModel({ model }: Iopaint): Answer {
  return json(modelInfo(model));
}

function getSamplers(): Answer {
  return json(samplers);
}

/** POST /api/v1/model. */
function postModel(iopaint: Iopaint, { name }: JsonObject): Answer {
  if (typeof name !== "string") return missingField("name");
  if (!iopaint.models.includes(name)) throw refused(500, `${name} not found`);
  iopaint.model = name;
  return json(modelInfo(name));
}

/** POST /api/v1/switch_plugin_model. */
function switchPluginModel(iopaint: Iopaint, body: JsonObject): Answer {
  const { plugin_name: plugin, model_name: model } = body;
  if (typeof plugin !== "string") return missingField("plugin_name");
  if (typeof model !== "string") return missingField("model_name");
  if (!iopaint.plugins.includes(plugin)) throw refused(422, "Plugin not found");
  iopaint.pluginModels[plugin] = model;
  return json(null);
}

type IopaintRoute = (iopaint: Iopaint, body: JsonObject) => Promise<Answer> | Answer;

/** "METHOD path" to what answers it. */
const iopaintRoutes: ReadonlyMap<string, IopaintRoute> = new Map<string, IopaintRoute>([
  ["POST /api/v1/inpaint", inpaint],
  ["POST /api/v1/run_plugin_gen_image", runPluginImage],
  ["POST /api/v1/run_plugin_gen_mask", runPluginMask],
  ["POST /api/v1/adjust_mask", adjustMask],
  ["GET /api/v1/server-config", getServerConfig],
  ["GET /api/v1/model", getModel],
  ["POST /api/v1/model", postModel],
  ["POST /api/v1/switch_plugin_model", switchPluginModel],
  ["GET /api/v1/samplers", getSamplers],
  ["POST /api/v1/samplers", getSamplers],
  ["POST /api/v1/save_image", refuseSaving],
  ["GET /sim/stats", ({ stats }) => json(stats)],
  ["POST /sim/fault", postFault],
  ["DELETE /sim/fault", clearFaults],
]);

function refuseSaving(): Answer {
  throw refused(400, "Output path is not set. Start the server with --output-dir.");
}

function postFault({ faults }: Iopaint, body: unknown): Answer {
  if (!isIopaintFault(body)) return json({ detail: "a fault has a known kind" }, 400);
  faults.inject(body);
  return empty(200);
}

function clearFaults({ faults }: Iopaint): Answer {
  faults.clear();
  return empty(200);
}

/** Answers one request, or does what a fault wants instead. */
export async function serveIopaint(
  iopaint: Iopaint,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { pathname } = new URL(request.url ?? "/", "http://simulator");
  const refusal = refuseStranger(iopaint, request);
  const body = objectOf(parseJson((await readBody(request)).toString()));
  if (refusal) return send(response, refusal);
  const name = `${request.method} ${pathname}`;
  const page = pathname.startsWith("/sim/") ? null : iopaint.faults.take("html");
  if (page) return send(response, proxyPage(page.status ?? 502));
  const answer = await answerRoute(iopaint, name, body);
  if (name.startsWith("POST /api/")) {
    if (iopaint.faults.take("lost-answer")) return void request.socket.destroy();
    if (iopaint.faults.take("garbage")) return send(response, { ...answer, body: "not a picture" });
  }
  send(response, answer);
}

async function answerRoute(iopaint: Iopaint, name: string, body: Record<string, unknown>): Promise<Answer> {
  const route = iopaintRoutes.get(name);
  if (!route) {
    const [, path = ""] = name.split(" ");
    const isKnown = [...iopaintRoutes.keys()].some((key) => key.endsWith(` ${path}`));
    return json({ detail: isKnown ? "Method Not Allowed" : "Not Found" }, isKnown ? 405 : 404);
  }
  try {
    return await route(iopaint, body);
  } catch (error) {
    if (!(error instanceof Trouble)) throw error;
    iopaint.stats.failures += 1;
    return showTrouble(error);
  }
}

function send(response: ServerResponse, { status, headers = {}, body }: Answer): void {
  const cors = { "access-control-allow-origin": "*", "access-control-expose-headers": "X-Seed" };
  response.writeHead(status, { ...cors, ...headers, "content-length": Buffer.byteLength(body) });
  response.end(body);
}
