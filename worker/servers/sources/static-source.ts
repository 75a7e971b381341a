import { parseAddress } from "../address.ts";
import type { ServerEngine } from "../server-state.ts";
import type { Source } from "./source.ts";

/** Addresses of the configuration. Throws `bad_request` for one that is not valid. */
export function createStaticSource(engine: ServerEngine, urls: readonly string[]): Source {
  const servers = urls.map((url) => ({
    ...parseAddress(url),
    engine,
    weight: 1,
    isBackup: false,
    isDrained: false,
  }));
  return { name: engine === "comfyui" ? "COMFYUI_URLS" : "IOPAINT_URLS", read: async () => servers };
}
