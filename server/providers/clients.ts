import { fal } from "./fal.ts";
import { fashn } from "./fashn.ts";
import { google } from "./google.ts";
import { higgsfield } from "./higgsfield.ts";
import { kie } from "./kie.ts";
import { openai } from "./openai.ts";
import type { ProviderKey } from "./access.ts";
import { callProvider } from "./http.ts";
import type { ProviderClient, ProviderName } from "./port.ts";
import { readRecord } from "./read.ts";
import { sentenceOf } from "./sentences.ts";
import { replicate } from "./replicate.ts";

const clients: Readonly<Record<ProviderName, ProviderClient>> = {
  replicate,
  fal,
  google,
  higgsfield,
  kie,
  fashn,
  openai,
};

export function clientOf(name: ProviderName): ProviderClient {
  return clients[name];
}

/** What a provider says to a key. */
export interface KeyAnswer {
  readonly status: number;
  readonly isJson: boolean;
  /** Its own words, without the key. */
  readonly words: string;
  /** What is left on the account; null where the answer does not tell. */
  readonly credits: number | null;
}

/** Shows a key to its provider by a call that costs nothing; null where there is none. Throws as `callProvider`. */
export async function tryKey(
  { provider, access }: ProviderKey,
  signal: AbortSignal,
): Promise<KeyAnswer | null> {
  const call = clients[provider].freeCall?.(access);
  if (!call) return null;
  const { status, json, excerpt } = await callProvider({ method: "GET", ...call, signal });
  const body = readRecord(json);
  // Kie.ai answers 200 also for errors: the `code` of the body counts.
  const { code } = body;
  return {
    status: status === 200 && typeof code === "number" && code >= 400 ? code : status,
    isJson: json !== undefined,
    words: sentenceOf(json) ?? excerpt,
    credits: creditsIn(body),
  };
}

function creditsIn(body: Readonly<Record<string, unknown>>): number | null {
  const found = [body["data"], readRecord(body["credits"])["total"], body["total"]];
  return found.find((value) => typeof value === "number") ?? null;
}
