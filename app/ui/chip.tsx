"use client";
import type { ReactNode } from "react";

interface Props {
  readonly pressed: boolean;
  readonly onPress: () => void;
  readonly children: ReactNode;
}

/** A filter that is on or off. */
export function Chip({ pressed, onPress, children }: Props) {
  return (
    <button
      type="button"
      aria-pressed={pressed}
      onClick={onPress}
      className="inline-flex h-8 shrink-0 items-center gap-1.5 rounded-full border border-line px-3 text-xs font-medium text-quiet transition-colors duration-120 hover:bg-hover hover:text-ink aria-pressed:border-ink aria-pressed:bg-ink aria-pressed:text-paper [&_svg]:size-3.5"
    >
      {children}
    </button>
  );
}
