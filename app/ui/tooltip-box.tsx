"use client";
import { type ReactNode, useLayoutEffect, useRef } from "react";
import { createPortal } from "react-dom";
import type { Side } from "./tooltip.tsx";

const [gapPx, edgePx] = [6, 8];

const opposite: Record<Side, Side> = { top: "bottom", bottom: "top", left: "right", right: "left" };

/** Where a box stands beside another one, in CSS px of the window. */
function placeAt(side: Side, anchor: DOMRect, box: DOMRect) {
  const middle = {
    left: anchor.left + (anchor.width - box.width) / 2,
    top: anchor.top + (anchor.height - box.height) / 2,
  };
  if (side === "top") return { ...middle, top: anchor.top - gapPx - box.height };
  if (side === "bottom") return { ...middle, top: anchor.bottom + gapPx };
  return { ...middle, left: side === "left" ? anchor.left - gapPx - box.width : anchor.right + gapPx };
}

/** On the wanted side, or where that leaves the window on the other one. */
function place(side: Side, anchor: DOMRect, box: DOMRect) {
  const isIn = ({ left, top }: { left: number; top: number }) =>
    side === "top" || side === "bottom"
      ? top >= 0 && top + box.height <= window.innerHeight
      : left >= 0 && left + box.width <= window.innerWidth;
  const wanted = placeAt(side, anchor, box);
  const { left, top } = isIn(wanted) ? wanted : placeAt(opposite[side], anchor, box);
  const most = window.innerWidth - edgePx - box.width;
  return { left: Math.max(edgePx, Math.min(left, most)), top };
}

interface TooltipProps {
  readonly anchor: Element;
  readonly side: Side;
  readonly children: ReactNode;
}

/** The name of a button beside it, for the eyes alone: the button has the name itself. */
export function TooltipBox({ anchor, side, children }: TooltipProps) {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (box.current === null) return;
    const { left, top } = place(side, anchor.getBoundingClientRect(), box.current.getBoundingClientRect());
    box.current.style.translate = `${Math.round(left)}px ${Math.round(top)}px`;
  });
  return createPortal(
    <div
      ref={box}
      aria-hidden
      data-tooltip
      className="pointer-events-none fixed top-0 left-0 z-70 flex w-max max-w-[calc(100vw-16px)] items-center gap-2 rounded-control bg-ink px-2 py-1 text-xs text-paper opacity-100 transition-opacity duration-120 starting:opacity-0"
    >
      {children}
    </div>,
    document.body,
  );
}
