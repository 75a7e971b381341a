import { adjustBand, type Adjustments, bandsOf, planAdjust, type Rgba } from "@atelier/server/retouch";

/** A part of the picture, in its px, and the size in which it is drawn. */
export interface PreviewPart {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
  readonly outWidth: number;
  readonly outHeight: number;
}

export interface PreviewRequest {
  readonly url: string;
  readonly widthPx: number;
  readonly adjustments: Adjustments;
  readonly parts: readonly PreviewPart[];
}

/** One bitmap for each part; null when the picture could not be read. */
export type PreviewAnswer = readonly ImageBitmap[] | null;

let picture: { readonly url: string; readonly bitmap: ImageBitmap } | null = null;

async function open(url: string): Promise<ImageBitmap> {
  if (picture?.url === url) return picture.bitmap;
  const response = await fetch(url);
  if (!response.ok) throw new Error(`the picture was answered with ${response.status}`);
  const bitmap = await createImageBitmap(await response.blob());
  // One decoded picture at a time: a large one takes 200 MB.
  picture?.bitmap.close();
  picture = { url, bitmap };
  pixels.clear();
  return bitmap;
}

/** The pixels of the parts that were asked for last: while a slider moves they stay the same. */
const pixels = new Map<string, Rgba>();
const keptParts = 2;

function contextOf(width: number, height: number): OffscreenCanvasRenderingContext2D {
  const context = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
  if (context === null) throw new Error("The browser returned no canvas context.");
  return context;
}

function readPart(bitmap: ImageBitmap, part: PreviewPart, scale: number): Rgba {
  const key = JSON.stringify(part);
  const known = pixels.get(key);
  if (known !== undefined) return known;
  const { outWidth: width, outHeight: height } = part;
  const context = contextOf(width, height);
  context.imageSmoothingQuality = "high";
  const [left, top, wide, high] = [part.left, part.top, part.width, part.height].map((px) => px * scale);
  context.drawImage(bitmap, left ?? 0, top ?? 0, wide ?? 0, high ?? 0, 0, 0, width, height);
  const read = { data: context.getImageData(0, 0, width, height).data, width, height };
  pixels.set(key, read);
  const [oldest] = pixels.keys();
  if (pixels.size > keptParts && oldest !== undefined) pixels.delete(oldest);
  return read;
}

const rowsAtOnce = 128;

function draw(source: Rgba, part: PreviewPart, adjustments: Adjustments): ImageBitmap {
  const plan = planAdjust(adjustments, part.outWidth / part.width);
  const canvas = new OffscreenCanvas(source.width, source.height);
  const context = canvas.getContext("2d");
  if (context === null) throw new Error("The browser returned no canvas context.");
  for (const band of bandsOf(source.height, rowsAtOnce))
    context.putImageData(new ImageData(adjustBand(source, plan, band), source.width, band.rows), 0, band.top);
  return canvas.transferToImageBitmap();
}

async function answer({ url, widthPx, adjustments, parts }: PreviewRequest): Promise<PreviewAnswer> {
  try {
    const bitmap = await open(url);
    return parts.map((part) => draw(readPart(bitmap, part, bitmap.width / widthPx), part, adjustments));
  } catch {
    // The page says that there is no preview.
    return null;
  }
}

self.addEventListener("message", (event: MessageEvent<PreviewRequest>) => {
  void answer(event.data).then((made) => self.postMessage(made, { transfer: [...(made ?? [])] }));
});
