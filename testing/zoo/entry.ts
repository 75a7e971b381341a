import sharp from "sharp";
import type { ErrorCode } from "@atelier/server/platform";

export type ZooFormat = "jpeg" | "png" | "webp" | "avif";

export const zooFormats = ["jpeg", "png", "webp", "avif"] as const satisfies readonly ZooFormat[];

const made = new Map<ZooFormat, Promise<Buffer>>();

/** A valid picture of 48 × 32 with some structure; each call returns a copy. */
export async function smallPicture(format: ZooFormat): Promise<Buffer> {
  const known = made.get(format) ?? encode(format);
  made.set(format, known);
  return Buffer.from(await known);
}

/** A one-coloured lossless WebP: its pixel data is the same for every size. */
export function flatWebp(): Promise<Buffer> {
  return sharp({ create: { width: 9, height: 9, channels: 3, background: "red" } })
    .webp({ lossless: true })
    .toBuffer();
}

function encode(format: ZooFormat): Promise<Buffer> {
  const pixels = Buffer.alloc(48 * 32 * 3).map((_zero, at) => (at * at) % 251);
  const picture = sharp(pixels, { raw: { width: 48, height: 32, channels: 3 } });
  return format === "avif" ? picture.avif({ effort: 0 }).toBuffer() : picture.toFormat(format).toBuffer();
}

/** Where a file's way ends: refused by its structure, refused while it is decoded, or taken on one of the two paths. */
export type Outcome =
  | { readonly refusedBy: "header" | "decoder"; readonly code: ErrorCode }
  | { readonly takenAs: "light" | "heavy" }
  /** Damaged where either may happen; a crash may not. */
  | { readonly either: true };

/** One hostile or dear file, made when it is needed. */
export interface ZooEntry {
  readonly name: string;
  readonly outcome: Outcome;
  make(): Promise<Buffer> | Buffer;
}

export const byHeader = (code: ErrorCode): Outcome => ({ refusedBy: "header", code });
export const byDecoder = (code: ErrorCode): Outcome => ({ refusedBy: "decoder", code });
