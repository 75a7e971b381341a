export interface Point {
  readonly x: number;
  readonly y: number;
}

/** A point that was clicked, in whole px of the picture. */
export interface Click extends Point {
  readonly mode: "include" | "exclude";
}

interface Size {
  readonly widthPx: number;
  readonly heightPx: number;
}

/** What some clicks select together; it lies under all strokes of the mask. */
export interface Selection extends Size {
  readonly mode: "select";
  readonly clicks: readonly Click[];
  /** One bit per px of the picture, row by row, the lowest bit first. */
  readonly bits: Uint8Array;
}

/** Grey from which a px counts as selected. */
const leastSelected = 128;

/** Makes a selection from grey bytes, in bands of whole rows from the top. */
export function toSelection(
  bands: Iterable<Uint8Array>,
  { widthPx, heightPx }: Size,
  clicks: readonly Click[],
): Selection {
  const bits = new Uint8Array(Math.ceil((widthPx * heightPx) / 8));
  let at = 0;
  for (const band of bands)
    for (const grey of band) {
      if (grey >= leastSelected) bits[at >> 3] = (bits[at >> 3] ?? 0) | (1 << (at & 7));
      at += 1;
    }
  return { mode: "select", clicks, widthPx, heightPx, bits };
}

function isBitSet(bits: Uint8Array, at: number): boolean {
  return ((bits[at >> 3] ?? 0) & (1 << (at & 7))) !== 0;
}

/** Rows of the selection as it is drawn at some width and height. */
interface Part {
  readonly width: number;
  readonly height: number;
  /** The first row. */
  readonly top: number;
  readonly rows: number;
  readonly rgb: readonly [red: number, green: number, blue: number];
}

/** RGBA bytes of a part of the selection: the colour where it is selected, else nothing. */
export function drawSelection(
  { bits, widthPx, heightPx }: Selection,
  { width, height, top, rows, rgb }: Part,
): Uint8ClampedArray<ArrayBuffer> {
  const colour = new Uint32Array(Uint8Array.of(...rgb, 255).buffer)[0] ?? 0;
  const pixels = new Uint32Array(width * rows);
  for (let row = 0; row < rows; row += 1) {
    const from = Math.floor(((top + row + 0.5) * heightPx) / height) * widthPx;
    for (let x = 0; x < width; x += 1)
      if (isBitSet(bits, from + Math.floor(((x + 0.5) * widthPx) / width))) pixels[row * width + x] = colour;
  }
  return new Uint8ClampedArray(pixels.buffer);
}

/** About as many points are looked at to learn whether an eraser left something. */
const samples = 20_000;

/** The centres of selected px: all of a small selection, of a large one some of each of its rows. */
export function* sampleSelection({ bits, widthPx }: Selection): Generator<Point> {
  const setBytes = bits.reduce((count, byte) => count + (byte === 0 ? 0 : 1), 0);
  const step = Math.max(1, Math.floor((setBytes * 8) / samples));
  let seen = 0;
  for (let at = 0; at < bits.length * 8; at += 1) {
    if (bits[at >> 3] === 0) at |= 7;
    else if (isBitSet(bits, at) && seen++ % step === 0)
      yield { x: (at % widthPx) + 0.5, y: Math.floor(at / widthPx) + 0.5 };
  }
}

/** Rows decoded at a time, so that no second copy of a large picture is made. */
const bandRows = 256;

/** Reads the file of a mask. Throws when it has another size than the picture. */
export async function readSelection(
  file: Blob,
  { widthPx, heightPx }: Size,
  clicks: readonly Click[],
): Promise<Selection> {
  const bitmap = await createImageBitmap(file);
  try {
    if (bitmap.width !== widthPx || bitmap.height !== heightPx)
      throw new Error("The mask does not have the size of the picture.");
    return toSelection(greyBands(bitmap), { widthPx, heightPx }, clicks);
  } finally {
    bitmap.close();
  }
}

function* greyBands(bitmap: ImageBitmap): Generator<Uint8Array> {
  const { width, height } = bitmap;
  for (let top = 0; top < height; top += bandRows) {
    const rows = Math.min(bandRows, height - top);
    const context = new OffscreenCanvas(width, rows).getContext("2d", { willReadFrequently: true });
    if (context === null) throw new Error("The browser returned no canvas context.");
    context.drawImage(bitmap, 0, -top);
    const { data } = context.getImageData(0, 0, width, rows);
    yield Uint8Array.from({ length: width * rows }, (_, at) => data[at * 4] ?? 0);
  }
}
