import type { LucideIcon } from "lucide-react";
import type { Mark } from "../mask/marks.ts";
import type { Box, Draft, Size } from "../mask/raster.ts";
import type { Point } from "../mask/selection.ts";
import type { ToolId, ToolOptions } from "../session.ts";
import type { CommandId } from "./commands.ts";

/** A place that a pointer, or the cursor of the keyboard, is at. */
export interface Pointed {
  /** In px of the picture, also beside it. */
  readonly at: Point;
  /** The same in CSS px of the stage. */
  readonly onStage: Point;
  /** Of a pen, from 0 to 1. */
  readonly pressure?: number;
  /** The other end of a pen. */
  readonly isEraser?: boolean;
  readonly shift: boolean;
  readonly control: boolean;
}

/** The line that shows what is being drawn, in px of the picture. */
export interface Outline {
  readonly add: (point: Point) => void;
  readonly set: (points: readonly Point[]) => void;
}

/** What a tool works on. */
export interface Surface {
  readonly size: Size;
  /** CSS px per px of the picture. */
  readonly scale: number;
  readonly marks: readonly Mark[];
  readonly options: ToolOptions;
  readonly outline: Outline;
  /** Shows a part of the mask as it is drawn so far. */
  readonly show: (draft: Draft, box: Box) => void;
  /** Shows the mask as it was before. */
  readonly hide: () => void;
  readonly add: (mark: Mark) => void;
  /** Moves the picture, in CSS px. */
  readonly pan: (dx: number, dy: number) => void;
  /** Null where nothing selects. */
  readonly select: Selecting | null;
}

/** Has an engine select something; the answer becomes a mark. */
export interface Selecting {
  readonly takesBox: boolean;
  readonly takesClicks: boolean;
  readonly click: (at: Point, isExcluding: boolean) => void;
  readonly box: (box: Box) => void;
}

/**
 * What a tool does from where a pointer comes down. It may go on after the pointer is up, as a polygon does. On the keyboard
 * Enter is a click at the cursor.
 */
export interface Gesture {
  /** Places since the last one; `isHeld` while the pointer is down. */
  readonly move: (to: readonly Pointed[], isHeld: boolean) => void;
  /** The pointer is up. True when the gesture has ended. */
  readonly up: (at: Pointed) => boolean;
  /** The pointer comes down again. */
  readonly down: (at: Pointed) => void;
  /** Takes back what the last press drew. True when nothing is left, so that the gesture has ended. */
  readonly back: () => boolean;
}

/** A tool is a file with this, a line in registry.ts, a command with its key, and its words under `edit.toolNames`. */
export interface Tool {
  readonly id: ToolId;
  readonly command: CommandId;
  readonly icon: LucideIcon;
  /** `ring` shows the size of the brush. */
  readonly cursor: "move" | "ring" | "cross";
  readonly begin: (surface: Surface, at: Pointed) => Gesture;
}

/** A pointer that moves less than this only clicks, in CSS px. */
export const tapReachPx = 6;
