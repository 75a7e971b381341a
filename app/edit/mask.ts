import type { Point, Stroke } from "./mask/stroke.ts";

export interface StrokeHistory {
  readonly strokes: readonly Stroke[];
  /** Taken back, the last one first in line to come again. */
  readonly undone: readonly Stroke[];
}

export type HistoryStep =
  | { readonly type: "add"; readonly stroke: Stroke }
  | { readonly type: "undo" | "redo" | "clear" };

export const emptyHistory: StrokeHistory = { strokes: [], undone: [] };

export function stepHistory(history: StrokeHistory, step: HistoryStep): StrokeHistory {
  switch (step.type) {
    case "add":
      return { strokes: [...history.strokes, step.stroke], undone: [] };
    case "undo": {
      const last = history.strokes.at(-1);
      if (last === undefined) return history;
      return { strokes: history.strokes.slice(0, -1), undone: [...history.undone, last] };
    }
    case "redo": {
      const next = history.undone.at(-1);
      if (next === undefined) return history;
      return { strokes: [...history.strokes, next], undone: history.undone.slice(0, -1) };
    }
    case "clear":
      return emptyHistory;
  }
}

/** Samples across half a brush: what is left between them is too thin to be seen. */
const samplesPerRadius = 8;
/** Half a px of the picture: an eraser of the brush's own size on its own path leaves nothing. */
const tolerancePx = 0.5;

const marked = new WeakMap<readonly Stroke[], boolean>();

/** Whether any paint is left that no later stroke erased. */
export function hasPaint({ strokes }: Pick<StrokeHistory, "strokes">): boolean {
  const known = marked.get(strokes);
  if (known !== undefined) return known;
  const isLeft = strokes.some((stroke, at) => {
    if (stroke.mode === "erase") return false;
    const erasers = strokes.slice(at + 1).filter(({ mode }) => mode === "erase");
    return erasers.length === 0 || leavesPaint(stroke, erasers);
  });
  marked.set(strokes, isLeft);
  return isLeft;
}

function leavesPaint(stroke: Stroke, erasers: readonly Stroke[]): boolean {
  const covers = erasers.map(coverOf);
  for (const sample of samplesOf(stroke)) if (!covers.some((isUnder) => isUnder(sample))) return true;
  return false;
}

/** Points on a grid over the discs of a stroke, and over those between its points where it moved fast. */
function* samplesOf({ sizePx, points }: Stroke): Generator<Point> {
  const radius = sizePx / 2;
  const stepPx = Math.max(0.5, radius / samplesPerRadius);
  const offsets: Point[] = [];
  for (let y = -radius; y <= radius; y += stepPx)
    for (let x = -radius; x <= radius; x += stepPx)
      if (x * x + y * y <= radius * radius) offsets.push({ x, y });
  for (const centre of centresOf(points, Math.max(0.5, radius / 2)))
    for (const { x, y } of offsets) yield { x: centre.x + x, y: centre.y + y };
}

function* centresOf(points: readonly Point[], stepPx: number): Generator<Point> {
  let last = points[0];
  if (last === undefined) return;
  yield last;
  for (const point of points.slice(1)) {
    const steps = Math.max(1, Math.ceil(Math.hypot(point.x - last.x, point.y - last.y) / stepPx));
    for (let step = 1; step <= steps; step += 1) {
      const part = step / steps;
      yield { x: last.x + (point.x - last.x) * part, y: last.y + (point.y - last.y) * part };
    }
    last = point;
  }
}

/** Whether a point lies under a stroke. Neighbours are asked for in turn, so the part that covered the last one comes first. */
function coverOf({ sizePx, points }: Stroke): (at: Point) => boolean {
  const reach = (sizePx / 2 + tolerancePx) ** 2;
  let last = 0;
  const isUnder = (at: Point, index: number) => {
    const to = points[index];
    return to !== undefined && distance2(at, points[index - 1] ?? to, to) <= reach;
  };
  return (at) => {
    if (isUnder(at, last)) return true;
    const found = points.findIndex((_, index) => isUnder(at, index));
    if (found !== -1) last = found;
    return found !== -1;
  };
}

/** Square of the distance from a point to the line between two others. */
function distance2(at: Point, from: Point, to: Point): number {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const length2 = dx * dx + dy * dy;
  const along = length2 === 0 ? 0 : ((at.x - from.x) * dx + (at.y - from.y) * dy) / length2;
  const part = Math.min(1, Math.max(0, along));
  return (at.x - from.x - dx * part) ** 2 + (at.y - from.y - dy * part) ** 2;
}
