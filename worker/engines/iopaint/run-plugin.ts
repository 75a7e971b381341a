import { call } from "./call.ts";
import { maxPictureBytes } from "./inpaint.ts";
import type { CallOptions, IopaintServer } from "./iopaint-server.ts";

export interface PluginRequest {
  /** Such as `RealESRGAN`, `RemoveBG`, `GFPGAN`. */
  readonly plugin: string;
  readonly image: Buffer;
  /** Read by plugins that enlarge. */
  readonly scale: number;
}

/** The picture that a plugin makes of the image. Throws `node_missing` when the server does not have the plugin. */
export function runPlugin(
  server: IopaintServer,
  { plugin, image, scale }: PluginRequest,
  options: CallOptions,
): Promise<Buffer> {
  const json = { name: plugin, image: image.toString("base64"), clicks: [], scale };
  const request = { route: "run_plugin_gen_image", json, maxBytes: maxPictureBytes };
  return call(server, request, options);
}
