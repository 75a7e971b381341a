/** Four bytes per pixel (red, green, blue, alpha), sRGB, rows from the top; alpha is not multiplied into the colours. */
export interface Rgba {
  readonly data: Uint8Array | Uint8ClampedArray;
  readonly width: number;
  readonly height: number;
}

/** In pixels, of a picture or of the room for one. */
export interface Size {
  readonly width: number;
  readonly height: number;
}

/** Some whole rows. */
export interface Band {
  readonly top: number;
  readonly rows: number;
}

/** The bands that cover `height` rows from the top. */
export function* bandsOf(height: number, rowsAtOnce: number): Generator<Band> {
  for (let top = 0; top < height; top += rowsAtOnce) yield { top, rows: Math.min(rowsAtOnce, height - top) };
}

/** Reads an array at an index that the caller keeps in range, which the types cannot see. */
export const byteAt = (cells: Uint8Array | Uint8ClampedArray, index: number): number =>
  cells[index] as number;
export const floatAt = (cells: Float32Array, index: number): number => cells[index] as number;

export function clamp(value: number, low: number, high: number): number {
  return value < low ? low : value > high ? high : value;
}
