import type { ImageView } from "@atelier/server/images";
import { type Dab, drawLine, drawPolygon } from "./draw.ts";
import { featherRaster, growRaster, isMarked, shrinkRaster } from "./edges.ts";
import { type Draft, draftOf, type Effect, emptyRaster, mapBox, type Raster, type Size } from "./raster.ts";
import { drawSelection, type Point, type Selection } from "./selection.ts";

/** A place of the brush, in px of the picture. */
export interface StrokePoint extends Point {
  /** Of a pen, from 0 to 1; missing where the device knows none. */
  readonly pressure?: number;
}

/** One movement of the brush or eraser. A single point is a dot. */
export interface Stroke {
  readonly mode: "paint" | "erase";
  /** Diameter in px of the picture, at full pressure. */
  readonly sizePx: number;
  /** From 0, which fades from the middle, to 1, a sharp edge, as without it. */
  readonly hardness?: number;
  readonly points: readonly StrokePoint[];
}

/** An area that a closed line encloses. */
export interface Area {
  readonly mode: "area";
  readonly effect: Effect;
  readonly points: readonly Point[];
}

/** What is done with all that was marked before. */
type Change =
  | { readonly mode: "all" | "none" | "invert" }
  | { readonly mode: "grow" | "shrink" | "feather"; readonly px: number };

/**
 * One step of the mask, on top of those before it. A selection by clicks takes the place of the one before, as the clicks of
 * that are among its own, and lies under what was drawn since; a change closes what was before it, so that a later click
 * begins a new one.
 */
export type Mark = Stroke | Area | Selection | Change;

export const markModes = {
  paint: true,
  erase: true,
  area: true,
  select: true,
  all: true,
  none: true,
  invert: true,
  grow: true,
  shrink: true,
  feather: true,
} as const satisfies Record<Mark["mode"], true>;

function isChange(mark: Mark): mark is Change {
  return !(mark.mode === "select" || mark.mode === "area" || isStroke(mark));
}

function isStroke(mark: Mark): mark is Stroke {
  return mark.mode === "paint" || mark.mode === "erase";
}

export function isByClicks(mark: Mark): mark is Selection {
  return mark.mode === "select" && mark.clicks.length > 0;
}

/** The selection that a further click adds to. */
export function selectionOf(marks: readonly Mark[]): Selection | null {
  const mark = marks.findLast((each) => isByClicks(each) || isChange(each));
  return mark !== undefined && isByClicks(mark) ? mark : null;
}

/** The marks in the order in which they are drawn, without selections that were replaced. */
function inDrawingOrder(marks: readonly Mark[]): readonly Mark[] {
  if (!marks.some(isByClicks)) return marks;
  const parts: Mark[][] = [[]];
  for (const mark of marks) {
    if (isChange(mark)) parts.push([]);
    parts.at(-1)?.push(mark);
  }
  return parts.flatMap((part) => {
    const change = part.filter(isChange);
    const selection = part.findLast(isByClicks);
    const drawn = part.filter((mark) => !isChange(mark) && !isByClicks(mark));
    return [...change, ...(selection === undefined ? [] : [selection]), ...drawn];
  });
}

/** A pen that is hardly pressed still draws this part of the size. */
const leastPart = 0.15;

/** The brush of a stroke at one of its points. */
export function dabOf({ sizePx }: Pick<Stroke, "sizePx">, { x, y, pressure }: StrokePoint): Dab {
  const part = pressure === undefined ? 1 : leastPart + (1 - leastPart) * pressure;
  return { x, y, radiusPx: (sizePx / 2) * part };
}

/** Draws from one point of a stroke to the next. */
export function drawSegment(draft: Draft, stroke: Omit<Stroke, "points">, [from, to]: readonly [Dab, Dab]) {
  const effect = stroke.mode === "erase" ? "subtract" : "add";
  return drawLine(draft, { from, to, hardness: stroke.hardness ?? 1, effect });
}

function drawStroke(raster: Raster, stroke: Stroke): Raster {
  const draft = draftOf(raster);
  const dabs = stroke.points.map((point) => dabOf(stroke, point));
  for (const [at, to] of dabs.entries()) drawSegment(draft, stroke, [dabs[at - 1] ?? to, to]);
  return draft.done();
}

function fill(raster: Raster, next: (before: number) => number): Raster {
  const box = { left: 0, top: 0, right: raster.widthPx, bottom: raster.heightPx };
  return mapBox(raster, box, (_, before) => next(before));
}

function draw(raster: Raster, mark: Mark): Raster {
  switch (mark.mode) {
    case "paint":
    case "erase":
      return drawStroke(raster, mark);
    case "area": {
      const draft = draftOf(raster);
      drawPolygon(draft, mark.points, mark.effect);
      return draft.done();
    }
    case "select":
      return drawSelection(raster, mark);
    case "all":
      return fill(raster, () => 255);
    case "none":
      return emptyRaster(raster);
    case "invert":
      return fill(raster, (before) => 255 - before);
    case "grow":
      return growRaster(raster, mark.px);
    case "shrink":
      return shrinkRaster(raster, mark.px);
    case "feather":
      return featherRaster(raster, mark.px);
  }
}

/** What the marks up to one of them look like. */
interface Node {
  raster: Raster | null;
  readonly after: WeakMap<Mark, Node>;
}

/** By the size of the picture. Marks never change, so that a list of marks looks the same whenever it is drawn. */
const roots = new Map<string, Node>();

/** The nodes whose raster is kept, the last used one last. */
const kept = new Set<Node>();

/** So much memory the rasters take at most, if none shared a tile; a few are kept of the largest pictures, too. */
const mostKeptBytes = 160_000_000;
const mostKept = ({ widthPx, heightPx }: Size) =>
  Math.min(40, Math.max(4, Math.floor(mostKeptBytes / (widthPx * heightPx))));

function keep(node: Node, raster: Raster): Raster {
  node.raster = raster;
  kept.delete(node);
  kept.add(node);
  const [oldest] = kept;
  if (kept.size > mostKept(raster) && oldest !== undefined) {
    oldest.raster = null;
    kept.delete(oldest);
  }
  return raster;
}

function nodesOf(marks: readonly Mark[], { widthPx, heightPx }: Size): Node[] {
  const name = `${widthPx} ${heightPx}`;
  const root = roots.get(name) ?? { raster: emptyRaster({ widthPx, heightPx }), after: new WeakMap() };
  roots.set(name, root);
  const nodes = [root];
  let node = root;
  for (const mark of marks) {
    const next = node.after.get(mark) ?? { raster: null, after: new WeakMap<Mark, Node>() };
    node.after.set(mark, next);
    nodes.push(next);
    node = next;
  }
  return nodes;
}

/** What the marks are together; what was drawn lately is not drawn again. */
export function rasterOf(marks: readonly Mark[], size: Size): Raster {
  const ordered = inDrawingOrder(marks);
  const nodes = nodesOf(ordered, size);
  const known = nodes.findLastIndex(({ raster }) => raster !== null);
  const start = nodes[known]?.raster ?? emptyRaster(size);
  return nodes.slice(known).reduce((raster, node, at) => {
    const mark = at === 0 ? undefined : ordered[known + at - 1];
    return mark === undefined ? raster : keep(node, draw(raster, mark));
  }, start);
}

/** Says what the marks are together, where that was drawn already. */
export function noteRaster(marks: readonly Mark[], raster: Raster): void {
  const node = nodesOf(inDrawingOrder(marks), raster).at(-1);
  if (node !== undefined && marks.length > 0) keep(node, raster);
}

/** Whether something of the picture is marked. */
export function hasPaint(
  { marks }: Pick<MarkHistory, "marks">,
  { widthPx, heightPx }: Pick<ImageView, "widthPx" | "heightPx">,
): boolean {
  return marks.length > 0 && isMarked(rasterOf(marks, { widthPx, heightPx }));
}

export interface MarkHistory {
  readonly marks: readonly Mark[];
  /** Strokes that were undone; redo takes the last one. */
  readonly undone: readonly Mark[];
}

export type HistoryStep = { readonly type: "add"; readonly mark: Mark } | { readonly type: "undo" | "redo" };

export const emptyHistory: MarkHistory = { marks: [], undone: [] };

export function stepHistory(history: MarkHistory, step: HistoryStep): MarkHistory {
  switch (step.type) {
    case "add":
      return { marks: [...history.marks, step.mark], undone: [] };
    case "undo": {
      const last = history.marks.at(-1);
      if (last === undefined) return history;
      return { marks: history.marks.slice(0, -1), undone: [...history.undone, last] };
    }
    case "redo": {
      const next = history.undone.at(-1);
      if (next === undefined) return history;
      return { marks: [...history.marks, next], undone: history.undone.slice(0, -1) };
    }
  }
}
