import { draftOf, type Effect, mix, type Raster, type Size } from "./raster.ts";

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** A point that was clicked, in whole px of the picture. */
export interface Click extends Point {
  readonly mode: "include" | "exclude";
}

/** What some clicks select together, or a box, words or the subject, which have no clicks. */
export interface Selection extends Size {
  readonly mode: "select";
  readonly clicks: readonly Click[];
  /** One bit per px of the picture, row by row, the lowest bit first; empty where there are greys. */
  readonly bits: Uint8Array;
  /** Default: it is added. */
  readonly effect?: Effect;
  /** One grey per px, of a mask with soft edges. */
  readonly greys?: Uint8Array;
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

/** Makes a selection that keeps all greys. */
function toSoftSelection(bands: Iterable<Uint8Array>, { widthPx, heightPx }: Size): Selection {
  const greys = new Uint8Array(widthPx * heightPx);
  let at = 0;
  for (const band of bands) {
    greys.set(band, at);
    at += band.length;
  }
  return { mode: "select", clicks: [], widthPx, heightPx, bits: new Uint8Array(), greys };
}

/** Adds a selection to what is marked, or takes it away; one of another size than the picture is stretched to it. */
export function drawSelection(raster: Raster, selection: Selection): Raster {
  const { bits, greys, widthPx, heightPx, effect = "add" } = selection;
  const draft = draftOf(raster);
  const greyOf = (at: number) =>
    greys === undefined ? ((bits[at >> 3] ?? 0) & (1 << (at & 7)) ? 255 : 0) : (greys[at] ?? 0);
  const columns = Int32Array.from({ length: raster.widthPx }, (_, x) =>
    Math.floor(((x + 0.5) * widthPx) / raster.widthPx),
  );
  const whole = { left: 0, top: 0, right: raster.widthPx, bottom: raster.heightPx };
  draft.each(whole, ({ tile, at, x, y, length }) => {
    const from = Math.floor(((y + 0.5) * heightPx) / raster.heightPx) * widthPx;
    for (let step = 0; step < length; step += 1) {
      const grey = greyOf(from + (columns[x + step] ?? 0));
      if (grey > 0) mix(tile, at + step, grey, effect);
    }
  });
  return draft.done();
}

/** Rows decoded at a time, so that no second copy of a large picture is made. */
const bandRows = 256;

/** Reads the file of a mask; without clicks with its soft edges. Throws when it has another size than the picture. */
export async function readSelection(
  file: Blob,
  { widthPx, heightPx }: Size,
  clicks: readonly Click[] | "soft",
): Promise<Selection> {
  const bitmap = await createImageBitmap(file);
  try {
    if (bitmap.width !== widthPx || bitmap.height !== heightPx)
      throw new Error("The mask does not have the size of the picture.");
    const size = { widthPx, heightPx };
    return clicks === "soft"
      ? toSoftSelection(greyBands(bitmap), size)
      : toSelection(greyBands(bitmap), size, clicks);
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
