import type { Size } from "@atelier/server/retouch";
import type { PreviewAnswer, PreviewPart, PreviewRequest } from "./preview-worker.ts";

interface Seen {
  /** Of the picture. */
  readonly picture: { readonly widthPx: number; readonly heightPx: number };
  /** One picture px is `scale` CSS px, its corner is at (x, y) of the stage. */
  readonly view: { readonly scale: number; readonly x: number; readonly y: number };
  /** In CSS px. */
  readonly stage: Size;
  /** Screen px in a CSS px. */
  readonly density: number;
}

/** Pixels that are computed while a slider moves: about 30 ms, whatever the size of the picture. */
const mostPixels = 1_000_000;
/** Of the whole picture, shown where the stage was moved to a moment ago. */
const mostPixelsAround = 200_000;

/** Sharpness reads so far around a pixel, and the edge of a part is not that of the picture. */
const beyondPx = 2;

function sized(area: Omit<PreviewPart, "outWidth" | "outHeight">, scale: number, most: number): PreviewPart {
  const fine = Math.min(1, scale, Math.sqrt(most / (area.width * area.height)));
  return {
    ...area,
    outWidth: Math.max(1, Math.round(area.width * fine)),
    outHeight: Math.max(1, Math.round(area.height * fine)),
  };
}

/**
 * The parts of a picture that a preview computes: what is seen, as fine as the screen shows it, on top of the whole where
 * that is more. Their number of pixels depends on the screen, not on the picture.
 */
export function previewParts({ picture, view, stage, density }: Seen): PreviewPart[] {
  const { widthPx, heightPx } = picture;
  const left = Math.max(0, Math.floor(-view.x / view.scale) - beyondPx);
  const top = Math.max(0, Math.floor(-view.y / view.scale) - beyondPx);
  const right = Math.min(widthPx, Math.ceil((stage.width - view.x) / view.scale) + beyondPx);
  const bottom = Math.min(heightPx, Math.ceil((stage.height - view.y) / view.scale) + beyondPx);
  const whole = { left: 0, top: 0, width: widthPx, height: heightPx };
  const scale = view.scale * density;
  if (right <= left || bottom <= top) return [sized(whole, scale, mostPixelsAround)];
  const seen = { left, top, width: right - left, height: bottom - top };
  const isAll = seen.width === widthPx && seen.height === heightPx;
  if (isAll) return [sized(whole, scale, mostPixels)];
  return [sized(whole, scale, mostPixelsAround), sized(seen, scale, mostPixels)];
}

/**
 * Computes previews in a thread of their own, so that the page never waits: one at a time, the newest that was asked for
 * next. `onDrawn` gets the bitmaps of a request.
 */
export function createPreviews(onDrawn: (request: PreviewRequest, made: PreviewAnswer) => void) {
  const thread = new Worker(new URL("./preview-worker.ts", import.meta.url), { type: "module" });
  let running: PreviewRequest | null = null;
  let wanted: PreviewRequest | null = null;
  const start = () => {
    if (running !== null || wanted === null) return;
    running = wanted;
    wanted = null;
    thread.postMessage(running);
  };
  thread.addEventListener("message", ({ data }: MessageEvent<PreviewAnswer>) => {
    const asked = running;
    running = null;
    start();
    if (asked !== null) onDrawn(asked, data);
  });
  return {
    ask(request: PreviewRequest) {
      wanted = request;
      start();
    },
    close: () => thread.terminate(),
  };
}
