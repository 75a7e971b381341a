import { cx } from "./cx.ts";

interface Props {
  /** 0..1; null while nothing is known. */
  readonly value: number | null;
  readonly label: string;
  readonly className?: string;
}

/** A thin line that fills. */
export function Progress({ value, label, className }: Props) {
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
