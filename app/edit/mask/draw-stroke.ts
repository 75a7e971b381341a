import type { Stroke } from "./stroke.ts";

type Context = CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D;

/** Draws a stroke in the context's present transform; erasing clears what lies below. */
export function drawStroke(context: Context, { mode, sizePx, points }: Stroke, colour: string): void {
  const [first, ...rest] = points;
  if (first === undefined) return;
  context.globalCompositeOperation = mode === "paint" ? "source-over" : "destination-out";
  context.fillStyle = colour;
  context.strokeStyle = colour;
  context.lineWidth = sizePx;
  context.lineCap = "round";
  context.lineJoin = "round";
  // A canvas draws no line without length, so a single touch needs its dot.
  context.beginPath();
  context.arc(first.x, first.y, sizePx / 2, 0, 2 * Math.PI);
  context.fill();
  context.beginPath();
  context.moveTo(first.x, first.y);
  for (const point of rest) context.lineTo(point.x, point.y);
  context.stroke();
}
