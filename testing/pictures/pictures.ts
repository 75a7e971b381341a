import { readFile } from "node:fs/promises";
import path from "node:path";
import sharp, { type Sharp } from "sharp";

const folder = path.join(import.meta.dirname, "../../public/samples");

/** The bytes of a picture of public/samples. */
export function readSample(name: string): Promise<Buffer> {
  return readFile(path.join(folder, name));
}

/** A picture in which every corner has another colour, so that its orientation can be told. */
export function cornersPicture(widthPx: number, heightPx: number): Sharp {
  const data = Buffer.alloc(widthPx * heightPx * 3);
  for (let y = 0; y < heightPx; y += 1) {
    for (let x = 0; x < widthPx; x += 1) {
      const colour = cornerColours[(y * 2 < heightPx ? 0 : 2) + (x * 2 < widthPx ? 0 : 1)];
      data.set(colour ?? [0, 0, 0], (y * widthPx + x) * 3);
    }
  }
  return sharp(data, { raw: { width: widthPx, height: heightPx, channels: 3 } });
}

/** Top left red, top right green, bottom left blue, bottom right white. */
const cornerColours = [
  [255, 0, 0],
  [0, 255, 0],
  [0, 0, 255],
  [255, 255, 255],
];

/** Names of the corners' colours, from the top left, row by row. */
export async function readCorners(picture: Buffer): Promise<string[]> {
  const { data, info } = await sharp(picture).removeAlpha().raw().toBuffer({ resolveWithObject: true });
  const at = (x: number, y: number) => nameOf(data.subarray((y * info.width + x) * info.channels));
  const [right, bottom] = [info.width - 3, info.height - 3];
  return [at(2, 2), at(right, 2), at(2, bottom), at(right, bottom)];
}

function nameOf(pixel: Buffer): string {
  const [red, green, blue] = [...pixel.subarray(0, 3)].map((sample) => sample > 127);
  if (red && green && blue) return "white";
  if (red) return "red";
  if (green) return "green";
  return blue ? "blue" : "black";
}
