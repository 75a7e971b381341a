"use client";
import { MoveHorizontal } from "lucide-react";
import { useTranslations } from "next-intl";
import { type KeyboardEvent as ReactKeyboardEvent, type PointerEvent, useEffect, useState } from "react";
import { isCombined } from "../ui/key-press.ts";

const typing = "input, textarea, select, button, a, [contenteditable], [role=radio], [role=checkbox]";

/** Whether a key is held down, unless the focused element uses that key itself. */
function useHeldKey(key: string): boolean {
  const [isHeld, setHeld] = useState(false);
  useEffect(() => {
    const leaving = new AbortController();
    const { signal } = leaving;
    const press = (event: KeyboardEvent) => {
      if (event.key !== key || (event.target instanceof Element && event.target.closest(typing))) return;
      event.preventDefault();
      setHeld(true);
    };
    const release = (event: KeyboardEvent) => {
      if (event.key === key) setHeld(false);
    };
    window.addEventListener("keydown", press, { signal });
    window.addEventListener("keyup", release, { signal });
    window.addEventListener("blur", () => setHeld(false), { signal });
    return () => leaving.abort();
  }, [key]);
  return isHeld;
}

interface Props {
  readonly beforeUrl: string;
  readonly afterUrl: string;
  readonly afterAlt: string;
  /** What the two are called; by default they are before and after a change. */
  readonly names?: readonly [before: string, after: string];
  readonly className?: string;
}

const steps: Record<string, (at: number) => number> = {
  ArrowLeft: (at) => at - 5,
  ArrowRight: (at) => at + 5,
  ArrowDown: (at) => at - 5,
  ArrowUp: (at) => at + 5,
  Home: () => 0,
  End: () => 100,
};
const bound = (percent: number) => Math.min(100, Math.max(0, percent));

/** Two pictures split by a line that can be dragged: before on the left, after on the right. Space shows the original. */
export function CompareSlider({ beforeUrl, afterUrl, afterAlt, names, className = "" }: Props) {
  const t = useTranslations("pictures");
  const [before, after] = names ?? [t("before"), t("after")];
  const [percent, setPercent] = useState(50);
  const isHeld = useHeldKey(" ");
  const shown = isHeld ? 100 : percent;

  function follow(event: PointerEvent<HTMLDivElement>): void {
    if (event.type === "pointermove" && event.buttons !== 1) return;
    const box = event.currentTarget.getBoundingClientRect();
    event.currentTarget.setPointerCapture(event.pointerId);
    setPercent(bound(((event.clientX - box.left) / box.width) * 100));
  }
  function step(event: ReactKeyboardEvent): void {
    const next = steps[event.key];
    if (next === undefined || isCombined(event)) return;
    event.preventDefault();
    event.stopPropagation();
    setPercent((at) => bound(next(at)));
  }

  return (
    <div
      className={`relative touch-pan-y touch-pinch-zoom overflow-hidden select-none ${className}`}
      onPointerDown={follow}
      onPointerMove={follow}
    >
      {/* Each on its side alone: they may differ in shape, and be clear in parts. */}
      <img
        src={afterUrl}
        alt={afterAlt}
        draggable={false}
        className="size-full object-contain"
        style={{ clipPath: `inset(0 0 0 ${shown}%)` }}
      />
      <img
        src={beforeUrl}
        alt=""
        draggable={false}
        className="absolute inset-0 size-full object-contain"
        style={{ clipPath: `inset(0 ${100 - shown}% 0 0)` }}
      />
      <span
        className="pointer-events-none absolute top-2 inset-s-2 rounded-[4px] bg-black/60 px-1.5 py-0.5 text-[11px] font-medium text-white"
        style={{ opacity: shown > 15 ? 1 : 0 }}
      >
        {before}
      </span>
      <span
        className="pointer-events-none absolute top-2 inset-e-2 rounded-[4px] bg-black/60 px-1.5 py-0.5 text-[11px] font-medium text-white"
        style={{ opacity: shown < 85 ? 1 : 0 }}
      >
        {after}
      </span>
      <div
        role="slider"
        tabIndex={0}
        aria-label={names === undefined ? t("compareLabel") : t("compareNamed", { before, after })}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={Math.round(shown)}
        aria-valuetext={
          names === undefined
            ? t("compareValue", { percent: Math.round(shown) })
            : t("compareNamedValue", { percent: Math.round(shown), before })
        }
        onKeyDown={step}
        className="absolute inset-y-0 -ms-5 flex w-10 cursor-ew-resize items-center justify-center outline-none [&:focus-visible>span]:outline-2 [&:focus-visible>span]:outline-offset-2 [&:focus-visible>span]:outline-white"
        style={{ left: `${shown}%` }}
      >
        <i aria-hidden className="absolute inset-y-0 w-px bg-white shadow-[0_0_3px_rgb(0_0_0/50%)]" />
        <span className="relative flex size-8 items-center justify-center rounded-full bg-white text-black shadow-float">
          <MoveHorizontal className="size-4" aria-hidden />
        </span>
      </div>
    </div>
  );
}
