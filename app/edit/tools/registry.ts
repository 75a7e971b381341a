import { Hand, MousePointerClick } from "lucide-react";
import type { Point } from "../mask/selection.ts";
import type { ToolId } from "../session.ts";
import { brush, eraser, lasso, shape, shapePoints } from "./drawing.ts";
import { distance } from "../../ui/zoom.ts";
import { type Gesture, type Pointed, type Surface, tapReachPx, type Tool } from "./tool.ts";

const nothing = () => undefined;

const pan: Tool = {
  id: "pan",
  command: "pan",
  icon: Hand,
  cursor: "move",
  begin: (surface, first) => beginPan(surface, first),
};

/** The picture follows the pointer. */
function beginPan(surface: Surface, first: Pointed): Gesture {
  let from = first.onStage;
  return {
    move: (to, isHeld) => {
      const last = to.at(-1);
      if (!isHeld || last === undefined) return;
      surface.pan(last.onStage.x - from.x, last.onStage.y - from.y);
      from = last.onStage;
    },
    up: () => true,
    down: nothing,
    back: () => true,
  };
}

const outlineBox = ({ outline }: Surface, from: Point, to: Point) =>
  outline.set(shapePoints("rectangle", from, to));

function selectBox({ outline, select }: Surface, from: Point, to: Point): void {
  outline.set([]);
  select?.box({
    left: Math.min(from.x, to.x),
    top: Math.min(from.y, to.y),
    right: Math.max(from.x, to.x),
    bottom: Math.max(from.y, to.y),
  });
}

/** A box from corner to corner: dragged, or by two clicks. */
function beginBox(surface: Surface, first: Pointed): Gesture {
  return {
    move: (to) => {
      const last = to.at(-1);
      if (last !== undefined) outlineBox(surface, first.at, last.at);
    },
    up: ({ at }) => {
      if (distance(first.at, at) * surface.scale <= tapReachPx) return false;
      selectBox(surface, first.at, at);
      return true;
    },
    down: nothing,
    back: () => {
      surface.outline.set([]);
      return true;
    },
  };
}

/** A click selects what is there, with Shift it leaves it out; a box selects the main thing in it, where an engine can. */
function beginClick(surface: Surface, first: Pointed): Gesture {
  const { select } = surface;
  const drag = select?.takesBox === true ? null : beginPan(surface, first);
  let isFar = false;
  return {
    move: (to, isHeld) => {
      const last = to.at(-1);
      if (last === undefined) return;
      isFar ||= distance(first.onStage, last.onStage) > tapReachPx;
      if (!isFar) return;
      if (drag === null) outlineBox(surface, first.at, last.at);
      else drag.move(to, isHeld);
    },
    up: ({ at }) => {
      if (!isFar) select?.click(first.at, first.shift);
      else if (drag === null) selectBox(surface, first.at, at);
      return true;
    },
    down: nothing,
    back: () => {
      surface.outline.set([]);
      return true;
    },
  };
}

function beginSelect(surface: Surface, first: Pointed): Gesture {
  const { select, options } = surface;
  const isByCorners = options.clickMode === "box" || select?.takesClicks === false;
  return isByCorners && select?.takesBox === true ? beginBox(surface, first) : beginClick(surface, first);
}

const select: Tool = {
  id: "select",
  command: "select",
  icon: MousePointerClick,
  cursor: "cross",
  begin: beginSelect,
};

/** In the order of the column. */
export const tools: readonly Tool[] = [pan, brush, eraser, lasso, shape, select];

export function toolOf(id: ToolId): Tool {
  return tools.find((tool) => tool.id === id) ?? pan;
}
