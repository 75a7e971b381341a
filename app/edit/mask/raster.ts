import type { Point } from "./selection.ts";

/**
 * A mask as tiles of grey bytes, 255 = marked. A raster never changes: drawing makes a new one that shares all tiles that it
 * did not touch. So undo costs nothing, and what a pointer draws costs as much as the pixels under it.
 */
export interface Raster extends Size {
  /** Row by row; null where nothing is marked. */
  readonly tiles: readonly Tile[];
}

export interface Size {
  readonly widthPx: number;
  readonly heightPx: number;
}

/** Rows of grey bytes; at the right and lower edge of the picture a tile is smaller. */
type Tile = Uint8Array<ArrayBuffer> | null;

/** In px of the picture; right and bottom are the first ones outside. */
export interface Box {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

const tilePx = 256;

const columnsOf = ({ widthPx }: Size) => Math.ceil(widthPx / tilePx);
const rowsOf = ({ heightPx }: Size) => Math.ceil(heightPx / tilePx);

export function emptyRaster({ widthPx, heightPx }: Size): Raster {
  const size = { widthPx, heightPx };
  return { ...size, tiles: Array.from<Tile>({ length: columnsOf(size) * rowsOf(size) }).fill(null) };
}

export function tileBox(size: Size, at: number): Box {
  const columns = columnsOf(size);
  const [left, top] = [(at % columns) * tilePx, Math.floor(at / columns) * tilePx];
  return {
    left,
    top,
    right: Math.min(size.widthPx, left + tilePx),
    bottom: Math.min(size.heightPx, top + tilePx),
  };
}

/** Whole px of the picture that a box reaches; null when it lies beside the picture. */
export function clip(box: Box, { widthPx, heightPx }: Size): Box | null {
  const left = Math.max(0, Math.floor(box.left));
  const top = Math.max(0, Math.floor(box.top));
  const right = Math.min(widthPx, Math.ceil(box.right));
  const bottom = Math.min(heightPx, Math.ceil(box.bottom));
  return left < right && top < bottom ? { left, top, right, bottom } : null;
}

/** `add` keeps the stronger of what is there and what is drawn; `subtract` takes away what is drawn. */
export type Effect = "add" | "subtract";

/** Part of a row of a tile: px `x` to `x + length` of the picture's row `y` are `tile[at]` and what follows. */
interface Run {
  readonly tile: Uint8Array;
  readonly at: number;
  readonly x: number;
  readonly y: number;
  readonly length: number;
}

/** A raster that is being drawn on. */
export interface Draft {
  readonly size: Size;
  /** Calls `draw` for each part of a row below the box; the tiles may be written. */
  readonly each: (box: Box, draw: (run: Run) => void) => void;
  /** What is drawn so far; the draft must not be drawn on afterwards. */
  readonly done: () => Raster;
  readonly read: () => Raster;
}

/** Begins to draw on a copy, of which only the tiles that are reached are copied. */
export function draftOf(raster: Raster): Draft {
  const tiles = [...raster.tiles];
  const own = new Set<number>();
  const size = { widthPx: raster.widthPx, heightPx: raster.heightPx };
  const columns = columnsOf(size);
  function writable(at: number, box: Box): Uint8Array<ArrayBuffer> {
    const known = tiles[at] ?? null;
    if (known !== null && own.has(at)) return known;
    own.add(at);
    const length = (box.right - box.left) * (box.bottom - box.top);
    const tile = known === null ? new Uint8Array(length) : known.slice();
    tiles[at] = tile;
    return tile;
  }
  function each(box: Box, draw: (run: Run) => void): void {
    const part = clip(box, size);
    if (part === null) return;
    for (let row = Math.floor(part.top / tilePx); row * tilePx < part.bottom; row += 1)
      for (let column = Math.floor(part.left / tilePx); column * tilePx < part.right; column += 1) {
        const index = row * columns + column;
        const whole = tileBox(size, index);
        const tile = writable(index, whole);
        const x = Math.max(part.left, whole.left);
        const length = Math.min(part.right, whole.right) - x;
        const bottom = Math.min(part.bottom, whole.bottom);
        for (let y = Math.max(part.top, whole.top); y < bottom; y += 1) {
          const at = (y - whole.top) * (whole.right - whole.left) + x - whole.left;
          draw({ tile, at, x, y, length });
        }
      }
  }
  return {
    size,
    each,
    read: () => ({ ...size, tiles }),
    done: () => {
      for (const at of own) if (!tiles[at]?.some((grey) => grey > 0)) tiles[at] = null;
      return { ...size, tiles };
    },
  };
}

/** Draws one px of a tile. */
export function mix(tile: Uint8Array, at: number, grey: number, effect: Effect): void {
  const before = tile[at] ?? 0;
  tile[at] = effect === "add" ? Math.max(before, grey) : Math.min(before, 255 - grey);
}

export function boxOf(points: readonly Point[]): Box {
  const [xs, ys] = [points.map(({ x }) => x), points.map(({ y }) => y)];
  const least = (values: readonly number[]) => values.reduce((a, b) => Math.min(a, b), Infinity);
  const most = (values: readonly number[]) => values.reduce((a, b) => Math.max(a, b), -Infinity);
  return { left: least(xs), top: least(ys), right: most(xs), bottom: most(ys) };
}

/** The part of the picture in which something may be marked, and `marginPx` around it; null when nothing is. */
export function usedBox({ tiles, ...size }: Raster, marginPx: number): Box | null {
  const used = tiles.flatMap((tile, at) => (tile === null ? [] : [tileBox(size, at)]));
  if (used.length === 0) return null;
  const around = boxOf(
    used.flatMap(({ left, top, right, bottom }) => [
      { x: left - marginPx, y: top - marginPx },
      { x: right + marginPx, y: bottom + marginPx },
    ]),
  );
  return clip(around, size);
}

/** Each px in a box of whole px becomes what `next` says of its place in the box, row by row, and of its grey. */
export function mapBox(raster: Raster, box: Box, next: (at: number, before: number) => number): Raster {
  const draft = draftOf(raster);
  draft.each(box, ({ tile, at, x, y, length }) => {
    const from = (y - box.top) * (box.right - box.left) + x - box.left;
    for (let step = 0; step < length; step += 1) tile[at + step] = next(from + step, tile[at + step] ?? 0);
  });
  return draft.done();
}

/** The greys at some columns of a row of the picture, all inside of it; written to `into`. */
export function readRow({ tiles, ...size }: Raster, y: number, columns: Int32Array, into: Uint8Array): void {
  const first = Math.floor(y / tilePx) * columnsOf(size);
  let known = -1;
  let tile: Tile = null;
  let offset = 0;
  for (let at = 0; at < columns.length; at += 1) {
    const x = columns[at] ?? 0;
    const index = first + Math.floor(x / tilePx);
    if (index !== known) {
      known = index;
      tile = tiles[index] ?? null;
      const { left, top, right } = tileBox(size, index);
      offset = (y - top) * (right - left) - left;
    }
    into[at] = tile === null ? 0 : (tile[offset + x] ?? 0);
  }
}

/** The greys of the whole picture, in bands of whole rows from the top. */
export function* bandsOf(raster: Raster): Generator<Uint8Array<ArrayBuffer>> {
  const { widthPx, heightPx } = raster;
  const columns = Int32Array.from({ length: widthPx }, (_, x) => x);
  for (let top = 0; top < heightPx; top += tilePx) {
    const rows = Math.min(tilePx, heightPx - top);
    const band = new Uint8Array(widthPx * rows);
    for (let y = 0; y < rows; y += 1)
      readRow(raster, top + y, columns, band.subarray(y * widthPx, (y + 1) * widthPx));
    yield band;
  }
}
