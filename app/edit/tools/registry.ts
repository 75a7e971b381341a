import { Hand, MousePointerClick } from "lucide-react";
import type { ToolId } from "../session.ts";
import { brush, eraser, lasso, shape, shapePoints } from "./drawing.ts";
import { distance, type Gesture, type Pointed, type Surface, tapReachPx, type Tool } from "./tool.ts";

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

/** A click selects what is there, with Shift it leaves it out; a box selects the main thing in it, where an engine can. */
function beginSelect(surface: Surface, first: Pointed): Gesture {
  const { select } = surface;
  const drag = select?.takesBox === true ? null : beginPan(surface, first);
  let isFar = false;
  return {
    move: (to, isHeld) => {
      const last = to.at(-1);
      if (last === undefined) return;
      isFar ||= distance(first.onStage, last.onStage) > tapReachPx;
      if (!isFar) return;
      if (drag === null) surface.outline.set(shapePoints("rectangle", first.at, last.at));
      else drag.move(to, isHeld);
    },
    up: ({ at }) => {
      surface.outline.set([]);
      if (!isFar) select?.click(first.at, first.shift);
      else if (drag === null)
        select?.box({
          left: Math.min(first.at.x, at.x),
          top: Math.min(first.at.y, at.y),
          right: Math.max(first.at.x, at.x),
          bottom: Math.max(first.at.y, at.y),
        });
      return true;
    },
    down: nothing,
    back: () => {
      surface.outline.set([]);
      return true;
    },
  };
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
