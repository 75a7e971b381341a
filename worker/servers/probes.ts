import type { Need } from "@atelier/server/engines";
import { type Config, isAppError } from "@atelier/server/platform";
import {
  describeMissing,
  findInput,
  findMissing,
  isComplete,
  isTight,
  type ObjectInfo,
  type ObjectInfoByClass,
  listsOf,
  loraClasses,
  loraInput,
  readModelChoices,
  readSeedRanges,
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
} from "../clients/comfyui/index.ts";
import { pluginsByKind, readModel, readServerConfig, segmentPlugin } from "../clients/iopaint/index.ts";
import { parseServerAddress, type ServerAddress } from "./address.ts";
import { createObjectInfoCache, listenForBreaks } from "./believed.ts";
import type { ServerEntry } from "./entry.ts";
import type { MissingByWorkflow, ServerFacts } from "./index.ts";

/** Reads what one server has and can run. */
export interface ServerProbe {
  read(signal: AbortSignal): Promise<ServerFacts>;
  /** Makes the server unload its models. */
  free(signal: AbortSignal): Promise<void>;
  /** The next `read` asks for nodes and models again. */
  forget(): void;
  /** Tells when the server is back after a break that no probe may have seen, such as a restart; returns how to stop. */
  listen(onBack: () => void): () => void;
}

export interface ProbeSettings {
  readonly timing: Pick<Config["timing"], "probeTimeoutMs" | "objectInfoMs">;
  readonly workflows: () => readonly Workflow[];
  readonly awaited: () => ReadonlySet<Need>;
  /** What an admin knows better, by address. */
  readonly known?: Config["servers"];
}

export function createProbe(
  entry: Pick<ServerEntry, "found">,
  { timing, workflows, awaited, known = {} }: ProbeSettings,
): ServerProbe {
  const server = {
    url: entry.found.url,
    // Read at each request: a source may change the credentials.
    get headers() {
      return entry.found.headers;
    },
    get query() {
      return entry.found.query;
    },
  };
  const common = { server, timeoutMs: timing.probeTimeoutMs };
  switch (entry.found.engine) {
    case "comfyui":
      return createComfyuiProbe({
        ...common,
        workflows,
        awaited,
        objectInfoMs: timing.objectInfoMs,
        vramGib: knownOf(known, server.url)?.vramGib,
      });
    case "iopaint":
      return createIopaintProbe(common);
  }
}

/** The entry of the configuration for a server, whose address may be written in any way. */
function knownOf(known: Config["servers"], url: string): Config["servers"][string] | undefined {
  return Object.entries(known).find(([address]) => parseServerAddress(address).server?.url === url)?.[1];
}

export interface ComfyuiProbeInput {
  readonly server: ServerAddress;
  /** Workflows that servers may run; read at each probe. */
  readonly workflows: () => readonly Workflow[];
  /** Needs that open jobs wait for. */
  readonly awaited: () => ReadonlySet<Need>;
  /** Limit of each request. */
  readonly timeoutMs: number;
  readonly objectInfoMs: number;
  /** Memory of its card by the word of an admin. */
  readonly vramGib?: number | undefined;
}

/** Reads memory and queue at each probe; node classes, and with them models, only for the workflows and from a cache. */
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
      const own = wanted.flatMap((workflow) => workflow.classes);
      const classes = [...new Set([...own, ...loraClasses(wanted)])];
      const objectInfo = await cache.get(classes, stats.version, signal);
      return toFacts({ stats, queueLength, wanted, objectInfo, vramGib: input.vramGib });
    },
    free: (signal) => freeMemory(server, optionsOf(signal)),
    forget: () => cache.clear(),
    listen(onBack) {
      return listenForBreaks(server, () => {
        cache.clear();
        onBack();
      });
    },
  };
}

/** Undefined when the server fails to describe the class: it may succeed at the next probe. */
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

const noDevice: ComfyDevice = { name: "unknown", type: "cpu", vramTotalBytes: null, vramFreeBytes: null };

interface Answers {
  readonly stats: SystemStats;
  readonly queueLength: number | null;
  readonly wanted: readonly Workflow[];
  readonly objectInfo: ObjectInfoByClass;
  /** The admin's word; undefined: what the server reports. */
  readonly vramGib: number | undefined;
}

const gibBytes = 2 ** 30;

function toFacts({ stats, queueLength, wanted, objectInfo, vramGib }: Answers): ServerFacts {
  const device = stats.devices[0] ?? noDevice;
  const vramTotalBytes = vramGib === undefined ? device.vramTotalBytes : vramGib * gibBytes;
  const card = { device: device.type, vramBytes: vramTotalBytes };
  const found = wanted.map((workflow) => ({
    need: `comfyui/${workflow.name}` as const,
    name: workflow.name,
    missing: findMissing(workflow, objectInfo),
    isTight: isTight(workflow, card),
  }));
  const choices = readModelChoices(wanted, objectInfo);
  const lacking = found.filter(({ missing }) => !isComplete(missing));
  const able = found.filter(({ missing }) => isComplete(missing));
  return {
    device: device.type,
    deviceName: device.name,
    vramTotalBytes,
    vramFreeBytes: device.vramFreeBytes,
    version: stats.version,
    needs: able.map(({ need }) => need),
    tightNeeds: able.filter((one) => one.isTight).map(({ need }) => need),
    choices,
    lists: listsOf(wanted, choices),
    loras: [...new Set(loraClasses(wanted).flatMap((name) => choices.get(`${name}.${loraInput}`) ?? []))],
    ranges: readSeedRanges(wanted, objectInfo),
    models: listModels(wanted, objectInfo),
    missing: Object.fromEntries(lacking.map(({ name, missing }) => [name, describeMissing(missing)])),
    queueLength,
  };
}

/** The model files that the server offers for the model inputs of the workflows; sorted, without duplicates. */
function listModels(workflows: readonly Workflow[], objectInfo: ObjectInfoByClass): string[] {
  const places = workflows.flatMap(({ models }) => models);
  const files = places.flatMap(({ class: name, input }) => {
    const info = objectInfo.get(name);
    return (info && findInput(info, input, null)?.choices) ?? [];
  });
  return [...new Set(files)].toSorted();
}

interface IopaintProbeInput {
  readonly server: ServerAddress;
  /** Limit of each request. */
  readonly timeoutMs: number;
}

/** The needs of an IOPaint server follow from its model and from the plugins that it was started with. */
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
      const segment = config.maskPlugins.includes(segmentPlugin) ? ["segment"] : [];
      return {
        ...unknownFacts,
        needs: [...inpaint, ...kinds, ...segment].map((kind): Need => `iopaint/${kind}`),
        models: [model.name, ...config.pluginModels],
        missing: model.needsPrompt ? lackingEraser(model.name) : {},
      };
    },
    // IOPaint has no route that frees memory.
    free: async () => undefined,
    forget: () => undefined,
    // Its models are read at each probe.
    listen: () => () => undefined,
  };
}

/** Inpaint on IOPaint only erases (a prompt needs ComfyUI); a model that reads prompts would paint something new. */
function lackingEraser(model: string): MissingByWorkflow {
  return { inpaint: [`a model that erases without a prompt (it has ${model})`] };
}

/** Facts of a server before its first good probe. */
export const unknownFacts: ServerFacts = {
  device: null,
  deviceName: null,
  vramTotalBytes: null,
  vramFreeBytes: null,
  version: null,
  needs: [],
  models: [],
  lists: {},
  loras: [],
  missing: {},
  tightNeeds: [],
  choices: new Map(),
  ranges: new Map(),
  queueLength: null,
};
