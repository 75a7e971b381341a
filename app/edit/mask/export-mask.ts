import { drawStroke } from "./draw-stroke.ts";
import { encodeGreyPng } from "./grey-png.ts";
import type { Stroke } from "./stroke.ts";

/** Rows drawn at a time: a canvas of 50 megapixels would take 200 MB. */
const bandRows = 256;

interface Size {
  readonly widthPx: number;
  readonly heightPx: number;
}

function* greyBands(
  strokes: readonly Stroke[],
  { widthPx, heightPx }: Size,
): Generator<Uint8Array<ArrayBuffer>> {
  for (let top = 0; top < heightPx; top += bandRows) {
    const rows = Math.min(bandRows, heightPx - top);
    const context = new OffscreenCanvas(widthPx, rows).getContext("2d", { willReadFrequently: true });
    if (context === null) throw new Error("The browser gave no canvas.");
    context.translate(0, -top);
    for (const stroke of strokes) drawStroke(context, stroke, "#fff");
    const { data } = context.getImageData(0, 0, widthPx, rows);
    const grey = new Uint8Array(widthPx * rows);
    // White on nothing: the alpha is the mask.
    for (let index = 0; index < grey.length; index += 1)
      grey[index] = (data[index * 4 + 3] ?? 0) > 127 ? 255 : 0;
    yield grey;
  }
}

/** The strokes as a grey PNG at the picture's own size; white is what changes. */
export function exportMask(strokes: readonly Stroke[], size: Size): Promise<Blob> {
  return encodeGreyPng(size.widthPx, size.heightPx, greyBands(strokes, size));
}
