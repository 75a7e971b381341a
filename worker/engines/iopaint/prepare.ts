import path from "node:path";
import sharp from "sharp";
import { z } from "zod";
import { maxOutputPixels } from "@atelier/server/engines";
import { withoutBombs } from "@atelier/server/images";
import { AppError, isOwnLack, undecoded, undecodedFile } from "@atelier/server/platform";
import { inputPath } from "../local/run-context.ts";
import { byteAt, type Mask, maskWhere } from "../local/raster/grid.ts";
import {
  forgetHidden,
  keepTransparency,
  type Picture,
  readMask,
  readPicture,
  writeMask,
  writePng,
  writeSharp,
} from "../pictures.ts";
import type { EngineTask } from "../port.ts";
import {
  type CallOptions,
  inpaint,
  type IopaintServer,
  type PluginClick,
  pluginsByKind,
  readServerConfig,
  runMaskPlugin,
  runPlugin,
  segmentPlugin,
} from "../../clients/iopaint/index.ts";

/** One request to a server, and how the result is made from its answer. */
export interface IopaintRun {
  /** Sends the request and returns the picture of the answer. */
  request(server: IopaintServer, options: CallOptions): Promise<Buffer>;
  /** Checks the answer and writes the result as PNG to `file`. */
  finish(answer: Buffer, file: string): Promise<void>;
}

/** Reads the inputs and builds the request. Throws for invalid inputs, before a server is taken. */
export type PrepareRun = (task: EngineTask) => Promise<IopaintRun>;

/** Inpaint: only the masked pixels are taken from the server's picture; every other pixel stays unchanged. */
export const prepareInpaint: PrepareRun = async (task) => {
  const file = inputPath(task, "image");
  const { png: image, ...size } = await preparePicture(file);
  const mask = await readMask(inputPath(task, "mask"), size);
  const maskPng = await sharp(
    mask.data.map((value) => value * 255),
    { raw: { width: size.width, height: size.height, channels: 1 }, limitInputPixels: false },
  )
    .toColourspace("b-w")
    .png()
    .toBuffer();
  const request = { image, mask: maskPng };
  return {
    request: (server, options) => inpaint(server, request, options),
    async finish(answer, to) {
      const picture = await readPicture(file);
      pasteResult(picture, await readResult(answer, size), mask);
      await writePng(picture, path.dirname(to), path.basename(to));
      if (task.maskPath) await writeMask(mask, task.maskPath);
    },
  };
};

type PluginKind = keyof typeof pluginsByKind;

/** A run with a plugin. The request reads the server's configuration first, because servers have different plugins. */
export function preparePlugin(kind: PluginKind): PrepareRun {
  return async (task) => {
    const source = inputPath(task, "image");
    const picture = await preparePicture(source);
    const scale = kind === "upscale" ? scaleOf(task.params) : 1;
    const size = { width: picture.width * scale, height: picture.height * scale };
    checkOutputSize(size);
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
        await (kind === "remove_background" ? forgetHidden(file) : keepTransparency(source, file));
      },
    };
  };
}

/** A selection by clicks: the result is a mask of the picture's size, white = selected. */
export const prepareSegment: PrepareRun = async (task) => {
  const { png: image, ...size } = await preparePicture(inputPath(task, "image"));
  const request = { plugin: segmentPlugin, image, clicks: clicksOf(task.params) };
  return {
    request: (server, options) => runMaskPlugin(server, request, options),
    async finish(answer, file) {
      const { data, channels } = await readResult(answer, size);
      if (channels !== 4) throw new AppError("engine_failed", "The server's mask has no transparency.");
      const mask = maskWhere(size, (i) => byteAt(data, i * 4 + 3) >= leastSelectedAlpha);
      if (!mask.data.includes(1)) throw new AppError("mask_empty", "Nothing was found at these points.");
      await writeMask(mask, file);
    },
  };
};

/** Selected pixels are shown at 73 % there, the others at 0. */
const leastSelectedAlpha = 96;

const clicksSchema = z.array(
  z.object({ x: z.number(), y: z.number(), mode: z.enum(["include", "exclude"]) }),
);

function clicksOf({ clicks }: Readonly<Record<string, unknown>>): PluginClick[] {
  return clicksSchema.parse(clicks).map(({ x, y, mode }) => [x, y, mode === "include" ? 1 : 0]);
}

function scaleOf({ scale }: Readonly<Record<string, unknown>>): number {
  return scale === 4 ? 4 : 2;
}

/** Throws `output_too_large`. */
function checkOutputSize({ width, height }: Pick<SentPicture, "width" | "height">): void {
  const outputPixels = width * height;
  if (outputPixels > maxOutputPixels)
    throw new AppError("output_too_large", undefined, { details: { outputPixels, maxOutputPixels } });
}

interface SentPicture {
  readonly png: Buffer;
  readonly width: number;
  readonly height: number;
}

/** Encodes the picture as PNG: the server answers in the format of the request, and PNG is lossless. Throws `upload_unreadable`. */
async function preparePicture(file: string): Promise<SentPicture> {
  try {
    const { data, info } = await sharp(file, { limitInputPixels: false })
      .toColourspace("srgb")
      .png({ compressionLevel: 3 })
      .toBuffer({ resolveWithObject: true });
    return { png: data, width: info.width, height: info.height };
  } catch (cause) {
    throw await undecodedFile(file, "upload_unreadable", cause);
  }
}

/** A decoded answer: 8-bit sRGB, row-major, 3 channels or 4 with alpha. */
interface Result {
  readonly data: Uint8Array;
  readonly width: number;
  readonly height: number;
  readonly channels: 3 | 4;
}

/** Decodes the whole picture. Throws `engine_failed` for a damaged picture or another size. */
async function readResult(
  bytes: Buffer,
  expected: { readonly width: number; readonly height: number },
): Promise<Result> {
  const { data, info } = await Promise.try(() =>
    sharp(withoutBombs(bytes), { failOn: "error", limitInputPixels: maxOutputPixels })
      .toColourspace("srgb")
      .raw({ depth: "uchar" })
      .toBuffer({ resolveWithObject: true }),
  ).catch((cause: unknown) => {
    if (isOwnLack(cause)) throw undecoded("engine_failed", cause);
    throw new AppError("engine_failed", "The server's answer is not a picture.", { cause });
  });
  const { width, height, channels } = info;
  if (width !== expected.width || height !== expected.height)
    throw new AppError("engine_failed", "The server's picture does not have the requested size.", {
      details: { got: [width, height], expected: [expected.width, expected.height] },
    });
  return { data, width, height, channels: channels === 4 ? 4 : 3 };
}

/** Copies the result into `picture` where the mask is set; other pixels and all transparency stay unchanged. */
function pasteResult(picture: Picture, result: Result, mask: Mask): void {
  const { data } = picture;
  for (let i = 0; i < mask.data.length; i++) {
    if (!mask.data[i]) continue;
    for (let c = 0; c < 3; c++) data[i * 3 + c] = byteAt(result.data, i * result.channels + c);
  }
}
