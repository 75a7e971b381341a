"use client";
import { cx } from "./button.tsx";

interface ProgressProps {
  /** 0..1; null while nothing is known. */
  readonly value: number | null;
  readonly label: string;
  readonly className?: string;
}

/** A thin progress bar. */
export function Progress({ value, label, className }: ProgressProps) {
  const percent = value === null ? undefined : Math.round(value * 100);
  return (
    <div
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={percent}
      className={cx("h-[3px] overflow-hidden rounded-full bg-line", className)}
    >
      <div
        className={cx(
          "h-full origin-left rounded-full bg-ink transition-transform duration-200 ease-out",
          value === null && "animate-breathe",
        )}
        style={{ transform: `scaleX(${value ?? 0.15})` }}
      />
    </div>
  );
}

interface BorderProgressProps {
  /** 0..1; null while nothing is known. */
  readonly value: number | null;
  readonly label: string;
}

/** Progress that runs along the border of its frame. */
export function BorderProgress({ value, label }: BorderProgressProps) {
  const percent = Math.round((value ?? 0) * 100);
  return (
    <svg
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={value === null ? undefined : percent}
      className="pointer-events-none absolute inset-0 size-full overflow-visible text-ink"
    >
      <rect
        x="1.5"
        y="1.5"
        rx="8.5"
        pathLength="100"
        fill="none"
        stroke="currentColor"
        strokeWidth="3"
        strokeDasharray="100"
        className={
          value === null ? "animate-breathe" : "transition-[stroke-dashoffset] duration-200 ease-out"
        }
        style={{
          width: "calc(100% - 3px)",
          height: "calc(100% - 3px)",
          strokeDashoffset: 100 - Math.max(percent, 3),
        }}
      />
    </svg>
  );
}
