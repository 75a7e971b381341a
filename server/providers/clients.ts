import { fal } from "./fal.ts";
import { fashn } from "./fashn.ts";
import { google } from "./google.ts";
import { higgsfield } from "./higgsfield.ts";
import { kie } from "./kie.ts";
import { openai } from "./openai.ts";
import type { ProviderClient, ProviderName } from "./port.ts";
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
