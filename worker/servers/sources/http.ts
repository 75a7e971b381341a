import { z, type ZodType } from "zod";
import { AppError, isAppError, issuesOf } from "@atelier/server/platform";
import { parseAddress, type ServerAddress } from "../address.ts";
import { headerFault, lowerNames } from "../headers.ts";
import type { ServerEngine } from "../index.ts";

/** A list of servers. */
export interface Source {
  /** Without credentials; the admin sees it. */
  readonly name: string;
  /** The whole list. Throws when it cannot be read; the caller then keeps the last one. */
  read(signal: AbortSignal, refuse: Refuse): Promise<readonly ListedServer[]>;
}

/** A server as one source lists it. */
export interface ListedServer extends ServerAddress {
  readonly engine: ServerEngine;
  /** Its share of the jobs, where several servers are free. */
  readonly weight: number;
  /** Chosen only when no other server is free. */
  readonly isBackup: boolean;
  /** The source drains the server: it gets no new jobs. */
  readonly isDrained: boolean;
}

/** Called with the reason for each entry that is refused. */
type Refuse = (reason: string) => void;

const serverSchema = z.object({
  url: z.string().min(1),
  /** Sent to the server with each request. */
  headers: z.record(z.string(), z.string()).default({}),
  engine: z.enum(["comfyui", "iopaint"]).default("comfyui"),
  weight: z.number().positive().default(1),
  backup: z.boolean().default(false),
  drain: z.boolean().default(false),
});

const listSchema = z.object({ version: z.literal(1).optional(), servers: z.array(z.unknown()) });

/** A document `{"version":1,"servers":[{"url":"http://…","weight":1,"drain":false}]}`, requested with its ETag. */
export function createHttpJsonSource(address: ServerAddress): Source {
  let etag: string | null = null;
  let last: readonly ListedServer[] = [];
  return {
    name: address.url,
    async read(signal, refuse) {
      const fetched = await fetchJson(address, { etag, signal });
      if (!fetched) return last;
      last = readEntries(serversIn(fetched.body), (entry) => toListed(entry, address), refuse);
      // Kept only after a valid list, else an invalid one would stay "not modified" for ever.
      etag = fetched.etag;
      return last;
    },
  };
}

function serversIn(body: unknown): readonly unknown[] {
  const parsed = listSchema.safeParse(body);
  if (!parsed.success)
    throw new AppError("proxy_error", "The list of servers has an unknown format.", {
      details: { issues: issuesOf(parsed.error) },
    });
  return parsed.data.servers;
}

function toListed(entry: unknown, list: ServerAddress): ListedServer {
  const { url, headers, engine, weight, backup, drain } = parseEntry(
    serverSchema,
    typeof entry === "string" ? { url: entry } : entry,
  );
  const fault = headerFault(headers);
  if (fault !== null) throw new AppError("bad_request", fault);
  const address = parseAddress(url, list.url);
  const given = { ...address, headers: { ...address.headers, ...lowerNames(headers) } };
  return { ...withCredentialsOf(list, given), engine, weight, isBackup: backup, isDrained: drain };
}

/** An entry without credentials gets those of its list, but only on the same origin. */
function withCredentialsOf(list: ServerAddress, server: ServerAddress): ServerAddress {
  const isBare = Object.keys(server.headers).length === 0;
  if (!isBare || new URL(server.url).origin !== new URL(list.url).origin) return server;
  return { ...server, headers: list.headers };
}

const peerSchema = z.object({
  server: z.string().min(1),
  backup: z.boolean().default(false),
  weight: z.number().positive().catch(1),
  state: z.string(),
});
const upstreamSchema = z.object({ peers: z.array(z.unknown()) });

/** States in which nginx sends no requests on purpose; its health states do not matter, since each server is probed. */
const drainedStates: readonly string[] = ["down", "draining"];

/** The peers of one upstream from the API of NGINX Plus (`/api/9/http/upstreams/NAME`). */
export function createNginxPlusSource(address: ServerAddress): Source {
  return {
    name: `nginx-plus:${address.url}`,
    async read(signal, refuse) {
      const fetched = await fetchJson(address, { etag: null, signal });
      const parsed = upstreamSchema.safeParse(fetched?.body);
      if (!parsed.success)
        throw new AppError("proxy_error", "The answer is not that of an upstream of NGINX Plus.", {
          details: { issues: issuesOf(parsed.error) },
        });
      return readEntries(parsed.data.peers, readPeer, refuse).flat();
    },
  };
}

/** Empty for Unix sockets, which cannot be reached from here. */
function readPeer(entry: unknown): ListedServer[] {
  const { server, weight, backup, state } = parseEntry(peerSchema, entry);
  if (server.startsWith("unix:")) return [];
  const isDrained = drainedStates.includes(state);
  return [{ ...parseAddress(server), engine: "comfyui", weight, isBackup: backup, isDrained }];
}

/**
 * Reads each entry by itself: an entry for which `read` throws an AppError is refused, and the others are kept. Throws
 * `proxy_error` when there are entries and none can be read.
 */
function readEntries<T>(entries: readonly unknown[], read: (entry: unknown) => T, refuse: Refuse): T[] {
  const found: T[] = [];
  for (const [index, entry] of entries.entries()) {
    try {
      found.push(read(entry));
    } catch (error) {
      if (!isAppError(error)) throw error;
      refuse(`entry ${index + 1}: ${error.message}`);
    }
  }
  if (entries.length > 0 && found.length === 0)
    throw new AppError("proxy_error", "No entry of the list of servers can be read.");
  return found;
}

/** Throws `bad_request` with the problems, without the values. */
function parseEntry<T>(schema: ZodType<T>, entry: unknown): T {
  const parsed = schema.safeParse(entry);
  if (parsed.success) return parsed.data;
  const issues = issuesOf(parsed.error).map(({ path, message }) => (path ? `${path}: ${message}` : message));
  throw new AppError("bad_request", issues.join("; "));
}

const maxBytes = 1_048_576;

interface FetchedJson {
  readonly body: unknown;
  readonly etag: string | null;
}

/** Reads a small JSON document; null when it still has `etag`. Throws `server_lost`, `proxy_error`. */
async function fetchJson(
  { url, headers, query }: ServerAddress,
  { etag, signal }: { readonly etag: string | null; readonly signal: AbortSignal },
): Promise<FetchedJson | null> {
  const response = await fetch(query ? `${url}?${query}` : url, {
    headers: { ...headers, accept: "application/json", ...(etag ? { "if-none-match": etag } : {}) },
    // A redirect could send the worker to any address of its network.
    redirect: "manual",
    signal,
  }).catch((cause: unknown) => {
    throw new AppError("server_lost", "The list of servers cannot be reached.", { cause });
  });
  if (response.status === 304 || !response.ok) await response.body?.cancel();
  if (response.status === 304) return null;
  if (!response.ok)
    throw new AppError("proxy_error", `The list of servers cannot be read: HTTP ${response.status}.`);
  return { body: parse(await readText(response)), etag: response.headers.get("etag") };
}

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of response.body ?? []) {
    sizeBytes += chunk.length;
    if (sizeBytes > maxBytes) throw new AppError("proxy_error", "The list of servers is too large.");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new AppError("proxy_error", "The list of servers is not valid JSON.", { cause });
  }
}
