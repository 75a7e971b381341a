"use client";
import type { ComponentProps, ReactNode } from "react";
import { cx } from "./button.tsx";

interface ChipProps extends Pick<
  ComponentProps<"button">,
  "aria-keyshortcuts" | "onKeyDown" | "onPointerDown"
> {
  readonly pressed: boolean;
  readonly onPress: () => void;
  readonly className?: string;
  readonly children: ReactNode;
}

export const chipStyle =
  "touch inline-flex h-8 shrink-0 items-center gap-1.5 rounded-full border border-line px-3 text-xs font-medium text-quiet transition-colors duration-120 hover:bg-hover hover:text-ink aria-pressed:border-ink aria-pressed:bg-ink aria-pressed:text-paper [&_svg]:size-3.5";

/** A filter that is on or off. */
export function Chip({ pressed, onPress, className, children, ...more }: ChipProps) {
  return (
    <button
      {...more}
      type="button"
      aria-pressed={pressed}
      onClick={onPress}
      className={cx(chipStyle, className)}
    >
      {children}
    </button>
  );
}

interface EmptyStateProps {
  readonly title: string;
  readonly text: string;
  readonly children?: ReactNode;
}

/** Drawing of an empty picture frame. */
function BareFrame() {
  return (
    <svg
      viewBox="0 0 96 88"
      className="mb-4 h-22 w-24 text-edge"
      fill="none"
      stroke="currentColor"
      aria-hidden
    >
      <path d="M24 34 48 8l24 26" strokeWidth="1.25" />
      <circle cx="48" cy="7" r="2.5" fill="currentColor" stroke="none" />
      <rect x="9" y="34" width="78" height="52" strokeWidth="1.5" className="fill-surface" />
      <rect x="19" y="44" width="58" height="32" strokeWidth="1" strokeDasharray="3 3" />
    </svg>
  );
}

/** Shown by a page without content: title, text, and an action as children. */
export function EmptyState({ title, text, children }: EmptyStateProps) {
  return (
    <div className="mx-auto flex max-w-[44ch] flex-col items-center gap-3 px-4 pt-[8dvh] pb-10 text-center sm:pt-[14dvh] sm:pb-24 [@media(height<820px)]:pt-[4dvh] [@media(height<820px)]:pb-6">
      <BareFrame />
      <h2 className="display text-xl">{title}</h2>
      <p className="text-sm text-balance text-quiet">{text}</p>
      {children === undefined ? null : (
        <div className="mt-3 flex flex-wrap items-center justify-center gap-2">{children}</div>
      )}
    </div>
  );
}
