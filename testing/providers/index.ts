import type { ProviderAccess, ProviderName } from "@atelier/server/providers";
import { google, openai } from "./direct.ts";
import { fal } from "./fal.ts";
import { fashn } from "./fashn.ts";
import { startSimulator } from "./harness.ts";
import { higgsfield } from "./higgsfield.ts";
import { kie } from "./kie.ts";
import type { Simulator, Vendor } from "./port.ts";
import { replicate } from "./replicate.ts";
import { kieSecret, replicateSecret } from "./signatures.ts";

export {
  breakdowns,
  cancelStates,
  expectedClients,
  type WebhookCase,
  webhookCases,
  webhookVerdicts,
} from "./expected.ts";
export { errorShapes } from "./error-shapes.ts";
export type { PictureFault, PictureForm, ProviderFault, SimRun, Simulator } from "./port.ts";
export { falKeys } from "./signatures.ts";
export { startWebhookDoor } from "./webhooks.ts";
export { failureOf, json, onlyRequest, type Scripted, startScripted } from "./scripted.ts";

const vendors: Readonly<Record<ProviderName, Vendor>> = {
  replicate,
  fal,
  google,
  higgsfield,
  kie,
  fashn,
  openai,
};

/** Below its origin, as in the real addresses. */
const paths: Readonly<Record<ProviderName, string>> = {
  replicate: "/v1",
  fal: "",
  google: "/v1beta",
  higgsfield: "",
  kie: "",
  fashn: "/v1",
  openai: "/v1",
};

const prefixes: Readonly<Record<ProviderName, string>> = {
  replicate: "REPLICATE",
  fal: "FAL",
  google: "GOOGLE",
  higgsfield: "HIGGSFIELD",
  kie: "KIE",
  fashn: "FASHN",
  openai: "OPENAI_IMAGES",
};

const secrets: Partial<Record<ProviderName, string>> = {
  replicate: replicateSecret,
  higgsfield: replicateSecret,
  kie: kieSecret,
};

/** One simulated provider, and how it is called. */
export interface SimulatedProvider {
  readonly simulator: Simulator;
  readonly access: ProviderAccess;
}

export async function startProvider(name: ProviderName): Promise<SimulatedProvider> {
  const simulator = await startSimulator(vendors[name]);
  const access = {
    name,
    baseUrl: `${simulator.origin}${paths[name]}`,
    apiKey: `canary-key-of-${name}`,
    webhookSecret: secrets[name] ?? null,
  };
  return { simulator, access };
}

export interface Providers {
  readonly simulators: Readonly<Record<ProviderName, Simulator>>;
  /** What a studio needs to use them. */
  readonly env: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

/** Starts the simulators of all providers; their environment names those that are asked for. */
export async function startProviders(
  names: readonly ProviderName[],
  { firstPort = 0 }: { readonly firstPort?: number } = {},
): Promise<Providers> {
  const started = await Promise.all(
    Object.values(vendors).map((vendor, at) => startSimulator(vendor, firstPort === 0 ? 0 : firstPort + at)),
  );
  const simulators = Object.fromEntries(started.map((simulator) => [simulator.name, simulator]));
  const env = started.flatMap(({ name, origin }) => {
    if (!names.includes(name)) return [];
    const prefix = prefixes[name];
    const secret = secrets[name];
    return [
      [`${prefix}_API_KEY`, `canary-key-of-${name}`],
      [`${prefix}_BASE_URL`, `${origin}${paths[name]}`],
      ...(secret === undefined ? [] : [[`${prefix}_WEBHOOK_SECRET`, secret]]),
    ];
  });
  return {
    // Safe: one simulator of each name was started.
    simulators: simulators as Record<ProviderName, Simulator>,
    env: Object.fromEntries(env),
    async close() {
      await Promise.all(started.map((simulator) => simulator.close()));
    },
  };
}
