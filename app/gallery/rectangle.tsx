"use client";
import { useEffect, useEffectEvent, useRef, useState } from "react";
import type { SheetLine } from "./layout-rows.ts";
import type { Selection } from "./selection.tsx";
import { type ListedImage, tileKey } from "./stack.tsx";
import { moveBetweenTiles } from "../pictures/tile-keys.ts";

interface Point {
  readonly x: number;
  readonly y: number;
}

/** In px from the corner of the list, so that it stays where it is while the page scrolls. */
interface Box {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

function boxBetween(a: Point, b: Point): Box {
  return {
    left: Math.min(a.x, b.x),
    top: Math.min(a.y, b.y),
    right: Math.max(a.x, b.x),
    bottom: Math.max(a.y, b.y),
  };
}

interface Lines {
  readonly lines: readonly SheetLine[];
  /** Where each line begins. */
  readonly tops: readonly number[];
  readonly gapPx: number;
}

/** The pictures that a box touches, by where they are laid out: most of them are not in the document. */
export function picturesIn(box: Box, { lines, tops, gapPx }: Lines): ListedImage[] {
  return lines.flatMap((line, index) => {
    const top = tops[index] ?? 0;
    if (line.type !== "row" || top > box.bottom || top + line.heightPx < box.top) return [];
    let right = -gapPx;
    return line.items.filter((_, at) => {
      const left = right + gapPx;
      right = left + (line.widthsPx[at] ?? 0);
      return left <= box.right && right >= box.left;
    });
  });
}

/** A pointer that moves less has clicked. */
const leastPx = 5;
/** How near to the edge of the window the page begins to scroll, and how far it does in a frame at the edge. */
const edgePx = 56;
const mostPxPerFrame = 24;

function scrollStep(clientY: number): number {
  const over = Math.max(edgePx - clientY, 0) - Math.max(clientY - (window.innerHeight - edgePx), 0);
  return -Math.sign(over) * Math.min(1, Math.abs(over) / edgePx) * mostPxPerFrame;
}

const ownPointers = "a, button, input, label, [role=slider], [role=toolbar], [data-viewer]";

/** A drag by a mouse that begins where nothing else takes it; touches scroll. */
function begins(event: PointerEvent): boolean {
  const isMouse = event.pointerType === "mouse" && event.button === 0;
  return isMouse && event.target instanceof Element && event.target.closest(ownPointers) === null;
}

interface Drag {
  readonly from: Point;
  /** What was selected before, and of it what stays beside the new ones. */
  readonly before: readonly ListedImage[];
  readonly kept: readonly ListedImage[];
  readonly end: AbortController;
  at: { readonly clientX: number; readonly clientY: number };
  box: Box | null;
}

interface Props extends Lines {
  /** The list, whose corner the box is measured from. */
  readonly list: HTMLElement | null;
  readonly selection: Selection;
}

/** A picture of the list; `stack` is its own id in lists that show no stacks. */
interface Shown {
  readonly id: string;
  readonly stack: string;
}

/**
 * Which picture takes the focus of one that is gone: the one that shows its stack now, else the next of its list that is still
 * there, else the one before it.
 */
export function heirOf(id: string, before: readonly Shown[], now: readonly Shown[]): string | undefined {
  const at = before.findIndex((one) => one.id === id);
  const ids = new Set(now.map((one) => one.id));
  if (ids.has(id) || at === -1) return ids.has(id) ? id : undefined;
  const onTop = now.find(({ stack }) => stack === before[at]?.stack);
  const isThere = (one: Shown) => ids.has(one.id);
  return (onTop ?? before.slice(at + 1).find(isThere) ?? before.slice(0, at).findLast(isThere))?.id;
}

const shownIn = (lines: readonly SheetLine[]): readonly Shown[] =>
  lines.flatMap((line) =>
    line.type === "row" ? line.items.map((image) => ({ id: image.id, stack: tileKey(image) })) : [],
  );

/** Keeps the focus on a picture that moves into another row, where it has another button, or gives it to its heir. */
function useKeptFocus(lines: readonly SheetLine[]): void {
  const focusedId = useRef<string | undefined>(undefined);
  const listed = useRef<readonly Shown[]>([]);
  useEffect(() => {
    const leaving = new AbortController();
    const take = (target: EventTarget | null) => {
      focusedId.current = target instanceof HTMLElement ? target.dataset.tile : undefined;
    };
    const note = ({ target }: Event) => take(target);
    take(document.activeElement);
    window.addEventListener("focusin", note, { signal: leaving.signal });
    window.addEventListener("pointerdown", note, { signal: leaving.signal });
    return () => leaving.abort();
  }, []);
  useEffect(() => {
    const [before, now] = [listed.current, shownIn(lines)];
    listed.current = now;
    if (focusedId.current === undefined || document.activeElement !== document.body) return;
    const heir = heirOf(focusedId.current, before, now);
    const tile = document.querySelector<HTMLElement>(`[data-tile="${heir ?? ""}"]`);
    tile?.focus({ preventScroll: true });
  }, [lines]);
}

/** The focus among the pictures of the list: moved by keys, and kept when the list changes. */
function useTileFocus(list: HTMLElement | null, lines: readonly SheetLine[]): void {
  useEffect(() => {
    const move = (event: KeyboardEvent) => moveBetweenTiles(event, document);
    list?.addEventListener("keydown", move);
    return () => list?.removeEventListener("keydown", move);
  }, [list]);
  useKeptFocus(lines);
}

/**
 * Selects what a rectangle touches that is drawn from empty space; Shift and Ctrl add, Escape takes it back. With it comes
 * what keys do in the list.
 */
export function SelectionRectangle({ list, selection, ...lines }: Props) {
  useTileFocus(list, lines.lines);
  const [box, setBox] = useState<Box | null>(null);
  const drag = useRef<Drag | null>(null);

  const pointOf = ({ clientX, clientY }: Drag["at"]): Point => {
    const corner = list?.getBoundingClientRect();
    return { x: clientX - (corner?.left ?? 0), y: clientY - (corner?.top ?? 0) };
  };
  const draw = useEffectEvent(() => {
    const now = drag.current;
    if (now === null) return;
    const to = pointOf(now.at);
    if (now.box === null && Math.hypot(to.x - now.from.x, to.y - now.from.y) < leastPx) return;
    now.box = boxBetween(now.from, to);
    setBox(now.box);
    const chosen = [...now.kept, ...picturesIn(now.box, lines)];
    selection.choose(() => chosen);
  });
  const finish = useEffectEvent(() => {
    drag.current?.end.abort();
    drag.current = null;
    setBox(null);
  });
  const takeBack = useEffectEvent((event: KeyboardEvent) => {
    if (event.key !== "Escape" || drag.current === null) return;
    event.stopPropagation();
    const { before } = drag.current;
    selection.choose(() => before);
    finish();
  });
  const begin = useEffectEvent((event: PointerEvent) => {
    if (!begins(event) || drag.current !== null) return;
    // Else the text of headings is selected.
    event.preventDefault();
    const { images: before } = selection;
    const kept = event.shiftKey || event.ctrlKey || event.metaKey ? before : [];
    const end = new AbortController();
    drag.current = { from: pointOf(event), before, kept, end, at: event, box: null };
    const { signal } = end;
    const move = (moved: PointerEvent) => {
      if (drag.current !== null) drag.current.at = moved;
      draw();
    };
    window.addEventListener("pointermove", move, { signal });
    window.addEventListener("scroll", draw, { signal });
    for (const over of ["pointerup", "pointercancel", "blur"])
      window.addEventListener(over, finish, { signal });
    window.addEventListener("keydown", takeBack, { signal, capture: true });
    const scrollAtEdge = () => {
      if (signal.aborted || drag.current === null) return;
      const step = drag.current.box === null ? 0 : scrollStep(drag.current.at.clientY);
      if (step !== 0) window.scrollBy({ top: step, behavior: "instant" });
      requestAnimationFrame(scrollAtEdge);
    };
    requestAnimationFrame(scrollAtEdge);
  });

  useEffect(() => {
    const room = list?.closest("main");
    room?.addEventListener("pointerdown", begin);
    return () => {
      room?.removeEventListener("pointerdown", begin);
      finish();
    };
  }, [list]);

  if (box === null) return null;
  const style = {
    left: box.left,
    top: box.top,
    width: box.right - box.left,
    height: box.bottom - box.top,
  };
  return (
    <div
      aria-hidden
      data-rectangle
      className="pointer-events-none absolute z-10 border border-accent bg-accent/12"
      style={style}
    />
  );
}
