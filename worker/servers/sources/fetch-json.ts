import { AppError } from "@atelier/server/platform";
import type { ListAddress } from "../address.ts";

const maxBytes = 1_048_576;

export interface FetchedJson {
  readonly body: unknown;
  readonly etag: string | null;
}

/** Reads a small JSON document; null when it is still the one with `etag`. Throws `server_lost`, `proxy_error`. */
export async function fetchJson(
  { url, headers, search }: ListAddress,
  { etag, signal }: { readonly etag: string | null; readonly signal: AbortSignal },
): Promise<FetchedJson | null> {
  const response = await fetch(url + search, {
    headers: { ...headers, accept: "application/json", ...(etag ? { "if-none-match": etag } : {}) },
    // A redirect could lead the worker to any address of its network.
    redirect: "manual",
    signal,
  }).catch((cause: unknown) => {
    throw new AppError("server_lost", "The list of servers cannot be reached.", { cause });
  });
  if (response.status === 304 || !response.ok) await response.body?.cancel();
  if (response.status === 304) return null;
  if (!response.ok)
    throw new AppError("proxy_error", `The list of servers was answered with HTTP ${response.status}.`);
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
    throw new AppError("proxy_error", "The list of servers is no JSON.", { cause });
  }
}
