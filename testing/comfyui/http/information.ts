import os from "node:os";
import { type Fault, isFaultKind } from "../faults.ts";
import { describeClass, factOf, classNames } from "../graph/classes.ts";
import { isObject, type JsonObject, objectOf, parseJson, textsOf } from "../options.ts";
import { release } from "../queue/run.ts";
import { readStats } from "../server/stats.ts";
import { serverFeatures } from "../socket.ts";
import { type Answer, type Call, empty, json, text } from "./answer.ts";

/** GET /sim/stats: what the server has done so far. */
export function getStats({ comfy }: Call): Answer {
  return json(readStats(comfy.ledger));
}

/** GET /sim/prompts: every prompt that was accepted, with its graph. */
export function listPrompts({ comfy }: Call): Answer {
  return json([...comfy.ledger.stories.values()]);
}

/** POST /sim/models: folder to file names, in place of all that were there. */
export async function postModels(call: Call): Promise<Answer> {
  const body = objectOf(parseJson((await call.readBody()).toString()));
  const folders = Object.entries(body).map(([folder, files]) => [folder, textsOf(files)] as const);
  call.comfy.models = Object.fromEntries(folders);
  return empty(200);
}

/** POST /sim/fault: a Fault as JSON. */
export async function postFault(call: Call): Promise<Answer> {
  const fault = parseJson((await call.readBody()).toString());
  if (!isFault(fault)) return text(400, "a fault has a known kind");
  call.comfy.faults.inject(fault);
  return empty(200);
}

/** GET /sim/fault: the faults that wait to strike. */
export function listFaults({ comfy }: Call): Answer {
  return json(comfy.faults.list());
}

/** DELETE /sim/fault: takes all back. */
export function deleteFaults({ comfy }: Call): Answer {
  comfy.faults.clear();
  return empty(200);
}

/** POST /sim/release: lets held nodes go on. */
export function postRelease({ comfy }: Call): Answer {
  release(comfy);
  return empty(200);
}

// The kind decides; the other members are the test's own affair.
function isFault(value: unknown): value is Fault {
  return isObject(value) && isFaultKind(value.kind);
}

export function getFeatures(): Answer {
  return json(serverFeatures);
}

/** GET /object_info: every class that this server has. */
export function listObjectInfo({ comfy }: Call): Answer {
  const classes: JsonObject = {};
  for (const name of classNames(comfy)) {
    const fact = factOf(comfy, name);
    if (fact) classes[name] = describeClass(comfy, name, fact);
  }
  return json(classes);
}

/** GET /object_info/{class}: empty for an unknown class. */
export function getObjectInfo({ comfy, params: [name = ""] }: Call): Answer {
  const fact = factOf(comfy, name);
  return json(fact ? { [name]: describeClass(comfy, name, fact) } : {});
}

const modelFolders = [
  "checkpoints",
  "configs",
  "loras",
  "vae",
  "text_encoders",
  "diffusion_models",
  "clip_vision",
  "style_models",
  "embeddings",
  "diffusers",
  "vae_approx",
  "controlnet",
  "gligen",
  "upscale_models",
  "latent_upscale_models",
  "custom_nodes",
  "hypernetworks",
  "photomaker",
  "classifiers",
  "model_patches",
  "audio_encoders",
  "background_removal",
];

export function listFolders(): Answer {
  return json(modelFolders);
}

/** GET /models/{folder}. */
export function listModels({ comfy, params: [folder = ""] }: Call): Answer {
  return modelFolders.includes(folder) ? json((comfy.models[folder] ?? []).toSorted()) : empty(404);
}

/** GET /embeddings: names without their endings. */
export function listEmbeddings({ comfy }: Call): Answer {
  return json((comfy.models.embeddings ?? []).map((name) => name.replace(/\.[^.]+$/, "")));
}

const idleShare = 0.95;
const fullShare = 0.02;

/** GET /system_stats: a card that is full says so. */
export function getSystemStats({ comfy }: Call): Answer {
  const { device, mode } = comfy.options;
  const isCpu = device.type === "cpu";
  const isFull = comfy.faults.has("gpu-out-of-memory");
  const total = device.vramTotalBytes;
  const free = total === null ? null : Math.trunc(total * (isFull ? fullShare : idleShare));
  const system = {
    os: "linux",
    ram_total: os.totalmem(),
    ram_free: os.freemem(),
    comfyui_version: mode === "new" ? "0.38.0" : "0.8.0",
    required_frontend_version: "1.35.9",
    installed_templates_version: "0.7.69",
    required_templates_version: "0.7.69",
    python_version: "3.13.5 (SIMULATOR)",
    pytorch_version: isCpu ? "2.6.0+cpu" : "2.9.1+cu128",
    embedded_python: false,
    argv: ["main.py", ...(isCpu ? ["--cpu"] : [])],
    ...(mode === "new" ? { comfy_package_versions: {}, deploy_environment: "local-git" } : {}),
  };
  const shown = {
    name: isCpu ? "cpu" : "cuda:0 SIMULATOR : cudaMallocAsync",
    type: device.type,
    index: isCpu ? null : 0,
    vram_total: total,
    vram_free: free,
    torch_vram_total: isCpu ? total : 0,
    torch_vram_free: isCpu ? free : 0,
  };
  return json({ system, devices: [shown] });
}
