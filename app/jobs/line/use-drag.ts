"use client";
import { type PointerEvent, useRef, useState } from "react";
import { placeAt } from "./place-at.ts";

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

/** Drags a row by its handle, with a mouse or a finger. The line moves on meanwhile, so a row is held by its id. */
export function useDrag(ids: readonly string[], onMove: (from: number, to: number) => void) {
  const list = useRef<HTMLUListElement>(null);
  const [drag, setDrag] = useState<Drag | null>(null);
  const place = ({ id, y }: Held) => {
    const from = ids.indexOf(id);
    if (from === -1 || list.current === null) return null;
    return { id, from, to: placeAt(middlesOf(list.current), y, from) };
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
  });
  return { list, drag, handlersFor };
}
