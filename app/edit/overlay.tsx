"use client";
import { type ReactNode, type RefObject, useEffect, useImperativeHandle, useRef } from "react";
import type { ImageView } from "@atelier/server/images";
import { type Mark, rasterOf } from "./mask/marks.ts";
import { type Box, type Raster, readRow, type Size, tileBox } from "./mask/raster.ts";
import type { Point } from "./mask/selection.ts";
import type { Outline } from "./tools/tool.ts";

/** Longest edge of the tint's canvas; the mask itself has the picture's size. */
const longestEdgePx = 2_048;

/** Size of a canvas for the mask of a picture. */
export function tintSize({ widthPx, heightPx }: Size): { readonly width: number; readonly height: number } {
  const shrink = Math.min(1, longestEdgePx / Math.max(widthPx, heightPx));
  return { width: Math.round(widthPx * shrink), height: Math.round(heightPx * shrink) };
}

/** #ff5a36 without its opacity, as the bytes of a canvas lie in a number. */
const colour = 0x36_5a_ff;

/** Draws a part of the mask, which is given in px of the picture, as a tint. */
function paintTint(canvas: HTMLCanvasElement, raster: Raster, box: Box): void {
  const scale = canvas.width / raster.widthPx;
  const left = Math.max(0, Math.floor(box.left * scale));
  const top = Math.max(0, Math.floor(box.top * scale));
  const width = Math.min(canvas.width, Math.ceil(box.right * scale)) - left;
  const height = Math.min(canvas.height, Math.ceil(box.bottom * scale)) - top;
  if (width <= 0 || height <= 0) return;
  const placeOf = (place: number, most: number) => Math.min(most - 1, Math.floor((place + 0.5) / scale));
  const columns = Int32Array.from({ length: width }, (_, x) => placeOf(left + x, raster.widthPx));
  const greys = new Uint8Array(width);
  const pixels = new Uint32Array(width * height);
  for (let y = 0; y < height; y += 1) {
    readRow(raster, placeOf(top + y, raster.heightPx), columns, greys);
    for (let x = 0; x < width; x += 1) pixels[y * width + x] = ((greys[x] ?? 0) << 24) | colour;
  }
  const image = new ImageData(new Uint8ClampedArray(pixels.buffer), width, height);
  canvas.getContext("2d")?.putImageData(image, left, top);
}

/** Draws what differs from the mask that the canvas shows; all of it where that is not known. */
export function paintChanged(canvas: HTMLCanvasElement, shown: Raster | null, raster: Raster): void {
  for (const [at, tile] of raster.tiles.entries())
    if (shown === null || tile !== shown.tiles[at]) paintTint(canvas, raster, tileBox(raster, at));
}

/** Draws on the tint without a render of the page. */
export interface Tint {
  readonly paint: (raster: Raster, box: Box) => void;
  /** Shows the mask of the marks again. */
  readonly reset: () => void;
}

interface MaskTintProps {
  readonly ref: RefObject<Tint | null>;
  readonly image: ImageView;
  readonly marks: readonly Mark[];
}

/** The mask as a tint over the picture. */
export function MaskTint({ ref, image, marks }: MaskTintProps) {
  const { widthPx, heightPx } = image;
  const canvas = useRef<HTMLCanvasElement>(null);
  const shown = useRef<Raster | null>(null);
  const raster = rasterOf(marks, { widthPx, heightPx });
  useEffect(() => {
    if (canvas.current === null) return;
    paintChanged(canvas.current, shown.current, raster);
    shown.current = raster;
  }, [raster]);
  useImperativeHandle(
    ref,
    () => ({
      paint: (drawn, box) => {
        if (canvas.current !== null) paintTint(canvas.current, drawn, box);
      },
      reset: () => {
        if (canvas.current !== null) paintChanged(canvas.current, null, raster);
      },
    }),
    [raster],
  );
  return (
    <canvas
      ref={canvas}
      {...tintSize(image)}
      aria-hidden
      className="pointer-events-none absolute inset-0 size-full opacity-55"
    />
  );
}

const lineStyle = { fill: "none", vectorEffect: "non-scaling-stroke" } as const;

/** The line that is being drawn, in black and white so that it is visible on any picture. */
export function OutlineLayer({
  ref,
  size,
}: {
  readonly ref: RefObject<Outline | null>;
  readonly size: Size;
}) {
  const svg = useRef<SVGSVGElement>(null);
  useImperativeHandle(ref, () => {
    const lines = () => [...(svg.current?.querySelectorAll("polyline") ?? [])];
    const append = (line: SVGPolylineElement, { x, y }: Point) => {
      const point = svg.current?.createSVGPoint();
      if (point === undefined) return;
      Object.assign(point, { x, y });
      line.points.appendItem(point);
    };
    return {
      add: (point) => {
        for (const line of lines()) append(line, point);
      },
      set: (points) => {
        for (const line of lines()) {
          line.points.clear();
          for (const point of points) append(line, point);
        }
      },
    };
  }, []);
  return (
    <svg
      ref={svg}
      aria-hidden
      viewBox={`0 0 ${size.widthPx} ${size.heightPx}`}
      className="pointer-events-none absolute inset-0 size-full overflow-visible"
    >
      <polyline {...lineStyle} stroke="#fff" strokeWidth={3} />
      <polyline {...lineStyle} stroke="#000" strokeWidth={1.25} strokeDasharray="4 3" />
    </svg>
  );
}

/** Places the ring without a render of the page; null hides it. In CSS px of the stage. */
export type PlaceRing = (at: Point | null) => void;

interface RingProps {
  readonly ref: RefObject<PlaceRing | null>;
  readonly diameterPx: number;
  /** Where the keyboard is; null while a pointer is used. */
  readonly at: Point | null;
}

/** Outline of the brush, in black and white so that it is visible on any picture. */
export function BrushRing({ ref, diameterPx, at }: RingProps): ReactNode {
  const ring = useRef<HTMLSpanElement>(null);
  useImperativeHandle(ref, () => (place) => put(ring.current, place), []);
  useEffect(() => {
    put(ring.current, at);
  }, [at]);
  return (
    <span ref={ring} aria-hidden className="pointer-events-none absolute top-0 left-0" hidden>
      <span
        className="absolute top-0 left-0 -translate-1/2 rounded-full border border-white shadow-[0_0_0_1px_rgb(0_0_0/70%),inset_0_0_0_1px_rgb(0_0_0/70%)]"
        style={{ width: diameterPx, height: diameterPx }}
      />
    </span>
  );
}

function put(ring: HTMLElement | null, at: Point | null): void {
  if (ring === null) return;
  ring.hidden = at === null;
  if (at !== null) ring.style.transform = `translate(${at.x}px, ${at.y}px)`;
}
