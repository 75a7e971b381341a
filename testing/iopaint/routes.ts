import { empty, json, type Answer } from "../comfyui/http/answer.ts";
import type { JsonObject } from "../comfyui/json.ts";
import { adjustMask } from "./adjust-mask.ts";
import { isIopaintFault } from "./fault.ts";
import { inpaint } from "./inpaint.ts";
import type { Iopaint } from "./iopaint.ts";
import { getModel, getSamplers, getServerConfig, postModel, switchPluginModel } from "./serve.ts";
import { runPluginImage, runPluginMask } from "./plugins.ts";
import { refused } from "./trouble.ts";

export type IopaintRoute = (iopaint: Iopaint, body: JsonObject) => Promise<Answer> | Answer;

/** "METHOD path" to what answers it. */
export const iopaintRoutes: ReadonlyMap<string, IopaintRoute> = new Map<string, IopaintRoute>([
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
