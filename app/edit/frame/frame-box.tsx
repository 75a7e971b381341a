"use client";
import { type KeyboardEvent, type PointerEvent, type ReactNode, useRef } from "react";
import type { Rect } from "@atelier/server/retouch";
import { cx } from "../../ui/button.tsx";
import { type Handle, middle, type Move } from "./rect.ts";

const handles: readonly (Handle & { readonly cursor: string })[] = [
  { x: -1, y: -1, cursor: "cursor-nwse-resize" },
  { x: 0, y: -1, cursor: "cursor-ns-resize" },
  { x: 1, y: -1, cursor: "cursor-nesw-resize" },
  { x: 1, y: 0, cursor: "cursor-ew-resize" },
  { x: 1, y: 1, cursor: "cursor-nwse-resize" },
  { x: 0, y: 1, cursor: "cursor-ns-resize" },
  { x: -1, y: 1, cursor: "cursor-nesw-resize" },
  { x: -1, y: 0, cursor: "cursor-ew-resize" },
];

/** What a frame shows, and how it is pulled. */
interface Pulling<Settings> {
  readonly settings: Settings;
  /** CSS px in a px of the picture. */
  readonly scale: number;
  /** The settings after a handle, or by `middle` the whole frame, was pulled this far in px of the picture. */
  readonly pull: (from: Settings, handle: Handle, by: Move) => Settings;
  /** `isBegun` with the first change of a drag or of a key: undo goes back to what was before it. */
  readonly onChange: (settings: Settings, isBegun: boolean) => void;
  /** A pointer holds the frame, or no longer. */
  readonly onHold?: (isHeld: boolean) => void;
}

interface Drag<Settings> {
  readonly pointerId: number;
  readonly handle: Handle;
  readonly from: Settings;
  readonly x: number;
  readonly y: number;
  hasMoved: boolean;
}

/** Handlers for a pointer: inside it moves the frame, at a handle it changes its size. The first pointer alone counts. */
function useFramePointer<Settings>({ settings, scale, pull, onChange, onHold }: Pulling<Settings>) {
  const drag = useRef<Drag<Settings> | null>(null);
  const begin = (handle: Handle) => (event: PointerEvent<HTMLElement>) => {
    if (drag.current !== null || event.button !== 0) return;
    event.stopPropagation();
    event.currentTarget.setPointerCapture(event.pointerId);
    const { pointerId, clientX: x, clientY: y } = event;
    drag.current = { pointerId, handle, from: settings, x, y, hasMoved: false };
    onHold?.(true);
  };
  const move = (event: PointerEvent<HTMLElement>) => {
    const held = drag.current;
    if (held?.pointerId !== event.pointerId) return;
    const by = { x: (event.clientX - held.x) / scale, y: (event.clientY - held.y) / scale };
    onChange(pull(held.from, held.handle, by), !held.hasMoved);
    held.hasMoved = true;
  };
  const end = (event: PointerEvent<HTMLElement>) => {
    if (drag.current?.pointerId !== event.pointerId) return;
    drag.current = null;
    onHold?.(false);
  };
  return (handle: Handle) => ({
    onPointerDown: begin(handle),
    onPointerMove: move,
    onPointerUp: end,
    onPointerCancel: end,
    // Its release may never be heard, as behind a menu.
    onLostPointerCapture: end,
  });
}

const directions: Readonly<Record<string, Handle>> = {
  ArrowLeft: { x: -1, y: 0 },
  ArrowRight: { x: 1, y: 0 },
  ArrowUp: { x: 0, y: -1 },
  ArrowDown: { x: 0, y: 1 },
};
const stepPx = 8;

/** Arrows move the frame, with Shift its right and lower side; with Alt by one px. */
function stepped<Settings>(
  { settings, scale, pull }: Pulling<Settings>,
  event: KeyboardEvent,
): Settings | null {
  const direction = directions[event.key];
  if (direction === undefined || event.ctrlKey || event.metaKey) return null;
  const px = event.altKey ? 1 : stepPx / scale;
  const handle: Handle = { x: direction.x === 0 ? 0 : 1, y: direction.y === 0 ? 0 : 1 };
  return pull(settings, event.shiftKey ? handle : middle, { x: direction.x * px, y: direction.y * px });
}

interface FrameBoxProps<Settings> extends Pulling<Settings> {
  /** In px of the picture. */
  readonly rect: Rect;
  readonly label: string;
  /** Of the element with the help for the keys. */
  readonly helpId: string;
  readonly className?: string;
  /** Within the frame. */
  readonly children?: ReactNode;
}

/** A frame over a picture: pulled at its sides and corners, moved inside, both by keys too. */
export function FrameBox<Settings>({
  rect,
  label,
  helpId,
  className,
  children,
  ...pulling
}: FrameBoxProps<Settings>) {
  const { scale, onChange } = pulling;
  const pointer = useFramePointer(pulling);
  const keys = {
    onKeyDown: (event: KeyboardEvent) => {
      const next = stepped(pulling, event);
      if (next === null) return;
      event.preventDefault();
      onChange(next, !event.repeat);
    },
  };
  return (
    <div
      role="application"
      aria-label={label}
      aria-describedby={helpId}
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- the frame takes arrow keys
      tabIndex={0}
      {...pointer(middle)}
      {...keys}
      className={cx("absolute cursor-move touch-none ring-1 ring-white outline-offset-4", className)}
      style={{
        left: rect.left * scale,
        top: rect.top * scale,
        width: rect.width * scale,
        height: rect.height * scale,
      }}
    >
      {children}
      {handles.map(({ cursor, ...handle }) => (
        <span
          key={`${handle.x} ${handle.y}`}
          aria-hidden
          {...pointer(handle)}
          className={cx(
            "absolute flex size-11 -translate-1/2 touch-none items-center justify-center",
            cursor,
          )}
          style={{ left: `${(handle.x + 1) * 50}%`, top: `${(handle.y + 1) * 50}%` }}
        >
          <i className="size-3 rounded-full bg-white shadow-[0_0_0_1px_rgb(0_0_0/70%)]" />
        </span>
      ))}
    </div>
  );
}
