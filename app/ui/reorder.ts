"use client";
import { type KeyboardEvent, type PointerEvent, useRef, useState } from "react";
import { cx } from "./button.tsx";
import { isCombined } from "./key-press.ts";

/** The list with one item moved to another index. */
export function moveItem<Item>(items: readonly Item[], from: number, to: number): readonly Item[] {
  const item = items[from];
  if (item === undefined) return items;
  const others = items.filter((_, index) => index !== from);
  return [...others.slice(0, to), item, ...others.slice(to)];
}

/** New index of a dragged row. `middles`: vertical middle of each row in px; `y`: the pointer. */
export function positionAt(middles: readonly number[], y: number, dragged: number): number {
  return middles.filter((middle, index) => index !== dragged && middle < y).length;
}

/** A row being dragged, with its old and new index. */
interface Drag {
  readonly id: string;
  readonly from: number;
  readonly to: number;
}

interface Held {
  readonly id: string;
  readonly y: number;
}

function middlesOf(list: HTMLElement): readonly number[] {
  return [...list.children].map((row) => {
    const box = row.getBoundingClientRect();
    return box.top + box.height / 2;
  });
}

const steps: Record<string, number> = { ArrowUp: -1, ArrowDown: 1 };

/**
 * Reorders the rows of a list by dragging them by a handle, or by arrow keys on it. The rows may change during a drag, so
 * the dragged row is known by its id.
 */
export function useReorder(ids: readonly string[], onMove: (from: number, to: number) => void) {
  const list = useRef<HTMLUListElement & HTMLOListElement>(null);
  const [drag, setDrag] = useState<Drag | null>(null);
  const place = ({ id, y }: Held) => {
    const from = ids.indexOf(id);
    if (from === -1 || list.current === null) return null;
    return { id, from, to: positionAt(middlesOf(list.current), y, from) };
  };
  const handlersFor = (id: string) => ({
    onPointerDown: (event: PointerEvent) => {
      if (event.button !== 0) return;
      event.currentTarget.setPointerCapture(event.pointerId);
      setDrag(place({ id, y: event.clientY }));
    },
    onPointerMove: (event: PointerEvent) => {
      if (drag?.id === id) setDrag(place({ id, y: event.clientY }));
    },
    onPointerUp: (event: PointerEvent) => {
      const end = drag?.id === id ? place({ id, y: event.clientY }) : null;
      if (end !== null) onMove(end.from, end.to);
      setDrag(null);
    },
    onPointerCancel: () => setDrag(null),
    onLostPointerCapture: () => setDrag(null),
    onKeyDown: (event: KeyboardEvent) => {
      const step = steps[event.key];
      const from = ids.indexOf(id);
      if (step === undefined || from === -1 || isCombined(event)) return;
      event.preventDefault();
      onMove(from, from + step);
    },
  });
  const rowClass = (id: string, index: number) =>
    cx(
      drag?.id === id && "opacity-45",
      drag !== null && drag.to === index && drag.to !== drag.from && targetLine(drag),
    );
  return { list, rowClass, handlersFor };
}

/** Class of the line that marks the new position of the dragged row. */
function targetLine({ from, to }: { readonly from: number; readonly to: number }): string {
  return to < from ? "shadow-[0_-2px_0_var(--ink)]" : "shadow-[0_2px_0_var(--ink)]";
}
