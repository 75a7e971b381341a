"use client";
import { type PointerEvent, useRef } from "react";

const leastPx = 56;

/** A finger that sweeps sideways goes to the next or the previous picture. */
export function useSwipe(onLeft: () => void, onRight: () => void) {
  const from = useRef<{ readonly x: number; readonly y: number } | null>(null);
  return {
    onPointerDown: (event: PointerEvent) => {
      from.current =
        event.pointerType === "touch" && event.isPrimary ? { x: event.clientX, y: event.clientY } : null;
    },
    onPointerUp: (event: PointerEvent) => {
      if (from.current === null || !event.isPrimary) return;
      const dx = event.clientX - from.current.x;
      const dy = event.clientY - from.current.y;
      from.current = null;
      if (Math.abs(dx) < leastPx || Math.abs(dy) > Math.abs(dx)) return;
      if (dx < 0) onLeft();
      else onRight();
    },
    onPointerCancel: () => {
      from.current = null;
    },
  };
}
