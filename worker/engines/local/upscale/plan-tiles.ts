import type { Size } from "../raster/grid.ts";

/** A square part of the input, and the same with the overlap that the network needs to see. */
export interface Tile {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly padded: {
    readonly x: number;
    readonly y: number;
    readonly width: number;
    readonly height: number;
  };
}

const sidesPx = [256, 192, 128, 96, 64, 48, 32, 16, 8, 4, 2, 1];
const overlapPx = 12;
/** So many tiles at least, so that the progress of a small picture moves as well. */
const fewestTiles = 6;

export function planTiles(size: Size): readonly Tile[] {
  const countAt = (side: number) => Math.ceil(size.width / side) * Math.ceil(size.height / side);
  const side = sidesPx.find((px) => countAt(px) >= fewestTiles) ?? 1;
  const tiles: Tile[] = [];
  for (let y = 0; y < size.height; y += side) {
    for (let x = 0; x < size.width; x += side) tiles.push(tileAt(size, { x, y }, side));
  }
  return tiles;
}

function tileAt(size: Size, { x, y }: { x: number; y: number }, side: number): Tile {
  const left = Math.max(0, x - overlapPx);
  const top = Math.max(0, y - overlapPx);
  const right = Math.min(size.width, x + side + overlapPx);
  const bottom = Math.min(size.height, y + side + overlapPx);
  return {
    x,
    y,
    width: Math.min(side, size.width - x),
    height: Math.min(side, size.height - y),
    padded: { x: left, y: top, width: right - left, height: bottom - top },
  };
}
