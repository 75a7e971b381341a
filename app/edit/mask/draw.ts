import { type Box, boxOf, clip, type Draft, type Effect, mix } from "./raster.ts";
import type { Point } from "./selection.ts";

/** A place of a brush. */
export interface Dab extends Point {
  readonly radiusPx: number;
}

export interface Line {
  readonly from: Dab;
  readonly to: Dab;
  /** 1 is an edge of one px, 0 fades from the middle. */
  readonly hardness: number;
  readonly effect: Effect;
}

/** The columns of a row that a brush of one size reaches along a line; empty when `left` is right of `right`. */
function spanOf({ from, to }: Pick<Line, "from" | "to">, radius: number, middle: number) {
  let [left, right] = [Infinity, -Infinity];
  const widen = (x: number, reach: number) => {
    left = Math.min(left, x - reach);
    right = Math.max(right, x + reach);
  };
  for (const { x, y } of [from, to]) {
    const rest = radius * radius - (middle - y) ** 2;
    if (rest > 0) widen(x, Math.sqrt(rest));
  }
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const length = Math.hypot(dx, dy);
  if (length === 0) return { left, right };
  // The sides of the brush's way: both ends, moved by the radius at right angles.
  const [nx, ny] = [(-dy / length) * radius, (dx / length) * radius];
  const corners = [
    { x: from.x + nx, y: from.y + ny },
    { x: to.x + nx, y: to.y + ny },
    { x: to.x - nx, y: to.y - ny },
    { x: from.x - nx, y: from.y - ny },
  ] as const;
  for (const [at, corner] of corners.entries()) {
    const next = corners[(at + 1) % 4] ?? corner;
    const part = (middle - corner.y) / (next.y - corner.y);
    if (part >= 0 && part <= 1) widen(corner.x + (next.x - corner.x) * part, 0);
  }
  return { left, right };
}

/**
 * Draws a brush along a line, and returns the box that it changed. Drawing the same line twice changes nothing more, so a
 * stroke in parts is the stroke in one.
 */
export function drawLine(draft: Draft, line: Line): Box {
  const { from, to, hardness, effect } = line;
  const [least, most] = [Math.min(from.radiusPx, to.radiusPx), Math.max(from.radiusPx, to.radiusPx)];
  const box = {
    left: Math.min(from.x, to.x) - most - 1,
    top: Math.min(from.y, to.y) - most - 1,
    right: Math.max(from.x, to.x) + most + 1,
    bottom: Math.max(from.y, to.y) + most + 1,
  };
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const length2 = dx * dx + dy * dy;
  const grown = to.radiusPx - from.radiusPx;
  const inside = Math.max(0, least * hardness - 0.5);
  draft.each(box, ({ tile, at, x, y, length }) => {
    const middle = y + 0.5;
    const py = middle - from.y;
    const place = (edge: number) => Math.min(length, Math.max(0, edge - x - 0.5));
    const outer = spanOf(line, most + 0.5, middle);
    const [first, end] = [Math.floor(place(outer.left)), Math.ceil(place(outer.right)) + 1];
    const full = spanOf(line, inside, middle);
    const [fullFirst, fullEnd] = [Math.ceil(place(full.left)), Math.floor(place(full.right))];
    if (fullFirst < fullEnd) tile.fill(effect === "add" ? 255 : 0, at + fullFirst, at + fullEnd);
    for (let step = first; step < Math.min(length, end); step += 1) {
      if (step === fullFirst && fullFirst < fullEnd) step = fullEnd;
      if (step >= length) break;
      const px = x + step + 0.5 - from.x;
      const along = length2 === 0 ? 0 : Math.min(1, Math.max(0, (px * dx + py * dy) / length2));
      const radius = from.radiusPx + grown * along;
      const reach = radius + 0.5;
      const [ex, ey] = [px - dx * along, py - dy * along];
      const distance2 = ex * ex + ey * ey;
      if (distance2 >= reach * reach) continue;
      const inner = Math.max(0, radius * hardness - 0.5);
      const part = distance2 <= inner * inner ? 0 : (Math.sqrt(distance2) - inner) / (reach - inner);
      mix(tile, at + step, Math.round(255 * (1 - part * part * (3 - 2 * part))), effect);
    }
  });
  return box;
}

/** Rows that are looked at in each px, so that slanted edges are smooth. */
const rowsPerPx = 4;

interface Crossing {
  readonly x: number;
  readonly turn: 1 | -1;
}

/** Where the sides of a polygon cross rows of the picture, from the left; by number of the row, `rowsPerPx` in each px. */
function crossingsOf(points: readonly Point[], { top, bottom }: Box): Map<number, Crossing[]> {
  const rows = new Map<number, Crossing[]>();
  for (const [index, from] of points.entries()) {
    const to = points[(index + 1) % points.length] ?? from;
    const [upper, lower] = from.y < to.y ? [from, to] : [to, from];
    const first = Math.max(top * rowsPerPx, Math.ceil(upper.y * rowsPerPx - 0.5));
    const end = Math.min(bottom * rowsPerPx, Math.ceil(lower.y * rowsPerPx - 0.5));
    for (let row = first; row < end; row += 1) {
      const along = ((row + 0.5) / rowsPerPx - upper.y) / (lower.y - upper.y);
      const crossing: Crossing = { x: upper.x + (lower.x - upper.x) * along, turn: from.y < to.y ? 1 : -1 };
      const known = rows.get(row);
      if (known === undefined) rows.set(row, [crossing]);
      else known.push(crossing);
    }
  }
  for (const crossings of rows.values()) crossings.sort((a, b) => a.x - b.x);
  return rows;
}

/** Adds a piece of a row, from `left` to `right`, to how much of each px is covered. */
function cover(parts: Float32Array, left: number, right: number, weight: number): void {
  const [from, to] = [Math.max(0, left), Math.min(parts.length, right)];
  if (from >= to) return;
  const [first, last] = [Math.floor(from), Math.min(parts.length - 1, Math.floor(to))];
  if (first === last) parts[first] = (parts[first] ?? 0) + weight * (to - from);
  else {
    parts[first] = (parts[first] ?? 0) + weight * (first + 1 - from);
    for (let x = first + 1; x < last; x += 1) parts[x] = (parts[x] ?? 0) + weight;
    parts[last] = (parts[last] ?? 0) + weight * (to - last);
  }
}

/** Fills a closed line. Where it crosses itself, all that it encloses is filled. */
export function drawPolygon(draft: Draft, points: readonly Point[], effect: Effect): Box {
  const box = boxOf(points);
  const part = clip(box, draft.size);
  if (part === null) return box;
  const crossings = crossingsOf(points, part);
  const covered = new Float32Array(draft.size.widthPx);
  let coveredRow = -1;
  const coverRow = (y: number) => {
    covered.fill(0);
    coveredRow = y;
    for (let row = y * rowsPerPx; row < (y + 1) * rowsPerPx; row += 1) {
      let turns = 0;
      let since = 0;
      for (const { x, turn } of crossings.get(row) ?? []) {
        if (turns === 0) since = x;
        turns += turn;
        if (turns === 0) cover(covered, since, x, 1 / rowsPerPx);
      }
    }
  };
  draft.each(part, ({ tile, at, x, y, length }) => {
    if (coveredRow !== y) coverRow(y);
    for (let step = 0; step < length; step += 1) {
      const grey = Math.round((covered[x + step] ?? 0) * 255);
      if (grey > 0) mix(tile, at + step, grey, effect);
    }
  });
  return part;
}
