import { AppError, type Env } from "@atelier/server/platform";
import { parseAddress, parseListAddress, withoutSecrets } from "../address.ts";
import type { ServerEngine } from "../index.ts";
import { createHttpJsonSource, createNginxPlusSource, type Source } from "./http.ts";
import { createNginxFileSource, type NginxFile } from "./nginx-file.ts";

/** The sources of the environment, fixed lists first. Throws `bad_request` for an invalid entry. */
export function createSources(
  env: Pick<Env, "COMFYUI_URLS" | "COMFYUI_DISCOVERY" | "IOPAINT_URLS">,
): readonly Source[] {
  return [
    ...(env.COMFYUI_URLS.length > 0 ? [createStaticSource("comfyui", env.COMFYUI_URLS)] : []),
    ...(env.IOPAINT_URLS.length > 0 ? [createStaticSource("iopaint", env.IOPAINT_URLS)] : []),
    ...env.COMFYUI_DISCOVERY.map(parseDiscovery),
  ];
}

/** A fixed list of addresses. Throws `bad_request` for an invalid one. */
function createStaticSource(engine: ServerEngine, urls: readonly string[]): Source {
  const servers = urls.map((url) => ({
    ...parseAddress(url),
    engine,
    weight: 1,
    isBackup: false,
    isDrained: false,
  }));
  return { name: engine === "comfyui" ? "COMFYUI_URLS" : "IOPAINT_URLS", read: async () => servers };
}

/**
 * One entry of COMFYUI_DISCOVERY: `https://host/backends.json`, `nginx:/path/file.conf#upstream?prefix=/comfy` or
 * `nginx-plus:https://host/api/9/http/upstreams/name`. Throws `bad_request`.
 */
function parseDiscovery(entry: string): Source {
  if (entry.startsWith("nginx-plus:"))
    return createNginxPlusSource(parseListAddress(entry.slice("nginx-plus:".length)));
  if (entry.startsWith("nginx:")) return createNginxFileSource(parseNginxFile(entry));
  if (/^https?:\/\//.test(entry)) return createHttpJsonSource(parseListAddress(entry));
  throw new AppError(
    "bad_request",
    `COMFYUI_DISCOVERY has an entry that starts neither with http://, https://, nginx: nor nginx-plus: ${withoutSecrets(entry)}`,
  );
}

function parseNginxFile(entry: string): NginxFile {
  const [, file, upstream, query] = /^nginx:([^#?]+)(?:#([^?]*))?(?:\?(.*))?$/.exec(entry) ?? [];
  const options = new URLSearchParams(query);
  const scheme = options.get("scheme") ?? "http";
  const prefix = options.get("prefix") ?? "";
  if (!file || (scheme !== "http" && scheme !== "https"))
    throw new AppError("bad_request", `COMFYUI_DISCOVERY has a wrong entry: ${entry}`);
  return { file, upstream: upstream || null, scheme, prefix: prefix && `/${prefix.replace(/^\/+/, "")}` };
}
