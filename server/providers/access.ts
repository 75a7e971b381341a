import { createHash } from "node:crypto";
import type { JobKind } from "../engines.ts";
import type { Env } from "../platform/index.ts";
import { type CloudModel, providerNames, type ProviderAccess, type ProviderName } from "./port.ts";

/** One API key of a provider. Rates, runs at once and cooldowns are counted by key. */
export interface ProviderKey {
  readonly provider: ProviderName;
  /** Hash of the key: rows and pages name the key by it. */
  readonly keyId: string;
  readonly access: ProviderAccess;
}

const idLength = 12;

function keyIdOf(provider: ProviderName, apiKey: string): string {
  return createHash("sha256").update(`${provider} ${apiKey}`).digest("hex").slice(0, idLength);
}

type ProviderEnv = Pick<Env, Extract<keyof Env, `${string}_${"API_KEY" | "BASE_URL" | "WEBHOOK_SECRET"}`>>;

interface Settings {
  readonly apiKeys: readonly string[];
  readonly baseUrl: string;
  readonly webhookSecret: string | undefined;
}

function settingsOf(env: ProviderEnv, provider: ProviderName): Settings {
  const unsigned = { webhookSecret: undefined };
  switch (provider) {
    case "replicate":
      return {
        apiKeys: env.REPLICATE_API_KEY,
        baseUrl: env.REPLICATE_BASE_URL,
        webhookSecret: env.REPLICATE_WEBHOOK_SECRET,
      };
    case "fal":
      return { apiKeys: env.FAL_API_KEY, baseUrl: env.FAL_BASE_URL, ...unsigned };
    case "google":
      return { apiKeys: env.GOOGLE_API_KEY, baseUrl: env.GOOGLE_BASE_URL, ...unsigned };
    case "higgsfield":
      return {
        apiKeys: env.HIGGSFIELD_API_KEY,
        baseUrl: env.HIGGSFIELD_BASE_URL,
        webhookSecret: env.HIGGSFIELD_WEBHOOK_SECRET,
      };
    case "kie":
      return { apiKeys: env.KIE_API_KEY, baseUrl: env.KIE_BASE_URL, webhookSecret: env.KIE_WEBHOOK_SECRET };
    case "fashn":
      return { apiKeys: env.FASHN_API_KEY, baseUrl: env.FASHN_BASE_URL, ...unsigned };
    case "openai":
      return { apiKeys: env.OPENAI_IMAGES_API_KEY, baseUrl: env.OPENAI_IMAGES_BASE_URL, ...unsigned };
  }
}

/** How a provider is called with one of its keys. */
function accessOf(name: ProviderName, settings: Settings, apiKey: string): ProviderAccess {
  const { baseUrl, webhookSecret } = settings;
  return { name, baseUrl, apiKey, webhookSecret: webhookSecret ?? null };
}

/** The keys of this process's environment, each once. */
export function readKeys(env: ProviderEnv): ProviderKey[] {
  return providerNames.flatMap((provider) => {
    const settings = settingsOf(env, provider);
    return [...new Set(settings.apiKeys)].map((apiKey) => ({
      provider,
      keyId: keyIdOf(provider, apiKey),
      access: accessOf(provider, settings, apiKey),
    }));
  });
}

/** Verifies webhooks of a provider; its key may be missing here, since a web process needs none. */
export function webhookAccess(env: ProviderEnv, provider: ProviderName): ProviderAccess {
  const settings = settingsOf(env, provider);
  return accessOf(provider, settings, settings.apiKeys[0] ?? "");
}

/** The kinds of the models that the keys of this environment can pay for. */
export function paidKinds(env: ProviderEnv, models: readonly CloudModel[]): JobKind[] {
  const known = new Set(readKeys(env).map(({ provider }) => provider));
  return models
    .filter(({ offers }) => offers.some(({ provider }) => known.has(provider)))
    .map(({ kind }) => kind);
}
