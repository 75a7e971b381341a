import type { JobKind, Need } from "@atelier/server/engines";
import { type Config, isAppError } from "@atelier/server/platform";
import {
  findInput,
  findMissing,
  isComplete,
  type Missing,
  type ObjectInfo,
  type ObjectInfoByClass,
  type Workflow,
} from "@atelier/server/workflows";
import {
  type CallOptions,
  type ComfyDevice,
  freeMemory,
  readObjectInfo,
  readQueueLength,
  readSystemStats,
  type SystemStats,
} from "../engines/comfyui/client/index.ts";
import { readModel, readServerConfig } from "../engines/iopaint/routes.ts";
import type { ServerAddress } from "./address.ts";
import type { ServerEntry } from "./entry.ts";
import type { MissingByWorkflow, ServerFacts } from "./index.ts";

/** Asks one server how it is and what it can do. */
export interface ServerProbe {
  read(signal: AbortSignal): Promise<ServerFacts>;
  /** Has the server give back the memory that its models hold. */
  free(signal: AbortSignal): Promise<void>;
  /** What it said about its nodes and models is asked for again by the next `read`. */
  forget(): void;
}

export interface ProbeSettings {
  readonly timing: Pick<Config["timing"], "probeTimeoutMs" | "objectInfoMs">;
  readonly workflows: () => readonly Workflow[];
  readonly awaited: () => ReadonlySet<Need>;
}

export function createProbe(
  entry: Pick<ServerEntry, "found">,
  { timing, workflows, awaited }: ProbeSettings,
): ServerProbe {
  const server = {
    url: entry.found.url,
    // Read at each request: a list may change the credentials.
    get headers() {
      return entry.found.headers;
    },
  };
  const common = { server, timeoutMs: timing.probeTimeoutMs };
  switch (entry.found.engine) {
    case "comfyui":
      return createComfyuiProbe({ ...common, workflows, awaited, objectInfoMs: timing.objectInfoMs });
    case "iopaint":
      return createIopaintProbe(common);
  }
}

export interface ComfyuiProbeInput {
  readonly server: ServerAddress;
  /** Those that a server may be asked to run; read at each probe. */
  readonly workflows: () => readonly Workflow[];
  /** Needs that open jobs wait for. */
  readonly awaited: () => ReadonlySet<Need>;
  /** Of each request. */
  readonly timeoutMs: number;
  readonly objectInfoMs: number;
}

/** Asks for memory and queue each time, for nodes and models only what the workflows need and only now and then. */
export function createComfyuiProbe(input: ComfyuiProbeInput): ServerProbe {
  const { server, timeoutMs, workflows } = input;
  const optionsOf = (signal: AbortSignal): CallOptions => ({ signal, timeoutMs });
  const cache = createObjectInfoCache({
    ttlMs: input.objectInfoMs,
    isAwaited: (nodeClass) =>
      workflows().some(
        ({ name, classes }) => input.awaited().has(`comfyui/${name}`) && classes.includes(nodeClass),
      ),
    now: () => performance.now(),
    read: (nodeClass, signal) => readClass(server, nodeClass, optionsOf(signal)),
  });
  return {
    async read(signal) {
      const [stats, queueLength] = await Promise.all([
        readSystemStats(server, optionsOf(signal)),
        readQueueLength(server, optionsOf(signal)),
      ]);
      const wanted = workflows();
      const classes = [...new Set(wanted.flatMap((workflow) => workflow.classes))];
      const objectInfo = await cache.get(classes, stats.version, signal);
      return toFacts({ stats, queueLength, wanted, objectInfo });
    },
    free: (signal) => freeMemory(server, optionsOf(signal)),
    forget: () => cache.clear(),
  };
}

/** A server that fails to describe a class may be able to in a moment: undefined. */
async function readClass(
  server: ServerAddress,
  nodeClass: string,
  options: CallOptions,
): Promise<ObjectInfo | null | undefined> {
  try {
    return await readObjectInfo(server, nodeClass, options);
  } catch (error) {
    if (isAppError(error) && error.code === "engine_failed") return undefined;
    throw error;
  }
}

const noDevice: ComfyDevice = { name: "unknown", type: "cpu", vramTotalBytes: 0, vramFreeBytes: 0 };

interface Answers {
  readonly stats: SystemStats;
  readonly queueLength: number;
  readonly wanted: readonly Workflow[];
  readonly objectInfo: ObjectInfoByClass;
}

function toFacts({ stats, queueLength, wanted, objectInfo }: Answers): ServerFacts {
  const device = stats.devices[0] ?? noDevice;
  const abilities = { objectInfo, vramBytes: device.vramTotalBytes, deviceType: device.type };
  const found = wanted.map(({ name, ...workflow }) => ({ name, missing: findMissing(workflow, abilities) }));
  const lacking = found.filter(({ missing }) => !isComplete(missing));
  return {
    device: device.type,
    deviceName: device.name,
    vramTotalBytes: device.vramTotalBytes,
    vramFreeBytes: device.vramFreeBytes,
    version: stats.version,
    needs: found.filter(({ missing }) => isComplete(missing)).map(({ name }): Need => `comfyui/${name}`),
    models: listModels(wanted, objectInfo),
    missing: Object.fromEntries(lacking.map(({ name, missing }) => [name, describeMissing(missing)])),
    queueLength,
  };
}

/** What a server lacks, one line each, for the admin. */
function describeMissing({ classes, models, vram }: Missing): string[] {
  return [
    ...classes.map((name) => `node ${name}`),
    ...models.map((model) => `model ${model.file} (${model.class}.${model.input})`),
    ...(vram ? [`${vram.needGib} GiB of VRAM (it has ${vram.hasGib.toFixed(1)})`] : []),
  ];
}

/** The model files that a server offers at the inputs where the workflows name theirs; sorted, each once. */
function listModels(workflows: readonly Workflow[], objectInfo: ObjectInfoByClass): string[] {
  const places = workflows.flatMap(({ models }) => models);
  const files = places.flatMap(({ class: name, input }) => {
    const info = objectInfo.get(name);
    return (info && findInput(info, input)?.choices) ?? [];
  });
  return [...new Set(files)].toSorted();
}

export interface ObjectInfoCacheInput {
  readonly ttlMs: number;
  /** Whether open jobs wait for what the class lists, a model file for instance. */
  readonly isAwaited: (nodeClass: string) => boolean;
  readonly now: () => number;
  /** Null: the server does not have the class. Undefined: it did not say. */
  readonly read: (nodeClass: string, signal: AbortSignal) => Promise<ObjectInfo | null | undefined>;
}

export interface ObjectInfoCache {
  /** The asked classes; those that are not known or too old are read, a few at once. */
  get(classes: readonly string[], version: string | null, signal: AbortSignal): Promise<ObjectInfoByClass>;
  clear(): void;
}

const readsAtOnce = 6;
const awaitedTtlMs = 20_000;

/** Remembers what one server said about node classes, for one version of it and a limited time. */
export function createObjectInfoCache({
  ttlMs,
  isAwaited,
  now,
  read,
}: ObjectInfoCacheInput): ObjectInfoCache {
  const byClass = new Map<string, { readonly info: ObjectInfo | null; readonly readAtMs: number }>();
  let knownVersion: string | null = null;
  const isFresh = (name: string) => {
    const known = byClass.get(name);
    const limitMs = isAwaited(name) ? Math.min(ttlMs, awaitedTtlMs) : ttlMs;
    return known !== undefined && now() - known.readAtMs < limitMs;
  };
  return {
    async get(classes, version, signal) {
      if (version !== knownVersion) byClass.clear();
      knownVersion = version;
      const waiting = classes.filter((name) => !isFresh(name));
      const readOn = async () => {
        for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
          const info = await read(name, signal);
          // What it said before holds, and it is asked again by the next `get`.
          if (info !== undefined) byClass.set(name, { info, readAtMs: now() });
        }
      };
      await Promise.all(Array.from({ length: readsAtOnce }, readOn));
      return new Map(classes.map((name) => [name, byClass.get(name)?.info ?? null]));
    },
    clear: () => byClass.clear(),
  };
}

/** The plugins that make each kind, the better one first. */
export const pluginsByKind = {
  upscale: ["RealESRGAN"],
  remove_background: ["RemoveBG"],
  restore_faces: ["GFPGAN", "RestoreFormer"],
} as const satisfies Partial<Record<JobKind, readonly string[]>>;

interface IopaintProbeInput {
  readonly server: ServerAddress;
  /** Of each request. */
  readonly timeoutMs: number;
}

/** What an IOPaint server can do depends on its model and on the plugins that it was started with. */
function createIopaintProbe({ server, timeoutMs }: IopaintProbeInput): ServerProbe {
  return {
    async read(signal) {
      const options = { signal, timeoutMs };
      const [config, model] = await Promise.all([
        readServerConfig(server, options),
        readModel(server, options),
      ]);
      const kinds = Object.entries(pluginsByKind)
        .filter(([, plugins]) => plugins.some((name) => config.plugins.includes(name)))
        .map(([kind]) => kind);
      const inpaint = model.needsPrompt ? [] : ["inpaint"];
      return {
        ...unknownFacts,
        needs: [...inpaint, ...kinds].map((kind): Need => `iopaint/${kind}`),
        models: [model.name, ...config.pluginModels],
        missing: model.needsPrompt ? lackingEraser(model.name) : {},
      };
    },
    // It has no such call.
    free: async () => undefined,
    forget: () => undefined,
  };
}

/** Jobs with words go to ComfyUI; without any, a model that reads words paints something new instead of erasing. */
function lackingEraser(model: string): MissingByWorkflow {
  return { inpaint: [`a model that erases without a prompt (it has ${model})`] };
}

/** Of a server that was not heard of yet. */
export const unknownFacts: ServerFacts = {
  device: null,
  deviceName: null,
  vramTotalBytes: null,
  vramFreeBytes: null,
  version: null,
  needs: [],
  models: [],
  missing: {},
  queueLength: null,
};
