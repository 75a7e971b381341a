import sharp, { type Sharp } from "sharp";
import type { Canvas } from "./plan-canvas.ts";
import { writeSharp } from "../../write-sharp.ts";

/** Writes the part of a picture that goes to the server; its edge is drawn out to fill the margin. */
export async function cutPicture(source: string, canvas: Canvas, target: string): Promise<void> {
  const picture = sharp(source, { limitInputPixels: false }).flatten({ background: "#ffffff" });
  const part = cut(picture, canvas).extend({ ...marginOf(canvas), extendWith: "copy" });
  await writeSharp(part.png(), target);
}

/** The same part of its mask; nothing in the margin is marked. */
export async function cutMask(source: string, canvas: Canvas, target: string): Promise<void> {
  const mask = sharp(source, { limitInputPixels: false })
    .flatten({ background: "#000000" })
    .toColourspace("b-w");
  const part = cut(mask, canvas).extend({ ...marginOf(canvas), background: "#000000" });
  await writeSharp(part.png(), target);
}

function cut(picture: Sharp, { region, work }: Canvas): Sharp {
  return picture.extract(region).resize(work.width, work.height, { fit: "fill" });
}

function marginOf({ work, padded }: Canvas) {
  return { right: padded.width - work.width, bottom: padded.height - work.height };
}
