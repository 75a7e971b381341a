"use client";
import { type RefObject, useEffect } from "react";
import { drawStroke } from "../mask/draw-stroke.ts";
import type { Stroke } from "../mask/stroke.ts";

/** Longest edge of the tint's canvas; the mask itself is drawn anew at the picture's size. */
const longestEdgePx = 2_048;

export const tintColour = "#ff5a36";

interface Props {
  readonly ref: RefObject<HTMLCanvasElement | null>;
  readonly widthPx: number;
  readonly heightPx: number;
  readonly strokes: readonly Stroke[];
}

/** Sets the context so that strokes can be drawn in px of the picture. */
export function pictureContext(canvas: HTMLCanvasElement, widthPx: number): CanvasRenderingContext2D | null {
  const context = canvas.getContext("2d");
  const scale = canvas.width / widthPx;
  context?.setTransform(scale, 0, 0, scale, 0, 0);
  return context;
}

type Picture = Pick<Props, "widthPx" | "heightPx">;

/** Draws the tint anew from strokes alone. */
export function drawTint(
  canvas: HTMLCanvasElement,
  { widthPx, heightPx }: Picture,
  strokes: readonly Stroke[],
) {
  const context = pictureContext(canvas, widthPx);
  if (context === null) return;
  context.clearRect(0, 0, widthPx, heightPx);
  for (const stroke of strokes) drawStroke(context, stroke, tintColour);
}

/** What is marked, as a tint over the picture. */
export function MaskCanvas({ ref, widthPx, heightPx, strokes }: Props) {
  const shrink = Math.min(1, longestEdgePx / Math.max(widthPx, heightPx));
  const width = Math.round(widthPx * shrink);
  const height = Math.round(heightPx * shrink);
  useEffect(() => {
    if (ref.current !== null) drawTint(ref.current, { widthPx, heightPx }, strokes);
  }, [heightPx, ref, strokes, width, widthPx]);
  return (
    <canvas
      ref={ref}
      width={width}
      height={height}
      aria-hidden
      className="pointer-events-none absolute inset-0 size-full opacity-55"
    />
  );
}
