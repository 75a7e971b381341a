import {
  freeMemory,
  readObjectInfo,
  readQueueLength,
  readSystemStats,
  type CallOptions,
  type ComfyDevice,
  type SystemStats,
} from "../engines/comfyui/client/index.ts";
import type { Need } from "@atelier/server/engines";
import { isAppError } from "@atelier/server/platform";
import {
  findMissing,
  isComplete,
  type ObjectInfo,
  type ObjectInfoByClass,
  type Workflow,
} from "@atelier/server/workflows";
import { describeMissing } from "./describe-missing.ts";
import { listModels } from "./list-models.ts";
import { createObjectInfoCache } from "./object-info-cache.ts";
import type { ServerAddress } from "./address.ts";
import type { ServerProbe } from "./server-probe.ts";
import type { ServerFacts } from "./server-state.ts";

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
