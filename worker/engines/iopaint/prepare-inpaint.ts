import path from "node:path";
import sharp from "sharp";
import { inpaint } from "./index.ts";
import { readMask } from "../local/inpaint/read-mask.ts";
import { readPicture } from "../local/picture/read-picture.ts";
import { writeMask, writePng } from "../pictures.ts";
import { inputPath } from "../local/run-context.ts";
import type { PrepareRun } from "./iopaint-run.ts";
import { pasteResult } from "./paste-result.ts";
import { preparePicture } from "./prepare-picture.ts";
import { readResult } from "./read-result.ts";

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
