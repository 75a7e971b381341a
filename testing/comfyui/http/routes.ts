import type { ComfyMode } from "../options.ts";
import type { Handler } from "./call.ts";
import { getHistory, listHistory, postHistory } from "./history-routes.ts";
import {
  getFeatures,
  getObjectInfo,
  getSystemStats,
  listEmbeddings,
  listFolders,
  listModels,
  listObjectInfo,
} from "./information.ts";
import { cancelJob, cancelJobs, getJob, listJobs } from "./jobs.ts";
import { postPrompt } from "./queue.ts";
import { getPrompt, getQueue, postFree, postInterrupt, postQueue } from "./queue-routes.ts";
import {
  deleteFaults,
  getStats,
  listFaults,
  listPrompts,
  postFault,
  postModels,
  postRelease,
} from "./sim-routes.ts";
import { uploadImage, uploadMask } from "./images.ts";
import { viewImage } from "./view-image.ts";

export interface Route {
  readonly method: string;
  readonly pattern: RegExp;
  readonly handle: Handler;
  /** Only in this line of the server. */
  readonly mode?: ComfyMode;
  /** Only below "/api". */
  readonly isApiOnly?: true;
}

function route(method: string, path: string, handle: Handler): Route {
  return { method, pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, "([^/]+)")}$`), handle };
}

/** Every route exists with and without "/api", but for those of jobs. */
export const routes: readonly Route[] = [
  route("GET", "/prompt", getPrompt),
  route("POST", "/prompt", postPrompt),
  route("GET", "/queue", getQueue),
  route("POST", "/queue", postQueue),
  route("POST", "/interrupt", postInterrupt),
  route("POST", "/free", postFree),
  route("GET", "/history", listHistory),
  route("GET", "/history/{id}", getHistory),
  route("POST", "/history", postHistory),
  route("POST", "/upload/image", uploadImage),
  route("POST", "/upload/mask", uploadMask),
  route("GET", "/view", viewImage),
  route("GET", "/system_stats", getSystemStats),
  route("GET", "/features", getFeatures),
  route("GET", "/object_info", listObjectInfo),
  route("GET", "/object_info/{class}", getObjectInfo),
  route("GET", "/models", listFolders),
  route("GET", "/models/{folder}", listModels),
  route("GET", "/embeddings", listEmbeddings),
  { ...route("POST", "/jobs/cancel", cancelJobs), mode: "new", isApiOnly: true },
  { ...route("POST", "/jobs/{id}/cancel", cancelJob), mode: "new", isApiOnly: true },
  { ...route("GET", "/jobs", listJobs), isApiOnly: true },
  { ...route("GET", "/jobs/{id}", getJob), isApiOnly: true },
];

/** What drives the simulator itself; never struck by faults. */
export const simRoutes: readonly Route[] = [
  route("GET", "/sim/stats", getStats),
  route("GET", "/sim/prompts", listPrompts),
  route("POST", "/sim/models", postModels),
  route("GET", "/sim/fault", listFaults),
  route("POST", "/sim/fault", postFault),
  route("DELETE", "/sim/fault", deleteFaults),
  route("POST", "/sim/release", postRelease),
];
