import { sql } from "drizzle-orm";
import { type SubmitOptions, submit } from "@atelier/server/jobs";
import type { ProviderName } from "@atelier/server/providers";
import cloudConfig from "../config/cloud.config.ts";
import { livePlaces } from "@atelier/server/scheduling";
import { type Line, openLine } from "../network/index.ts";
import { type Providers, startProviders, startWebhookDoor } from "../providers/index.ts";
import type { TestWorker, TestWorkerOptions } from "../worker/index.ts";
import { eventually, openScene, type Scene } from "./scene.ts";

/** A scene with simulated providers, for which the studio holds keys. */
export interface CloudScene extends Scene {
  readonly providers: Providers;
  /** To the provider that was named; null without one. */
  readonly line: Line | null;
  /** A worker with the keys; resolves once the studio knows of its offer. */
  startCloudWorker(options?: TestWorkerOptions): Promise<TestWorker>;
  /** Submits a text to image with a prompt of its own, by which `chargedFor` finds it. */
  generate(prompt: string, request?: object, options?: Partial<SubmitOptions>): Promise<string>;
  /** How many pictures of this prompt all providers together would charge. */
  chargedFor(prompt: string): number;
}

export interface CloudSceneOptions {
  readonly keys: readonly ProviderName[];
  readonly backend?: "postgres" | "redis";
  readonly env?: Readonly<Record<string, string>>;
  /** The providers reach the studio with their webhooks. */
  readonly webhooks?: boolean;
  /** This provider is reached over a line, as are its results. */
  readonly behindLine?: ProviderName;
}

type OnFinished = Parameters<typeof openScene>[0];

export async function openCloudScene(
  onFinished: OnFinished,
  options: CloudSceneOptions,
): Promise<CloudScene> {
  const { keys, backend = "postgres", env = {}, webhooks = false, behindLine } = options;
  const providers = await startProviders(keys);
  onFinished(() => providers.close());
  const door = webhooks ? await startWebhookDoor() : null;
  const over = behindLine ? await putBehindLine(providers, behindLine) : null;
  onFinished(async () => over?.line.close());
  const own = { ...providers.env, ...over?.env, ...(door ? { APP_URL: door.url } : {}), ...env };
  const scene = await openScene(onFinished, { backend, config: cloudConfig, env: own });
  const { services, owner } = scene;
  door?.open(services);
  onFinished(async () => door?.close());
  return {
    ...scene,
    providers,
    line: over?.line ?? null,
    async startCloudWorker(options = {}) {
      const worker = await scene.startWorker({ config: "cloud", ...options });
      await eventually(
        async () => (await livePlaces(services.db)).some(({ queue }) => queue === "cloud"),
        true,
      );
      return worker;
    },
    async generate(prompt, request = {}, options = {}) {
      const input = { kind: "text_to_image", params: { prompt }, ...request };
      return (await submit(services, input, { submitter: owner, ...options })).id;
    },
    chargedFor: (prompt) =>
      Object.values(providers.simulators)
        .flatMap((simulator) => simulator.charged())
        .filter(({ input }) => JSON.stringify(input).includes(prompt)).length,
  };
}

/** The environment names the line instead of the provider. */
async function putBehindLine({ env, simulators }: Providers, name: ProviderName) {
  const { origin } = simulators[name];
  const line = await openLine(origin);
  simulators[name].pictureOrigin = line.urlOf(origin);
  const ofProvider = Object.entries(env).filter(([, value]) => value.startsWith(origin));
  return { line, env: Object.fromEntries(ofProvider.map(([key, value]) => [key, line.urlOf(value)])) };
}

/** The requests for a job: provider, state and error class, oldest first. */
export async function readAttempts({ services }: Pick<Scene, "services">, jobId: string) {
  return services.db.execute<{ provider: string; state: string; class: string | null }>(sql`
    select provider, state, error_class as class from provider_attempts where job_id = ${jobId} order by created_at`);
}
