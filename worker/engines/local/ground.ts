import sharp from "sharp";
import { z } from "zod";
import { undecodedFile } from "@atelier/server/platform";
import type { Picture } from "../pictures.ts";
import type { EngineTask } from "../port.ts";
import { byteAt, type Grey, type Size } from "./raster/grid.ts";

const share = z.number().min(0).max(1).default(0.5);
const wishSchema = z.object({
  colour: z.string().optional(),
  position: z.object({ x: share, y: share }).default({ x: 0.5, y: 0.5 }),
});

/** What is laid behind a subject: a colour, a picture, or a picture on a colour. */
interface GroundWish extends z.output<typeof wishSchema> {
  /** The file of the picture. */
  readonly file: string | undefined;
}

/** The ground that a task asks for; null when the result stays transparent. */
export function groundOf({ params, inputs }: Pick<EngineTask, "params" | "inputs">): GroundWish | null {
  const wish = wishSchema.parse(params);
  const file = inputs.background;
  return wish.colour === undefined && file === undefined ? null : { ...wish, file };
}

/** From this part of its pixels on a picture counts as cut out. */
const leastClearShare = 0.05;

/** Whether a picture has a transparent ground of its own. */
export function isCutOut({ alpha }: Picture): boolean {
  if (alpha === undefined) return false;
  const clear = alpha.data.reduce((count, value) => count + (value < 128 ? 1 : 0), 0);
  return clear >= alpha.data.length * leastClearShare;
}

/** The part of a picture that covers another size: as much of it as has that shape. */
function coverOf(source: Size, { width, height }: Size, { x, y }: GroundWish["position"]) {
  const scale = Math.max(width / source.width, height / source.height);
  const part = {
    width: Math.min(source.width, Math.max(1, Math.round(width / scale))),
    height: Math.min(source.height, Math.max(1, Math.round(height / scale))),
  };
  return {
    left: Math.round((source.width - part.width) * x),
    top: Math.round((source.height - part.height) * y),
    ...part,
  };
}

/** RGBA of the ground at the size of a picture. Throws `upload_unreadable`. */
async function drawGround({ colour, position, file }: GroundWish, size: Size): Promise<Uint8Array> {
  const { width, height } = size;
  if (file === undefined) {
    const filled = sharp({ create: { width, height, channels: 4, background: colour ?? "#ffffff" } });
    return filled.raw().toBuffer();
  }
  try {
    const source = sharp(file, { limitInputPixels: false }).toColourspace("srgb");
    const part = coverOf(await source.metadata(), size, position);
    const whole = colour === undefined ? source : source.flatten({ background: colour });
    const covering = whole.extract(part).resize(width, height, { fit: "fill" }).ensureAlpha();
    return await covering.raw({ depth: "uchar" }).toBuffer();
  } catch (cause) {
    throw await undecodedFile(file, "upload_unreadable", cause);
  }
}

/** A picture with this alpha over the ground; it is opaque where the ground is. Throws `upload_unreadable`. */
export async function layOnGround(picture: Picture, alpha: Grey, wish: GroundWish): Promise<Picture> {
  const { width, height } = picture;
  const ground = await drawGround(wish, picture);
  const data = new Uint8Array(width * height * 3);
  const made = new Uint8Array(width * height);
  for (let at = 0; at < made.length; at += 1) {
    const own = byteAt(alpha.data, at);
    const behind = (byteAt(ground, at * 4 + 3) * (255 - own)) / 255;
    const sum = own + behind;
    made[at] = Math.round(sum);
    for (let channel = 0; channel < 3; channel += 1) {
      const [front, back] = [byteAt(picture.data, at * 3 + channel), byteAt(ground, at * 4 + channel)];
      data[at * 3 + channel] = sum === 0 ? 255 : Math.round((front * own + back * behind) / sum);
    }
  }
  const isOpaque = made.every((value) => value === 255);
  return { data, width, height, ...(isOpaque ? {} : { alpha: { data: made, width, height } }) };
}
