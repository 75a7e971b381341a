import { AppError } from "@atelier/server/platform";
import { parseListAddress, withoutSecrets } from "../address.ts";
import { createHttpJsonSource } from "./http.ts";
import { createNginxFileSource, type NginxFile } from "./nginx-file-source.ts";
import { createNginxPlusSource } from "./nginx-plus-source.ts";
import type { Source } from "./source.ts";

/**
 * One entry of COMFYUI_DISCOVERY: `https://host/backends.json`, `nginx:/path/file.conf#upstream?prefix=/comfy` or
 * `nginx-plus:https://host/api/9/http/upstreams/name`. Throws `bad_request`.
 */
export function parseDiscovery(entry: string): Source {
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
