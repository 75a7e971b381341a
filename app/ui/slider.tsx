"use client";
import { Slider as Base } from "@base-ui/react/slider";

interface Props {
  readonly label: string;
  readonly value: number;
  readonly min: number;
  readonly max: number;
  readonly step?: number;
  readonly onChange: (value: number) => void;
}

export function Slider({ label, value, min, max, step, onChange }: Props) {
  return (
    <Base.Root
      value={value}
      min={min}
      max={max}
      step={step}
      onValueChange={(next) => onChange(Array.isArray(next) ? (next[0] ?? min) : next)}
      className="w-full"
    >
      <Base.Control className="flex h-6 w-full touch-none items-center select-none">
        <Base.Track className="h-[3px] w-full rounded-full bg-line">
          <Base.Indicator className="rounded-full bg-ink" />
          <Base.Thumb
            aria-label={label}
            className="size-4 rounded-full border-2 border-ink bg-surface has-focus-visible:outline-2 has-focus-visible:outline-offset-2 has-focus-visible:outline-ink"
          />
        </Base.Track>
      </Base.Control>
    </Base.Root>
  );
}
