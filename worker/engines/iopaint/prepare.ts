import sharp from "sharp";
import { maxOutputPixels } from "@atelier/server/engines";
import { readServerConfig, runPlugin } from "./index.ts";
import { AppError } from "@atelier/server/platform";
import { pluginsByKind } from "../../servers/index.ts";
import { inputPath } from "../local/run-context.ts";
import type { PrepareRun } from "./iopaint-run.ts";
import { preparePicture, type SentPicture } from "./prepare-picture.ts";
import { readResult } from "./read-result.ts";
import { writeSharp } from "../write-sharp.ts";

type PluginKind = keyof typeof pluginsByKind;

/** A kind that a plugin of the server makes; which one it has is asked first. */
export function preparePlugin(kind: PluginKind): PrepareRun {
  return async (task) => {
    const picture = await preparePicture(inputPath(task, "image"));
    const scale = kind === "upscale" ? scaleOf(task.params) : 1;
    const size = { width: picture.width * scale, height: picture.height * scale };
    checkSize(size);
    return {
      async request(server, options) {
        const { plugins } = await readServerConfig(server, options);
        const plugin = pluginsByKind[kind].find((name) => plugins.includes(name));
        if (!plugin) throw new AppError("node_missing");
        return runPlugin(server, { plugin, image: picture.png, scale }, options);
      },
      async finish(answer, file) {
        const { data, channels } = await readResult(answer, size);
        const raw = { ...size, channels };
        await writeSharp(sharp(data, { raw, limitInputPixels: false }).png(), file);
      },
    };
  };
}

function scaleOf({ scale }: Readonly<Record<string, unknown>>): number {
  return scale === 4 ? 4 : 2;
}

function checkSize({ width, height }: Pick<SentPicture, "width" | "height">): void {
  const outputPixels = width * height;
  if (outputPixels > maxOutputPixels)
    throw new AppError("output_too_large", undefined, { details: { outputPixels, maxOutputPixels } });
}
