import type { JobKind } from "@atelier/server/engines";
import { readModel, readServerConfig } from "@atelier/server/iopaint";
import type { ServerAddress } from "./server-address.ts";
import { unknownFacts, type ServerProbe } from "./server-probe.ts";

/** The plugins that make each kind, the better one first. */
export const pluginsByKind = {
  upscale: ["RealESRGAN"],
  remove_background: ["RemoveBG"],
  restore_faces: ["GFPGAN", "RestoreFormer"],
} as const satisfies Partial<Record<JobKind, readonly string[]>>;

export interface IopaintProbeInput {
  readonly server: ServerAddress;
  /** Of each request. */
  readonly timeoutMs: number;
}

/** An IOPaint server always inpaints; what else it can do depends on the plugins it was started with. */
export function createIopaintProbe({ server, timeoutMs }: IopaintProbeInput): ServerProbe {
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
      return {
        ...unknownFacts,
        needs: ["iopaint/inpaint", ...kinds.map((kind) => `iopaint/${kind}` as const)],
        models: [model.name, ...config.pluginModels],
      };
    },
    // It has no such call.
    free: async () => undefined,
    forget: () => undefined,
  };
}
