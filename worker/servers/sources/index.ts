import type { NodeProblem } from "@atelier/server/db";
import { AppError, type Env, isAppError } from "@atelier/server/platform";
import { parseAddress, type ServerAddress, withoutSecrets } from "../address.ts";
import { parseServerHeaders, withRules } from "../headers.ts";
import type { ServerEngine } from "../index.ts";
import { createHttpJsonSource, createNginxPlusSource, type ListedServer, type Source } from "./http.ts";
import { createNginxFileSource, type NginxFile } from "./nginx-file.ts";

type ServersEnv = Pick<Env, "COMFYUI_URLS" | "COMFYUI_DISCOVERY" | "IOPAINT_URLS" | "SERVER_HEADERS">;

export interface Sources {
  /** Fixed lists first. */
  readonly sources: readonly Source[];
  /** Entries that cannot be used; the others work. */
  readonly problems: readonly NodeProblem[];
}

/** The sources of the environment; each server gets the headers of SERVER_HEADERS for its address. */
export function createSources(env: ServersEnv): Sources {
  const { rules, problems: ofHeaders } = parseServerHeaders(env.SERVER_HEADERS);
  const withHeaders = <T extends ServerAddress>(server: T): T => withRules(server, rules);
  const problems: NodeProblem[] = [...ofHeaders];
  const readAll = <T>(what: string, entries: readonly string[], read: (entry: string) => T): T[] =>
    entries.flatMap((entry) => {
      try {
        return [read(entry)];
      } catch (error) {
        if (!isAppError(error)) throw error;
        problems.push({ what, reason: error.message });
        return [];
      }
    });
  const fixed = (["COMFYUI_URLS", "IOPAINT_URLS"] as const).flatMap((name) => {
    const addresses = readAll(name, env[name], (text) => parseAddress(text));
    const engine: ServerEngine = name === "COMFYUI_URLS" ? "comfyui" : "iopaint";
    return addresses.length > 0 ? [createStaticSource(name, engine, addresses)] : [];
  });
  const lists = readAll("COMFYUI_DISCOVERY", env.COMFYUI_DISCOVERY, (entry) =>
    parseDiscovery(entry, withHeaders),
  );
  const sources = [...fixed, ...lists].map((source) => mapSource(source, withHeaders));
  return { sources, problems };
}

/** The address of one server as a command names it, with the headers of SERVER_HEADERS. Throws `bad_request`. */
export function readServerAddress(text: string, env: Pick<Env, "SERVER_HEADERS">): ServerAddress {
  return withRules(parseAddress(text), parseServerHeaders(env.SERVER_HEADERS).rules);
}

function mapSource(source: Source, change: (server: ListedServer) => ListedServer): Source {
  return {
    name: source.name,
    read: async (signal, refuse) => (await source.read(signal, refuse)).map((server) => change(server)),
  };
}

function createStaticSource(name: string, engine: ServerEngine, addresses: readonly ServerAddress[]): Source {
  const servers = addresses.map((address) => ({
    ...address,
    engine,
    weight: 1,
    isBackup: false,
    isDrained: false,
  }));
  return { name, read: async () => servers };
}

/**
 * One entry of COMFYUI_DISCOVERY: `https://host/backends.json`, `nginx:/path/file.conf#upstream?prefix=/comfy` or
 * `nginx-plus:https://host/api/9/http/upstreams/name`. Throws `bad_request`.
 */
function parseDiscovery(entry: string, withHeaders: (list: ServerAddress) => ServerAddress): Source {
  if (entry.startsWith("nginx-plus:"))
    return createNginxPlusSource(withHeaders(parseAddress(entry.slice("nginx-plus:".length))));
  if (entry.startsWith("nginx:")) return createNginxFileSource(parseNginxFile(entry));
  if (/^https?:\/\//.test(entry)) return createHttpJsonSource(withHeaders(parseAddress(entry)));
  throw new AppError(
    "bad_request",
    `An entry starts neither with http://, https://, nginx: nor nginx-plus: ${withoutSecrets(entry)}`,
  );
}

function parseNginxFile(entry: string): NginxFile {
  const [, file, upstream, options] = /^nginx:([^#?]+)(?:#([^?]*))?(?:\?(.*))?$/.exec(entry) ?? [];
  const given = new URLSearchParams(options);
  const scheme = given.get("scheme") ?? "http";
  const prefix = given.get("prefix") ?? "";
  if (!file || (scheme !== "http" && scheme !== "https"))
    throw new AppError("bad_request", `Not a file of nginx with its options: ${withoutSecrets(entry)}`);
  return {
    file,
    upstream: upstream || null,
    scheme,
    prefix: prefix && `/${prefix.replace(/^\/+/, "")}`,
    query: given.get("query") ?? "",
  };
}
