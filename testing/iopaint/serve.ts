import { json, type Answer } from "../comfyui/http/answer.ts";
import type { JsonObject } from "../comfyui/json.ts";
import type { Iopaint } from "./iopaint.ts";
import { eraseModels, pluginFacts } from "./options.ts";
import { missingField, refused } from "./trouble.ts";

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
export function getServerConfig({ plugins, models, pluginModels }: Iopaint): Answer {
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

export function getModel({ model }: Iopaint): Answer {
  return json(modelInfo(model));
}

export function getSamplers(): Answer {
  return json(samplers);
}

/** POST /api/v1/model. */
export function postModel(iopaint: Iopaint, { name }: JsonObject): Answer {
  if (typeof name !== "string") return missingField("name");
  if (!iopaint.models.includes(name)) throw refused(500, `${name} not found`);
  iopaint.model = name;
  return json(modelInfo(name));
}

/** POST /api/v1/switch_plugin_model. */
export function switchPluginModel(iopaint: Iopaint, body: JsonObject): Answer {
  const { plugin_name: plugin, model_name: model } = body;
  if (typeof plugin !== "string") return missingField("plugin_name");
  if (typeof model !== "string") return missingField("model_name");
  if (!iopaint.plugins.includes(plugin)) throw refused(422, "Plugin not found");
  iopaint.pluginModels[plugin] = model;
  return json(null);
}
