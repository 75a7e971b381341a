import { solidFrame, mapBytes, type Frame } from "../comfyui/pictures.ts";

/** A mask of an ellipse in the middle: what the simulated plugins take for the subject. */
export function ellipse({ widthPx, heightPx }: Frame): Frame {
  return mapBytes(solidFrame(widthPx, heightPx, [0]), (_, at) => {
    const x = ((at % widthPx) + 0.5) / widthPx - 0.5;
    const y = (Math.trunc(at / widthPx) + 0.5) / heightPx - 0.5;
    return x * x + y * y <= 0.16 ? 255 : 0;
  });
}

const spotShare = 0.1;

/** A mask of circles around the clicks `[x, y, 1]`. */
export function spots({ widthPx, heightPx }: Frame, clicks: unknown): Frame {
  const points = Array.isArray(clicks) ? clicks.filter(isInside) : [];
  const reachPx = Math.max(widthPx, heightPx) * spotShare;
  return mapBytes(solidFrame(widthPx, heightPx, [0]), (_, at) => {
    const [x, y] = [at % widthPx, Math.trunc(at / widthPx)];
    return points.some(([left, top]) => Math.hypot(x - left, y - top) <= reachPx) ? 255 : 0;
  });
}

function isInside(click: unknown): click is [number, number, number] {
  return Array.isArray(click) && click.every((part) => typeof part === "number") && click[2] !== 0;
}

/** The picture with the mask as its alpha. */
export function cutOut(rgb: Frame, mask: Frame): Frame {
  return join(mask, (pixel, channel) => rgb.data[pixel * 3 + channel] ?? 0, 1);
}

const highlightColor = [255, 203, 0] as const;
const highlightAlpha = 0.73;

/** The mask as IOPaint shows it: yellow, half transparent. */
export function highlight(mask: Frame): Frame {
  const isOn = (pixel: number) => mask.data[pixel] !== 0;
  return join(mask, (pixel, channel) => (isOn(pixel) ? (highlightColor[channel] ?? 0) : 0), highlightAlpha);
}

function join(mask: Frame, colorAt: (pixel: number, channel: number) => number, opacity: number): Frame {
  const data = new Uint8Array(mask.data.length * 4);
  for (let at = 0; at < data.length; at += 1) {
    const pixel = Math.trunc(at / 4);
    data[at] = at % 4 === 3 ? Math.round((mask.data[pixel] ?? 0) * opacity) : colorAt(pixel, at % 4);
  }
  return { widthPx: mask.widthPx, heightPx: mask.heightPx, channels: 4, data };
}
