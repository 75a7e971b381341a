"use client";
import type { OfferedParam } from "../../data/use-workflows.ts";
import { NumberInput } from "../../ui/fields.tsx";
import { Slider } from "../../ui/slider.tsx";
import { within } from "../form/within.ts";

interface Props {
  readonly label: string;
  readonly param: OfferedParam;
  readonly value: number;
  readonly onChange: (value: number) => void;
}

/** A number of a range: to slide, or to type. */
export function NumberSetting({ label, param, value, onChange }: Props) {
  const step = param.multipleOf ?? (param.type === "integer" ? 1 : 0.1);
  const take = (next: number) => onChange(within(Number(next.toFixed(2)), param));
  return (
    <div className="flex flex-col gap-0.5">
      <div className="flex items-center justify-between gap-3">
        <span aria-hidden className="text-xs font-medium">
          {label}
        </span>
        <NumberInput
          label={label}
          value={value}
          onChange={take}
          className="h-7! w-16! px-2! text-right text-xs!"
        />
      </div>
      <Slider
        label={label}
        value={value}
        min={param.min ?? 0}
        max={param.max ?? 100}
        step={step}
        onChange={take}
      />
    </div>
  );
}
