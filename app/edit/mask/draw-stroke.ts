import type { Stroke } from "./stroke.ts";

type Context = CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D;

/** Draws a stroke in the context's present transform; erasing clears what lies below. */
export function drawStroke(context: Context, { mode, sizePx, points }: Stroke, colour: string): void {
  const [first, ...rest] = points;
  if (first === undefined) return;
  context.globalCompositeOperation = mode === "paint" ? "source-over" : "destination-out";
  context.strokeStyle = colour;
  context.lineWidth = sizePx;
  context.lineCap = "round";
  context.lineJoin = "round";
  context.beginPath();
  context.moveTo(first.x, first.y);
  // A line to itself with round caps is a dot.
  for (const point of rest.length === 0 ? [first] : rest) context.lineTo(point.x, point.y);
  context.stroke();
}
