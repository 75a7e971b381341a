"use client";
import { Check } from "lucide-react";
import { type ComponentProps, type ReactNode, useId } from "react";
import { cx, inputStyle } from "./button.tsx";
import { Radio, RadioGroup } from "./radio.tsx";

interface CheckboxProps {
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
  readonly disabled?: boolean;
  readonly children: ReactNode;
}

/** A checkbox with a clickable label. */
export function Checkbox({ checked, onChange, disabled, children }: CheckboxProps) {
  const labelId = useId();
  return (
    <label className="touch flex items-start gap-2.5 text-xs text-quiet has-disabled:cursor-default">
      <button
        type="button"
        role="checkbox"
        aria-checked={checked}
        onClick={() => onChange(!checked)}
        disabled={disabled}
        aria-labelledby={labelId}
        className="mt-px flex size-[18px] shrink-0 items-center justify-center rounded-[4px] border border-edge bg-surface text-paper transition-colors duration-120 disabled:opacity-45 aria-checked:border-ink aria-checked:bg-ink"
      >
        {checked ? <Check className="size-3.5" strokeWidth={3} aria-hidden /> : null}
      </button>
      <span id={labelId} className="text-balance">
        {children}
      </span>
    </label>
  );
}

interface FieldProps extends Omit<ComponentProps<"input">, "className" | "style"> {
  readonly label: string;
  readonly name: string;
  readonly hint?: string;
  readonly error?: string | null;
  readonly onValueChange?: (value: string) => void;
}

/** A labelled text input with its hint and its error. */
export function Field({ label, hint, error, onValueChange, onChange, ...control }: FieldProps) {
  const id = useId();
  const [hintId, errorId] = [`${id}-hint`, `${id}-error`];
  const describedBy = cx(hint !== undefined && hintId, Boolean(error) && errorId);
  return (
    <div className="flex flex-col gap-1.5">
      <label htmlFor={id} className="text-xs font-medium">
        {label}
      </label>
      <input
        {...control}
        id={id}
        aria-describedby={describedBy || undefined}
        aria-invalid={error ? true : undefined}
        onChange={(event) => {
          onChange?.(event);
          onValueChange?.(event.target.value);
        }}
        className={inputStyle}
      />
      {hint === undefined ? null : (
        <p id={hintId} className="text-xs text-quiet">
          {hint}
        </p>
      )}
      {error ? (
        <p id={errorId} className="text-xs text-fail">
          {error}
        </p>
      ) : null}
    </div>
  );
}

interface Option<Value extends string> {
  readonly value: Value;
  readonly label: string;
}

interface SegmentedProps<Value extends string> {
  readonly label: string;
  readonly value: Value;
  readonly options: readonly Option<Value>[];
  readonly onChange: (value: Value) => void;
}

/** One choice out of a few; all options are visible. */
export function Segmented<Value extends string>({ label, value, options, onChange }: SegmentedProps<Value>) {
  return (
    <RadioGroup
      aria-label={label}
      value={value}
      onValueChange={(next) => onChange(next as Value)}
      className="inline-flex min-h-9 max-w-full flex-wrap items-stretch gap-0.5 rounded-control bg-well p-[3px] ring-1 ring-line ring-inset"
    >
      {options.map((option) => (
        <Radio
          key={option.value}
          value={option.value}
          className="touch flex min-h-7.5 cursor-pointer items-center rounded-[4px] px-2.5 wide:px-[clamp(7px,0.7vw,10px)] text-xs font-medium text-quiet transition-colors duration-120 hover:text-ink aria-checked:bg-checked aria-checked:text-ink aria-checked:shadow-[0_0_0_1px_var(--line)]"
        >
          {option.label}
        </Radio>
      ))}
    </RadioGroup>
  );
}
