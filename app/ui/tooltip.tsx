"use client";
import { type FocusEvent, type PointerEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { later } from "./later.tsx";

export type Side = "top" | "bottom" | "left" | "right";

const delayMs = 400;
/** When the last one went: the next one of a row of buttons follows at once. */
let lastHiddenMs = Number.NEGATIVE_INFINITY;

const TooltipBox = later(async () => (await import("./tooltip-box.tsx")).TooltipBox);

/** A button without a tooltip still has its name. */
function goWithout(): void {}

export const preloadTooltip = TooltipBox.preload;

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
      <TooltipBox isWanted onFailure={goWithout} props={{ anchor, side, children: content }} />
    );
  return { triggers, tooltip };
}
