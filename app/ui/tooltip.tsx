"use client";
import {
  type FocusEvent,
  type PointerEvent,
  type ReactNode,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import { createPortal } from "react-dom";

export type Side = "top" | "bottom" | "left" | "right";

const delayMs = 400;
const [gapPx, edgePx] = [6, 8];

/** When the last one went: the next one of a row of buttons follows at once. */
let lastHiddenMs = Number.NEGATIVE_INFINITY;

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
function Tooltip({ anchor, side, children }: TooltipProps) {
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

/** Shows a tooltip while a mouse rests on a button, or while the button has the visible focus. */
export function useTooltip(side: Side, content: ReactNode) {
  const [anchor, setAnchor] = useState<Element | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const isShown = anchor !== null;
  const hide = () => {
    clearTimeout(timer.current);
    setAnchor(null);
  };
  useEffect(() => () => clearTimeout(timer.current), []);
  useEffect(() => {
    if (!isShown) return undefined;
    const press = ({ key }: KeyboardEvent) => key === "Escape" && setAnchor(null);
    const scroll = () => setAnchor(null);
    window.addEventListener("keydown", press, { capture: true });
    window.addEventListener("scroll", scroll, { capture: true, passive: true });
    return () => {
      lastHiddenMs = performance.now();
      window.removeEventListener("keydown", press, { capture: true });
      window.removeEventListener("scroll", scroll, { capture: true });
    };
  }, [isShown]);
  const triggers = {
    onPointerEnter: ({ pointerType, currentTarget }: PointerEvent) => {
      if (pointerType !== "mouse") return;
      const waitMs = performance.now() - lastHiddenMs < delayMs ? 0 : delayMs;
      timer.current = setTimeout(() => setAnchor(currentTarget), waitMs);
    },
    onPointerLeave: hide,
    onPointerDown: hide,
    onFocus: ({ currentTarget }: FocusEvent) => {
      if (currentTarget.matches(":focus-visible")) setAnchor(currentTarget);
    },
    onBlur: hide,
  };
  const tooltip =
    anchor === null ? null : (
      <Tooltip anchor={anchor} side={side}>
        {content}
      </Tooltip>
    );
  return { triggers, tooltip };
}
