"use client";
import { type PointerEvent, useRef, useState } from "react";

interface Drag {
  readonly from: number;
  readonly to: number;
}

/** The row of a list over which a pointer stands, by the middles of the rows. */
function rowAt(list: HTMLElement, clientY: number): number {
  const rows = [...list.children];
  const above = rows.filter((row) => {
    const box = row.getBoundingClientRect();
    return box.top + box.height / 2 < clientY;
  });
  return Math.min(rows.length - 1, above.length);
}

/** Drags a row by its handle, with a mouse or a finger. */
export function useDrag(onMove: (from: number, to: number) => void) {
  const list = useRef<HTMLUListElement>(null);
  const [drag, setDrag] = useState<Drag | null>(null);
  const handlersFor = (from: number) => ({
    onPointerDown: (event: PointerEvent) => {
      if (event.button !== 0) return;
      event.currentTarget.setPointerCapture(event.pointerId);
      setDrag({ from, to: from });
    },
    onPointerMove: (event: PointerEvent) => {
      const rows = list.current;
      if (drag === null || rows === null) return;
      const to = rowAt(rows, event.clientY);
      // The place of the dragged row itself counts as one above.
      setDrag({ from: drag.from, to: to > drag.from ? to - 1 : to });
    },
    onPointerUp: () => {
      if (drag !== null) onMove(drag.from, drag.to);
      setDrag(null);
    },
    onPointerCancel: () => setDrag(null),
  });
  return { list, drag, handlersFor };
}
