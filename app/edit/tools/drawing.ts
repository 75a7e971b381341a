import { BoxSelect, Brush, Eraser, Lasso } from "lucide-react";
import { dabOf, drawSegment, noteRaster, rasterOf, type Stroke, type StrokePoint } from "../mask/marks.ts";
import { boxOf, draftOf, type Effect } from "../mask/raster.ts";
import type { Point } from "../mask/selection.ts";
import { distance } from "../../ui/zoom.ts";
import { type Gesture, type Pointed, type Surface, tapReachPx, type Tool } from "./tool.ts";

/** A stroke of the brush. What it costs to go on does not grow with its length. */
function beginStroke(surface: Surface, mode: Stroke["mode"], first: Pointed): Gesture {
  const { options, marks, size } = surface;
  const { sizePx, hardness, usesPressure } = options;
  const base = { mode: first.isEraser === true ? "erase" : mode, sizePx, hardness } as const;
  const draft = draftOf(rasterOf(marks, size));
  const hasPressure = usesPressure && first.pressure !== undefined;
  const pointOf = ({ at, pressure }: Pointed): StrokePoint =>
    hasPressure ? { ...at, pressure: pressure ?? 1 } : { ...at };
  const points: StrokePoint[] = [];
  let last = dabOf(base, pointOf(first));
  const go = (to: Pointed) => {
    const point = pointOf(to);
    const next = dabOf(base, point);
    points.push(point);
    surface.show(draft, drawSegment(draft, base, [last, next]));
    last = next;
  };
  go(first);
  return {
    move: (to, isHeld) => {
      if (isHeld) for (const each of to) go(each);
    },
    up: () => {
      const stroke: Stroke = { ...base, points };
      noteRaster([...marks, stroke], draft.done());
      surface.add(stroke);
      return true;
    },
    down: () => undefined,
    back: () => {
      surface.hide();
      return true;
    },
  };
}

export const brush: Tool = {
  id: "brush",
  command: "brush",
  icon: Brush,
  cursor: "ring",
  begin: (surface, at) => beginStroke(surface, "paint", at),
};

export const eraser: Tool = {
  id: "eraser",
  command: "eraser",
  icon: Eraser,
  cursor: "ring",
  begin: (surface, at) => beginStroke(surface, "erase", at),
};

/** Ctrl takes away and Shift adds, whatever is chosen. */
function effectOf({ options }: Surface, { shift, control }: Pointed): Effect {
  if (control) return "subtract";
  return shift ? "add" : options.effect;
}

/** A line that encloses less is a slip of the hand, in px of the picture. */
const leastSidePx = 1;

function addArea(surface: Surface, points: readonly Point[], effect: Effect): void {
  surface.outline.set([]);
  const { left, top, right, bottom } = boxOf(points);
  if (points.length > 2 && right - left >= leastSidePx && bottom - top >= leastSidePx)
    surface.add({ mode: "area", effect, points });
}

/**
 * A free line while the pointer is held, a straight one from corner to corner while it is not. It closes when a held line
 * is let go, and at a corner that is made where the first or the last one is.
 */
function beginLasso(surface: Surface, first: Pointed): Gesture {
  const effect = effectOf(surface, first);
  const points: Point[] = [];
  /** Number of points before each press. */
  const presses: number[] = [];
  const press = ({ at }: Pointed) => {
    presses.push(points.length);
    points.push(at);
    surface.outline.set(points);
  };
  const isAt = (a: Point | undefined, b: Point) =>
    a !== undefined && distance(a, b) * surface.scale <= tapReachPx;
  press(first);
  return {
    move: (to, isHeld) => {
      const last = to.at(-1);
      if (!isHeld) {
        if (last !== undefined) surface.outline.set([...points, last.at]);
        return;
      }
      for (const { at } of to) {
        points.push(at);
        surface.outline.add(at);
      }
    },
    up: ({ at }) => {
      const from = presses.at(-1) ?? 0;
      const drawn = points.slice(from);
      const isFree = drawn.some((point) => !isAt(drawn[0], point));
      const corner = points[from - 1];
      const isClosed = from > 0 && (isAt(points[0], at) || isAt(corner, at));
      if (!isFree && !isClosed) {
        points.length = from + 1;
        return false;
      }
      addArea(surface, isFree ? points : points.slice(0, from), effect);
      return true;
    },
    down: press,
    back: () => {
      points.length = presses.pop() ?? 0;
      surface.outline.set(points);
      return points.length === 0;
    },
  };
}

export const lasso: Tool = {
  id: "lasso",
  command: "lasso",
  icon: Lasso,
  cursor: "cross",
  begin: beginLasso,
};

/** The points of an ellipse lie this close at most, so that no corner is seen, in px of the picture. */
const arcPx = 2;

/** The corners of a shape, the first one again at the end. */
export function shapePoints(shape: "rectangle" | "ellipse", from: Point, to: Point): Point[] {
  if (shape === "rectangle") return [from, { x: to.x, y: from.y }, to, { x: from.x, y: to.y }, from];
  const middle = { x: (from.x + to.x) / 2, y: (from.y + to.y) / 2 };
  const [across, down] = [Math.abs(to.x - from.x) / 2, Math.abs(to.y - from.y) / 2];
  const count = Math.min(720, Math.max(24, Math.ceil((2 * Math.PI * Math.max(across, down)) / arcPx)));
  return Array.from({ length: count + 1 }, (_, at) => {
    const turn = (2 * Math.PI * at) / count;
    return { x: middle.x + across * Math.cos(turn), y: middle.y + down * Math.sin(turn) };
  });
}

/** The opposite corner with sides of one length. */
function evenCorner(from: Point, to: Point): Point {
  const side = Math.max(Math.abs(to.x - from.x), Math.abs(to.y - from.y));
  return {
    x: from.x + (to.x < from.x ? -side : side),
    y: from.y + (to.y < from.y ? -side : side),
  };
}

/** A shape from corner to corner. Shift that is pressed on the way makes its sides even. */
function beginShape(surface: Surface, first: Pointed): Gesture {
  const effect = effectOf(surface, first);
  const { shape } = surface.options;
  let wasReleased = !first.shift;
  const pointsTo = ({ at, shift }: Pointed) => {
    wasReleased ||= !shift;
    return shapePoints(shape, first.at, shift && wasReleased ? evenCorner(first.at, at) : at);
  };
  return {
    move: (to) => {
      const last = to.at(-1);
      if (last !== undefined) surface.outline.set(pointsTo(last));
    },
    up: (at) => {
      // A click is the first corner, and the next one the opposite.
      if (distance(first.at, at.at) * surface.scale <= tapReachPx) return false;
      addArea(surface, pointsTo(at), effect);
      return true;
    },
    down: () => undefined,
    back: () => {
      surface.outline.set([]);
      return true;
    },
  };
}

export const shape: Tool = {
  id: "shape",
  command: "shape",
  icon: BoxSelect,
  cursor: "cross",
  begin: beginShape,
};
