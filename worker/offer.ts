import { execFile } from "node:child_process";
import os from "node:os";
import { promisify } from "node:util";
import type { Gpu, NodeCapability, NodeSettings } from "@atelier/server/db";
import type { NodeQueue } from "@atelier/server/nodes";
import { cloudEngine, cloudQueue, type JobKind, jobKinds, type Need, needOf } from "@atelier/server/engines";
import { canJudge } from "@atelier/server/gate";
import type { Offer } from "@atelier/server/jobs";
import { AppError, type Config, type Env, type QueueNeeds } from "@atelier/server/platform";
import { type CloudModel, modelsOf, type ProviderKey, type ProviderName } from "@atelier/server/providers";
import { leastDemandingQueue } from "@atelier/server/scheduling";
import { findModel, knowsMemory, type Workflow } from "@atelier/server/workflows";
import type { Engine } from "./engines/index.ts";
import type { ServerState } from "./servers/index.ts";

/** A queue that the node subscribes to. */
export interface QueueOffer {
  readonly queue: string;
  /** Jobs at once. */
  readonly slots: number;
  readonly offers: readonly Offer[];
}

/** A queue of an offer as it is stored with the node. */
export function toNodeQueue({ queue, slots, offers }: QueueOffer): NodeQueue {
  return { queue, slots, needs: offers.map(({ need }) => need) };
}

export interface NodeOffer {
  readonly capability: NodeCapability;
  readonly queues: readonly QueueOffer[];
  /** Jobs at once of the local engine. */
  readonly localSlots: number;
}

export interface OfferInput {
  readonly env: Env;
  readonly config: Config;
  readonly machine: Machine;
  readonly engines: readonly Engine[];
  readonly workflows: () => readonly Workflow[];
  readonly servers: readonly ServerState[];
  /** Settings that an admin made for the node. */
  readonly settings: NodeSettings;
  /** Kinds that this worker is limited to; empty: all. */
  readonly only: readonly JobKind[];
  /** Models of providers that this node holds a key for, with the names of those providers. */
  readonly cloud: CloudOffer;
}

export interface CloudOffer {
  readonly models: readonly CloudModel[];
  readonly providers: readonly ProviderName[];
  readonly keys: readonly Pick<ProviderKey, "provider" | "keyId">[];
}

/** The models that the keys can run. */
export function cloudOfferOf(config: Config, keys: readonly ProviderKey[]): CloudOffer {
  const providers = [...new Set(keys.map(({ provider }) => provider))];
  const models = modelsOf(config).filter(({ offers }) =>
    offers.some(({ provider }) => providers.includes(provider)),
  );
  return { models, providers, keys: keys.map(({ provider, keyId }) => ({ provider, keyId })) };
}

/** The hardware of the worker's own machine; its servers may run on other machines. */
interface Machine {
  readonly cores: number;
  readonly memoryBytes: number;
  readonly gpus: readonly Gpu[];
}

const coresPerRun = 2;

/**
 * The offer of a node: at most one GPU queue, served by its servers with a graphics card, at most one CPU queue, served
 * by the local engine and by servers without a card, and the queue of providers when it holds a key.
 */
export function computeOffer(input: OfferInput): NodeOffer {
  const { env, config, machine, engines, settings, cloud } = input;
  const usable = input.servers.filter((server) => server.state === "healthy");
  const ending = input.servers.filter(isEnding);
  const [gpuServers, cpuServers] = [usable.filter(hasGpu), usable.filter((server) => !hasGpu(server))];
  const localSlots = env.WORKER_CPU_SLOTS ?? Math.max(1, Math.floor(machine.cores / coresPerRun));
  const gpu = chooseGpuQueue(config, input.servers);
  const cpu = chooseCpuQueue(config, machine);
  const queues: QueueOffer[] = [];
  if (gpu) {
    const needs = narrowServers(gpuServers, config.queues[gpu]);
    queues.push({
      queue: gpu,
      slots: settings.slots?.[gpu] ?? env.WORKER_GPU_SLOTS ?? needs.length + ending.filter(hasGpu).length,
      offers: narrow(serverOffers(needs, input), gpu, input),
    });
  }
  if (cpu) {
    const servers = narrowServers(cpuServers, config.queues[cpu]);
    const ofServers = servers.length + ending.filter((server) => !hasGpu(server)).length;
    const slots = settings.slots?.[cpu] ?? (engines.length > 0 ? localSlots : 0) + ofServers;
    const offers = [...localOffers(engines), ...serverOffers(servers, input)];
    queues.push({ queue: cpu, slots, offers: narrow(offers, cpu, input) });
  }
  queues.push(...cloudQueues(input));
  const kinds = [...new Set(queues.flatMap(({ offers }) => offers.map(({ need }) => kindOf(need, input))))];
  const hasCloud = cloud.models.length > 0;
  const names = new Set([
    ...engines.map(({ name }) => name),
    ...usable.map(({ engine }) => engine),
    ...(hasCloud ? [cloudEngine.name] : []),
  ]);
  return { capability: { ...machine, kinds, engines: [...names], ...keysIn(cloud) }, queues, localSlots };
}

/** The keys are named also without a model for them: their runs are followed all the same. */
function keysIn({ models, providers, keys }: CloudOffer) {
  return { ...(models.length > 0 && { providers }), ...(keys.length > 0 && { providerKeys: keys }) };
}

/** The queue of providers when the node holds a key; its slots are for submits. */
function cloudQueues(input: OfferInput): QueueOffer[] {
  const { cloud, config, settings } = input;
  if (cloud.models.length === 0) return [];
  const offers = cloud.models.map(({ id }): Offer => ({ need: `cloud/${id}`, servers: null }));
  const slots = settings.slots?.[cloudQueue] ?? config.cloud.submitSlots;
  return [{ queue: cloudQueue, slots, offers: narrow(offers, cloudQueue, input) }];
}

/** A server that reports no device counts as one without a graphics card. */
function hasGpu({ device }: ServerState): boolean {
  return device !== null && device !== "cpu";
}

/** A server that takes no new job but still finishes one: that job needs a slot of its own. */
function isEnding({ state, jobId }: ServerState): boolean {
  return state !== "healthy" && jobId !== null;
}

/** The servers that have all models which the queue requires. */
function narrowServers(
  servers: readonly ServerState[],
  queue: QueueNeeds | undefined,
): readonly ServerState[] {
  const has = (server: ServerState) => (model: string) => findModel(model, server.models) !== null;
  return servers.filter((server) => (queue?.models ?? []).every(has(server)));
}

function localOffers(engines: readonly Engine[]): Offer[] {
  const local = engines.find(({ name }) => name === "local");
  return (local?.kinds ?? []).map((kind) => ({
    need: needOf({ engine: "local", kind, workflow: null }),
    servers: null,
  }));
}

function serverOffers(servers: readonly ServerState[], { workflows }: OfferInput): Offer[] {
  const urlsByNeed = new Map<Need, string[]>();
  const hasComfyui = servers.some(({ engine }) => engine === "comfyui");
  // `workflows` no longer holds refused ones.
  const known = new Set<Need>(hasComfyui ? workflows().map(({ name }): Need => `comfyui/${name}`) : []);
  for (const server of servers) {
    const isKnown = (need: Need) => server.engine !== "comfyui" || known.has(need);
    for (const need of server.needs.filter(isKnown))
      urlsByNeed.set(need, [...(urlsByNeed.get(need) ?? []), server.url]);
  }
  return [...urlsByNeed].map(([need, urls]) => ({ need, servers: urls }));
}

function kindOf(need: Need, { workflows, cloud }: OfferInput): JobKind {
  const [engine, name] = need.split("/");
  const model = engine === "cloud" ? cloud.models.find(({ id }) => id === name) : null;
  if (model) return model.kind;
  const workflow = engine === "comfyui" ? workflows().find((known) => known.name === name) : null;
  // Safe cast: a need without a workflow is `<engine>/<kind>`, made by `needOf`.
  return workflow?.kind ?? (name as JobKind);
}

/** Keeps the kinds that the worker, the admin and the queue all allow, and that the gate can look at here. */
function narrow(offers: readonly Offer[], queue: string, input: OfferInput): Offer[] {
  const limits: readonly (readonly string[] | undefined)[] = [
    input.only.length > 0 ? input.only : undefined,
    input.settings.kinds,
    input.config.queues[queue]?.kinds,
  ];
  return offers.filter(({ need }) => {
    const kind = kindOf(need, input);
    return canJudge(input, kind) && limits.every((kinds) => !kinds || kinds.includes(kind));
  });
}

/** The kinds of WORKER_ONLY. Throws `bad_request` for kinds that no engine of this worker runs. */
export function parseOnly(env: Env, engines: readonly Pick<Engine, "kinds">[]): JobKind[] {
  const known = jobKinds.filter((kind) => engines.some((engine) => engine.kinds.includes(kind)));
  const unknown = env.WORKER_ONLY.filter((name) => !known.some((kind) => kind === name));
  if (unknown.length > 0) {
    throw new AppError(
      "bad_request",
      `WORKER_ONLY names kinds that no engine here can run: ${unknown.join(", ")}. Known: ${known.join(", ")}.`,
    );
  }
  return known.filter((kind) => env.WORKER_ONLY.includes(kind));
}

const gib = 1024 ** 3;
/** Cards and machines report a little less memory than their nominal size. */
const tolerance = 0.95;

/** The first queue that fits; the configuration lists the most demanding one first. */
function findQueue(config: Config, fits: (needs: QueueNeeds) => boolean): string | null {
  return Object.entries(config.queues).find(([, needs]) => fits(needs))?.[0] ?? null;
}

/** The GPU queue that the best server of the node qualifies for; null without a server that has a card. */
function chooseGpuQueue(config: Config, servers: readonly ServerState[]): string | null {
  const withCard = servers.filter(({ device }) => device !== null && device !== "cpu");
  const bestGib = Math.max(0, ...withCard.map(({ vramTotalBytes }) => (vramTotalBytes ?? 0) / gib));
  const fitting = findQueue(config, ({ minVramGib }) => minVramGib > 0 && bestGib >= minVramGib * tolerance);
  const isUnknown = withCard.some((server) => !knowsMemory({ ...server, vramBytes: server.vramTotalBytes }));
  return fitting ?? (isUnknown ? lightestGpuQueue(config) : null);
}

/** Where a card of unknown size goes. */
function lightestGpuQueue({ queues }: Config): string | null {
  const ofCards = Object.entries(queues).filter(([, { minVramGib }]) => minVramGib > 0);
  return ofCards.toSorted(([, a], [, b]) => a.minVramGib - b.minVramGib)[0]?.[0] ?? null;
}

/** The most demanding CPU queue that the machine qualifies for; null when there is none. */
function chooseCpuQueue(config: Config, machine: Machine): string | null {
  return findQueue(config, (needs) => satisfies(machine, needs));
}

/** The least demanding CPU queue that the machine qualifies for; null when there is none. */
export function chooseLightQueue(config: Config, machine: Machine): string | null {
  const fitting = Object.entries(config.queues).filter(([, needs]) => satisfies(machine, needs));
  return leastDemandingQueue(Object.fromEntries(fitting));
}

function satisfies(
  { cores, memoryBytes }: Machine,
  { minVramGib, minCores, minMemoryGib }: QueueNeeds,
): boolean {
  return minVramGib === 0 && cores >= minCores && memoryBytes >= minMemoryGib * gib * tolerance;
}

const run = promisify(execFile);
const nvidiaTimeoutMs = 5_000;
const mib = 1024 ** 2;

export async function detectMachine(): Promise<Machine> {
  return { cores: os.availableParallelism(), memoryBytes: os.totalmem(), gpus: await detectGpus() };
}

/** Reads nvidia-smi; a machine without it counts as one without graphics cards. */
async function detectGpus(): Promise<Gpu[]> {
  const args = ["--query-gpu=name,memory.total", "--format=csv,noheader,nounits"];
  try {
    const { stdout } = await run("nvidia-smi", args, { timeout: nvidiaTimeoutMs });
    return parseGpus(stdout);
  } catch {
    return [];
  }
}

/** One line per card: its name and its memory in MiB. */
export function parseGpus(text: string): Gpu[] {
  return text.split("\n").flatMap((line) => {
    const at = line.lastIndexOf(",");
    const vramMib = Number(line.slice(at + 1));
    return at > 0 && vramMib > 0 ? [{ name: line.slice(0, at).trim(), vramBytes: vramMib * mib }] : [];
  });
}
