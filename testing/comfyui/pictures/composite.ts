import type { Frame } from "../pictures.ts";

export interface Paste {
  readonly destination: Frame;
  readonly source: Frame;
  /** 255 takes the source; null takes it everywhere. Has the size of the source. */
  readonly mask: Frame | null;
  readonly leftPx: number;
  readonly topPx: number;
}

/** Puts the source over the destination; bytes where the mask is 0 stay as they are. */
export function composite({ destination, source, mask, leftPx, topPx }: Paste): Frame {
  const data = Uint8Array.from(destination.data);
  const { channels } = destination;
  const lastRow = Math.min(source.heightPx, destination.heightPx - topPx);
  const lastColumn = Math.min(source.widthPx, destination.widthPx - leftPx);
  for (let row = 0; row < lastRow; row += 1) {
    for (let column = 0; column < lastColumn; column += 1) {
      const from = row * source.widthPx + column;
      const weight = mask ? (mask.data[from] ?? 0) : 255;
      if (weight === 0) continue;
      const to = ((row + topPx) * destination.widthPx + column + leftPx) * channels;
      for (let channel = 0; channel < Math.min(channels, source.channels); channel += 1) {
        const old = data[to + channel] ?? 0;
        const fresh = source.data[from * source.channels + channel] ?? 0;
        data[to + channel] = Math.round((fresh * weight + old * (255 - weight)) / 255);
      }
    }
  }
  return { ...destination, data };
}

/** Mixes two pictures of one size: 0 is all the first, 1 all the second. */
export function mix(first: Frame, second: Frame, share: number): Frame {
  const data = new Uint8Array(first.data.length);
  for (let at = 0; at < data.length; at += 1) {
    data[at] = Math.round((first.data[at] ?? 0) * (1 - share) + (second.data[at] ?? 0) * share);
  }
  return { ...first, data };
}
