import { byteAt } from "./cells.ts";
import type { Rgb } from "./grid.ts";
import { median } from "./median.ts";

/** Luma 0..255 and two colour differences. */
export interface Tone {
  readonly luma: number;
  readonly red: number;
  readonly blue: number;
}

export function toneAt({ data }: Rgb, index: number): Tone {
  const r = byteAt(data, index * 3);
  const g = byteAt(data, index * 3 + 1);
  const b = byteAt(data, index * 3 + 2);
  const luma = 0.299 * r + 0.587 * g + 0.114 * b;
  return { luma, red: (r - luma) * 0.713, blue: (b - luma) * 0.564 };
}

/** How far two tones are apart, in units of the given tolerances. */
export function toneDistance(a: Tone, b: Tone, tolerance: { luma: number; chroma: number }): number {
  return Math.hypot(
    (a.luma - b.luma) / tolerance.luma,
    (a.red - b.red) / tolerance.chroma,
    (a.blue - b.blue) / tolerance.chroma,
  );
}

/** Median of each component; `undefined` for fewer than `least` tones. */
export function medianTone(tones: readonly Tone[], least: number): Tone | undefined {
  if (tones.length < least) return undefined;
  return {
    luma: median(tones.map((tone) => tone.luma)),
    red: median(tones.map((tone) => tone.red)),
    blue: median(tones.map((tone) => tone.blue)),
  };
}
