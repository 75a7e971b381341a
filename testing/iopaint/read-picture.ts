import sharp from "sharp";
import { decode } from "../comfyui/pictures/codec.ts";
import type { Frame } from "../comfyui/pictures.ts";
import { Trouble } from "./trouble.ts";

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
