import type { Env } from "@atelier/server/platform";
import { parseDiscovery } from "./index.ts";
import type { Source } from "./source.ts";
import { createStaticSource } from "./static-source.ts";

/** The sources that the environment names, the fixed lists first. Throws `bad_request` for a wrong entry. */
export function createSources(
  env: Pick<Env, "COMFYUI_URLS" | "COMFYUI_DISCOVERY" | "IOPAINT_URLS">,
): readonly Source[] {
  return [
    ...(env.COMFYUI_URLS.length > 0 ? [createStaticSource("comfyui", env.COMFYUI_URLS)] : []),
    ...(env.IOPAINT_URLS.length > 0 ? [createStaticSource("iopaint", env.IOPAINT_URLS)] : []),
    ...env.COMFYUI_DISCOVERY.map(parseDiscovery),
  ];
}
