"use client";
import type { ReactNode } from "react";
import { cx } from "./button.tsx";
import { Radio, RadioGroup } from "./radio.tsx";

interface Option<Value extends string> {
  readonly value: Value;
  readonly label: ReactNode;
}

interface ChoiceGridProps<Value extends string> {
  readonly label: string;
  /** Null while none of them is chosen. */
  readonly value: Value | null;
  readonly options: readonly Option<Value>[];
  /** Classes with the columns. */
  readonly className: string;
  /** Classes of each option, where a label is more than a line. */
  readonly optionClassName?: string;
  readonly onChange: (value: Value) => void;
}

/** One choice out of several that stand in columns of one width. */
export function ChoiceGrid<Value extends string>({
  label,
  value,
  options,
  className,
  optionClassName = "h-8 pointer-coarse:h-11",
  onChange,
}: ChoiceGridProps<Value>) {
  return (
    <RadioGroup
      aria-label={label}
      value={value ?? ""}
      onValueChange={(next) => onChange(next as Value)}
      className={cx("grid gap-1", className)}
    >
      {options.map((option) => (
        <Radio
          key={option.value}
          value={option.value}
          className={cx(
            "tabular flex min-w-0 cursor-pointer items-center justify-center rounded-control px-1 text-xs text-quiet ring-1 ring-line transition-colors duration-120 ring-inset hover:bg-hover hover:text-ink aria-checked:bg-checked aria-checked:text-ink aria-checked:ring-edge",
            optionClassName,
          )}
        >
          {option.label}
        </Radio>
      ))}
    </RadioGroup>
  );
}
