import type { Config } from "../platform/index.ts";
import type { KeyLimits } from "./load.ts";
import type { ProviderName } from "./port.ts";

/** Published limits of one key, and cautious ones where nothing is published. */
const published: Record<ProviderName, KeyLimits> = {
  replicate: { maxConcurrent: 50, rpm: 600 },
  fal: { maxConcurrent: 2, rpm: 600 },
  google: { maxConcurrent: 4, rpm: 10 },
  higgsfield: { maxConcurrent: 4, rpm: 60 },
  kie: { maxConcurrent: 100, rpm: 120 },
  fashn: { maxConcurrent: 6, rpm: 50 },
  openai: { maxConcurrent: 4, rpm: 5 },
};

/** The limits of each key of a provider: the operator's where given. */
export function limitsOf({ cloud }: Pick<Config, "cloud">, provider: ProviderName): KeyLimits {
  const own = cloud.providers[provider];
  const { maxConcurrent, rpm } = published[provider];
  return { maxConcurrent: own?.maxConcurrent ?? maxConcurrent, rpm: own?.rpm ?? rpm };
}
