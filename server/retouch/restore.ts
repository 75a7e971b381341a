import { type Band, byteAt, type Rgba } from "./picture.ts";

interface Layers {
  /** The picture that is painted on. */
  readonly picture: Rgba;
  /** The picture that is painted back, of the same size. */
  readonly base: Rgba;
  /** A byte per pixel; 255 is the base, 0 the picture, between them both are blended. */
  readonly mask: Uint8Array;
}

/** Rows of a picture with another one painted back where the mask says, as RGBA. */
export function restoreBand({ picture, base, mask }: Layers, band: Band): Uint8ClampedArray<ArrayBuffer> {
  const from = band.top * picture.width;
  const end = from + band.rows * picture.width;
  const made = new Uint8ClampedArray(picture.data.subarray(from * 4, end * 4));
  for (let pixel = from; pixel < end; pixel += 1) {
    const share = byteAt(mask, pixel);
    if (share === 0) continue;
    const to = (pixel - from) * 4;
    if (share === 255) made.set(base.data.subarray(pixel * 4, pixel * 4 + 4), to);
    else blend(made, to, { other: base.data, at: pixel * 4, share: share / 255 });
  }
  return made;
}

interface Other {
  readonly other: Rgba["data"];
  readonly at: number;
  readonly share: number;
}

function blend(made: Uint8ClampedArray, to: number, { other, at, share }: Other): void {
  const ownWeight = byteAt(made, to + 3) * (1 - share);
  const otherWeight = byteAt(other, at + 3) * share;
  const alpha = ownWeight + otherWeight;
  if (alpha === 0) return;
  for (let channel = 0; channel < 3; channel += 1) {
    const [own, back] = [byteAt(made, to + channel), byteAt(other, at + channel)];
    made[to + channel] = (own * ownWeight + back * otherWeight) / alpha;
  }
  made[to + 3] = alpha;
}
