import path from "node:path";
import sharp from "sharp";
import { maxOutputPixels } from "@atelier/server/engines";
import { AppError } from "@atelier/server/platform";
import { pluginsByKind } from "../../servers/index.ts";
import { inputPath } from "../local/run-context.ts";
import { byteAt, type Mask } from "../local/raster/grid.ts";
import { type Picture, readMask, readPicture, writeMask, writePng, writeSharp } from "../pictures.ts";
import type { EngineTask } from "../port.ts";
import { type CallOptions, inpaint, type IopaintServer, readServerConfig, runPlugin } from "./routes.ts";

/** One request to a server and what becomes of its answer. */
export interface IopaintRun {
  /** Sends the request; a good answer is a picture. */
  request(server: IopaintServer, options: CallOptions): Promise<Buffer>;
  /** Checks the answer and writes the result as PNG to `file`. */
  finish(answer: Buffer, file: string): Promise<void>;
}

/** Reads the inputs and says what is to be sent. Throws what is wrong with the inputs before any server is taken. */
export type PrepareRun = (task: EngineTask) => Promise<IopaintRun>;

/** What is marked is painted over; every pixel outside stays as it was, whatever the server answers there. */
export const prepareInpaint: PrepareRun = async (task) => {
  const file = inputPath(task, "image");
  const { png: image, ...size } = await preparePicture(file);
  const marked = await readMask(inputPath(task, "mask"), size);
  const mask = await sharp(
    marked.data.map((value) => value * 255),
    { raw: { width: size.width, height: size.height, channels: 1 }, limitInputPixels: false },
  )
    .toColourspace("b-w")
    .png()
    .toBuffer();
  const request = { image, mask };
  return {
    request: (server, options) => inpaint(server, request, options),
    async finish(answer, to) {
      const picture = await readPicture(file);
      pasteResult(picture, await readResult(answer, size), marked);
      await writePng(picture, path.dirname(to), path.basename(to));
      if (task.maskPath) await writeMask(marked, task.maskPath);
    },
  };
};

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

interface SentPicture {
  readonly png: Buffer;
  readonly width: number;
  readonly height: number;
}

/** The picture as PNG: the server answers in the format that it was sent, and this one loses nothing. */
async function preparePicture(file: string): Promise<SentPicture> {
  try {
    const { data, info } = await sharp(file, { limitInputPixels: false })
      .toColourspace("srgb")
      .png({ compressionLevel: 3 })
      .toBuffer({ resolveWithObject: true });
    return { png: data, width: info.width, height: info.height };
  } catch (cause) {
    throw new AppError("upload_unreadable", undefined, { cause });
  }
}

/** What a server made, decoded: 8-bit sRGB with or without transparency. */
interface Result {
  readonly data: Uint8Array;
  readonly width: number;
  readonly height: number;
  readonly channels: 3 | 4;
}

/** Decodes the whole picture, so that a damaged one is found here. Throws `engine_failed`, also for another size. */
async function readResult(
  bytes: Buffer,
  expected: { readonly width: number; readonly height: number },
): Promise<Result> {
  const { data, info } = await sharp(bytes, { failOn: "error", limitInputPixels: maxOutputPixels })
    .toColourspace("srgb")
    .raw({ depth: "uchar" })
    .toBuffer({ resolveWithObject: true })
    .catch((cause: unknown) => {
      throw new AppError("engine_failed", "The server's answer is no picture.", { cause });
    });
  const { width, height, channels } = info;
  if (width !== expected.width || height !== expected.height)
    throw new AppError("engine_failed", "The server's picture has another size than was asked for.", {
      details: { got: [width, height], expected: [expected.width, expected.height] },
    });
  return { data, width, height, channels: channels === 4 ? 4 : 3 };
}

/** Writes the result into `picture` where the mask is set; every other pixel, and all transparency, stays as it was. */
function pasteResult(picture: Picture, result: Result, mask: Mask): void {
  const { data } = picture;
  for (let i = 0; i < mask.data.length; i++) {
    if (!mask.data[i]) continue;
    for (let c = 0; c < 3; c++) data[i * 3 + c] = byteAt(result.data, i * result.channels + c);
  }
}
