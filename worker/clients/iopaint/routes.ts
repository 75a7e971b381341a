import { z, type ZodType } from "zod";
import type { JobKind } from "@atelier/server/engines";
import { AppError, foreignText, parseForeignJson } from "@atelier/server/platform";
import { call, type CallOptions, type IopaintServer } from "./http.ts";

/** Enough for a PNG of the greatest result. */
const maxPictureBytes = 512 * 1024 * 1024;

interface InpaintRequest {
  readonly image: Buffer;
  /** Grey, of the image's size; white = repaint. */
  readonly mask: Buffer;
}

/**
 * Fills the marked pixels from their surroundings, with models that read no prompt; returns the whole picture in the
 * image's format. A server runs one such request at a time and queues the others.
 */
export function inpaint(
  server: IopaintServer,
  { image, mask }: InpaintRequest,
  options: CallOptions,
): Promise<Buffer> {
  const json = {
    image: image.toString("base64"),
    mask: mask.toString("base64"),
    hd_strategy: "Crop",
  };
  return call(server, { route: "inpaint", json, maxBytes: maxPictureBytes }, options);
}

const maxBytes = 2 * 1024 * 1024;

interface JsonRoute<T> {
  readonly route: string;
  readonly schema: ZodType<T>;
}

/** A JSON answer. Throws `proxy_error` when it does not match the schema of IOPaint. */
async function readJson<T>(
  server: IopaintServer,
  { route, schema }: JsonRoute<T>,
  options: CallOptions,
): Promise<T> {
  const bytes = await call(server, { route, maxBytes }, options);
  try {
    return schema.parse(parseForeignJson(bytes.toString("utf8")));
  } catch (cause) {
    throw new AppError("proxy_error", undefined, { cause });
  }
}

const flag = z.boolean().catch(false);
const modelSchema = z.object({ name: foreignText, need_prompt: flag });

/** The model that inpaints. */
interface IopaintModel {
  readonly name: string;
  /** False: the model fills from the surroundings and reads no prompt. */
  readonly needsPrompt: boolean;
}

export async function readModel(server: IopaintServer, options: CallOptions): Promise<IopaintModel> {
  const { name, need_prompt: needsPrompt } = await readJson(
    server,
    { route: "model", schema: modelSchema },
    options,
  );
  return { name, needsPrompt };
}

interface PluginRequest {
  /** Such as `RealESRGAN`, `RemoveBG`, `GFPGAN`. */
  readonly plugin: string;
  readonly image: Buffer;
  /** Used by upscale plugins only. */
  readonly scale: number;
}

/** Runs a plugin on the image. Throws `node_missing` when the server does not have the plugin. */
export function runPlugin(
  server: IopaintServer,
  { plugin, image, scale }: PluginRequest,
  options: CallOptions,
): Promise<Buffer> {
  const json = { name: plugin, image: image.toString("base64"), clicks: [], scale };
  const request = { route: "run_plugin_gen_image", json, maxBytes: maxPictureBytes };
  return call(server, request, options);
}

/** A point in whole pixels of the image; 1 includes, 0 excludes. */
export type PluginClick = readonly [x: number, y: number, include: 0 | 1];

interface MaskPluginRequest extends Pick<PluginRequest, "plugin" | "image"> {
  readonly clicks: readonly PluginClick[];
}

/** Runs a plugin that selects by clicks. Throws `node_missing` when the server does not have the plugin. */
export function runMaskPlugin(
  server: IopaintServer,
  { plugin, image, clicks }: MaskPluginRequest,
  options: CallOptions,
): Promise<Buffer> {
  const json = { name: plugin, image: image.toString("base64"), clicks };
  return call(server, { route: "run_plugin_gen_mask", json, maxBytes: maxPictureBytes }, options);
}

const pluginSchema = z.object({
  name: foreignText,
  support_gen_image: flag,
  support_gen_mask: flag,
});

const modelName = foreignText.nullish().catch(null);

/** A plugin or a model in another form hides none of the others. */
const serverConfigSchema = z.object({
  plugins: z
    .array(pluginSchema.nullable().catch(null))
    .transform((list) => list.filter((one) => one !== null)),
  removeBGModel: modelName,
  realesrganModel: modelName,
  interactiveSegModel: modelName,
});

/** The plugins that the server was started with. */
interface IopaintConfig {
  /** Names of the plugins that return pictures, such as `RealESRGAN`. */
  readonly plugins: readonly string[];
  /** Names of the plugins that return masks, such as `InteractiveSeg`. */
  readonly maskPlugins: readonly string[];
  /** Models of these plugins. */
  readonly pluginModels: readonly string[];
}

export async function readServerConfig(server: IopaintServer, options: CallOptions): Promise<IopaintConfig> {
  const config = await readJson(server, { route: "server-config", schema: serverConfigSchema }, options);
  const plugins = config.plugins.filter((plugin) => plugin.support_gen_image).map(({ name }) => name);
  const maskPlugins = config.plugins.filter((plugin) => plugin.support_gen_mask).map(({ name }) => name);
  const modelByPlugin = {
    RemoveBG: config.removeBGModel,
    RealESRGAN: config.realesrganModel,
    InteractiveSeg: config.interactiveSegModel,
  };
  return {
    plugins,
    maskPlugins,
    pluginModels: Object.entries(modelByPlugin).flatMap(([name, model]) =>
      model && [...plugins, ...maskPlugins].includes(name) ? [model] : [],
    ),
  };
}

/** The plugins that can run each kind, the better one first. */
export const pluginsByKind = {
  upscale: ["RealESRGAN"],
  remove_background: ["RemoveBG"],
  restore_faces: ["GFPGAN", "RestoreFormer"],
} as const satisfies Partial<Record<JobKind, readonly string[]>>;

/** The plugin that selects by clicks. */
export const segmentPlugin = "InteractiveSeg";
