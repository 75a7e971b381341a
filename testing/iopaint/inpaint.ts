import sharp from "sharp";
import type { Answer } from "../comfyui/http/answer.ts";
import type { JsonObject } from "../comfyui/options.ts";
import {
  channelOf,
  composite,
  decode,
  type Frame,
  mapBytes,
  pipe,
  resize,
  seededPicture,
  toRgb,
} from "../comfyui/pictures.ts";
import { missingField, refused, takeTurn, Trouble } from "./faults.ts";
import { eraseModels, type Iopaint } from "./options.ts";

export interface SentPicture {
  readonly frame: Frame;
  /** "png", "jpeg" or "webp": the answer to an inpaint comes back in it. */
  readonly format: string;
}

/** A picture in base64, with or without "data:...,". */
export async function readPicture(text: string): Promise<SentPicture> {
  const bytes = Buffer.from(text.replace(/^data:[^,]*,/, ""), "base64");
  try {
    const { format } = await sharp(bytes).metadata();
    return { frame: await decode(bytes), format };
  } catch {
    throw new Trouble(500, "UnidentifiedImageError", "cannot identify image file <_io.BytesIO object>");
  }
}

const maskThreshold = 127;
const defaultSeed = 42;

/** POST /api/v1/inpaint: the picture in its own format, white parts of the mask painted anew. */
export async function inpaint(iopaint: Iopaint, body: JsonObject): Promise<Answer> {
  if (typeof body.image !== "string") return missingField("image");
  if (typeof body.mask !== "string") return missingField("mask");
  const { frame, format } = await readPicture(body.image);
  const sent = await readPicture(body.mask);
  const mask = mapBytes(channelOf(toRgb(sent.frame), 0), (value) => (value > maskThreshold ? 255 : 0));
  if (mask.widthPx !== frame.widthPx || mask.heightPx !== frame.heightPx) {
    const sizes = `Image size(${shape(frame)}) and mask size(${shape(mask)}) not match.`;
    throw refused(400, sizes);
  }
  const seed = readSeed(body);
  const words = `${typeof body.prompt === "string" ? body.prompt : ""}/${seed}`;
  const painted = await takeTurn(iopaint, () => paint(iopaint, { frame, mask, words }));
  iopaint.stats.inpaints += 1;
  const bytes = await encode(painted, format);
  return { status: 200, headers: { "content-type": `image/${format}`, "x-seed": String(seed) }, body: bytes };
}

function readSeed(body: JsonObject): number {
  const seed = typeof body.sd_seed === "number" ? body.sd_seed : defaultSeed;
  return seed === -1 ? Math.trunc(Math.random() * 2 ** 31) : seed;
}

function shape({ heightPx, widthPx }: Frame): string {
  return `(${heightPx}, ${widthPx})`;
}

async function paint(
  { model }: Iopaint,
  { frame, mask, words }: { frame: Frame; mask: Frame; words: string },
): Promise<Frame> {
  const source = eraseModels.includes(model) ? await smear(frame, mask) : await seededPicture(words, frame);
  return composite({ destination: frame, source: toRgb(source), mask, leftPx: 0, topPx: 0 });
}

const smearPx = 8;

/** What is around the hole, without what is in it. */
async function smear(frame: Frame, mask: Frame): Promise<Frame> {
  const rgb = toRgb(frame);
  const around = averageOutside(rgb, mask);
  const filled = mapBytes(rgb, (value, at) =>
    mask.data[Math.trunc(at / 3)] ? (around[at % 3] ?? 0) : value,
  );
  const small = await resize(filled, { widthPx: smearPx, heightPx: smearPx }, { method: "area" });
  return resize(small, frame);
}

function averageOutside(rgb: Frame, mask: Frame): number[] {
  const sums = [0, 0, 0];
  let pixels = 0;
  for (let pixel = 0; pixel < mask.data.length; pixel += 1) {
    if (mask.data[pixel]) continue;
    pixels += 1;
    for (let channel = 0; channel < 3; channel += 1) {
      sums[channel] = (sums[channel] ?? 0) + (rgb.data[pixel * 3 + channel] ?? 0);
    }
  }
  return sums.map((sum) => (pixels === 0 ? 127 : Math.round(sum / pixels)));
}

function encode(frame: Frame, format: string): Promise<Buffer> {
  if (format === "jpeg") return pipe(toRgb(frame)).jpeg({ quality: 95 }).toBuffer();
  if (format === "webp") return pipe(frame).webp({ quality: 95 }).toBuffer();
  return pipe(frame).png().toBuffer();
}
