"use client";
import { Slider as Base } from "@base-ui/react/slider";

interface SliderProps {
  readonly label: string;
  readonly value: number;
  readonly min: number;
  readonly max: number;
  readonly step?: number;
  /** Where nothing is filled; the bar grows from there. Default: the lower end. */
  readonly origin?: number;
  readonly onChange: (value: number) => void;
  /** A drag or a key has ended. */
  readonly onSettled?: () => void;
}

/** The bar between the origin and the value, in percent of the track. */
function barOf({ value, min, max, origin = min }: Pick<SliderProps, "value" | "min" | "max" | "origin">) {
  const share = (at: number) => ((at - min) / (max - min)) * 100;
  const [from, to] = [share(origin), share(value)];
  return { insetInlineStart: `${Math.min(from, to)}%`, width: `${Math.abs(to - from)}%` };
}

export function Slider({ label, value, min, max, step, origin, onChange, onSettled }: SliderProps) {
  return (
    <Base.Root
      value={value}
      min={min}
      max={max}
      step={step}
      onValueChange={(next) => onChange(Array.isArray(next) ? (next[0] ?? min) : next)}
      onValueCommitted={onSettled}
      className="w-full"
    >
      <Base.Control className="flex h-6 w-full touch-none items-center select-none">
        <Base.Track className="h-[3px] w-full rounded-full bg-line">
          {origin === undefined ? (
            <Base.Indicator className="rounded-full bg-ink" />
          ) : (
            <span
              className="absolute h-full rounded-full bg-ink"
              style={barOf({ value, min, max, origin })}
            />
          )}
          <Base.Thumb
            aria-label={label}
            className="size-4 rounded-full border-2 border-ink bg-surface has-focus-visible:outline-2 has-focus-visible:outline-offset-2 has-focus-visible:outline-ink"
          />
        </Base.Track>
      </Base.Control>
    </Base.Root>
  );
}
