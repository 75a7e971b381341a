import { z } from "zod";
import { foreignText } from "@atelier/server/platform";
import type { CallOptions, IopaintServer } from "./iopaint-server.ts";
import { readJson } from "./read-json.ts";

const serverConfigSchema = z.object({
  plugins: z.array(z.object({ name: foreignText, support_gen_image: z.boolean().default(false) })),
  removeBGModel: foreignText.nullish(),
  realesrganModel: foreignText.nullish(),
});

/** What the server was started with. */
export interface IopaintConfig {
  /** Names of the plugins that make pictures, such as `RealESRGAN`. */
  readonly plugins: readonly string[];
  /** Models of these plugins. */
  readonly pluginModels: readonly string[];
}

export async function readServerConfig(server: IopaintServer, options: CallOptions): Promise<IopaintConfig> {
  const config = await readJson(server, { route: "server-config", schema: serverConfigSchema }, options);
  const plugins = config.plugins.filter((plugin) => plugin.support_gen_image).map(({ name }) => name);
  const modelByPlugin = { RemoveBG: config.removeBGModel, RealESRGAN: config.realesrganModel };
  return {
    plugins,
    pluginModels: Object.entries(modelByPlugin).flatMap(([name, model]) =>
      model && plugins.includes(name) ? [model] : [],
    ),
  };
}
