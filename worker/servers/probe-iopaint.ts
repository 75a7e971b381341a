import type { JobKind, Need } from "@atelier/server/engines";
import { readModel, readServerConfig } from "../engines/iopaint/routes.ts";
import type { ServerAddress } from "./address.ts";
import type { MissingByWorkflow } from "./server-state.ts";
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

/** What an IOPaint server can do depends on its model and on the plugins that it was started with. */
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
  return { inpaint: [`a model that erases without words (it has ${model})`] };
}
