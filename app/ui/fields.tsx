"use client";
import { Checkbox as BaseCheckbox } from "@base-ui/react/checkbox";
import { Field as BaseField } from "@base-ui/react/field";
import { Radio } from "@base-ui/react/radio";
import { RadioGroup } from "@base-ui/react/radio-group";
import { Slider as BaseSlider } from "@base-ui/react/slider";
import { Check } from "lucide-react";
import { type ComponentProps, type KeyboardEvent, type ReactNode, useId, useState } from "react";
import { cx } from "./button.tsx";

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
    <label className="touch flex items-start gap-2.5 text-xs text-quiet has-data-disabled:cursor-default">
      <BaseCheckbox.Root
        checked={checked}
        onCheckedChange={onChange}
        disabled={disabled}
        aria-labelledby={labelId}
        className="mt-px flex size-[18px] shrink-0 items-center justify-center rounded-[4px] border border-edge bg-surface transition-colors duration-120 data-checked:border-ink data-checked:bg-ink data-disabled:opacity-45"
      >
        <BaseCheckbox.Indicator className="text-paper">
          <Check className="size-3.5" strokeWidth={3} aria-hidden />
        </BaseCheckbox.Indicator>
      </BaseCheckbox.Root>
      <span id={labelId} className="text-balance">
        {children}
      </span>
    </label>
  );
}

export const inputStyle =
  "h-10 w-full pointer-coarse:min-h-11 rounded-control border border-edge bg-surface px-3 text-sm text-ink placeholder:text-quiet transition-colors duration-120 hover:border-quiet focus-visible:outline-2 focus-visible:-outline-offset-1 focus-visible:outline-ink data-invalid:border-fail";

interface FieldProps extends Omit<
  ComponentProps<typeof BaseField.Control>,
  "className" | "render" | "style"
> {
  readonly label: string;
  readonly name: string;
  readonly hint?: string;
  readonly error?: string | null;
}

/** A labelled text input with its hint and its error. */
export function Field({ label, name, hint, error, ...control }: FieldProps) {
  return (
    <BaseField.Root name={name} invalid={Boolean(error)} className="flex flex-col gap-1.5">
      <BaseField.Label className="text-xs font-medium">{label}</BaseField.Label>
      <BaseField.Control {...control} className={inputStyle} />
      {hint === undefined ? null : (
        <BaseField.Description className="text-xs text-quiet">{hint}</BaseField.Description>
      )}
      {error ? (
        <BaseField.Error match className="text-xs text-fail">
          {error}
        </BaseField.Error>
      ) : null}
    </BaseField.Root>
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
      className="inline-flex h-9 max-w-full items-stretch gap-0.5 rounded-control bg-well p-[3px] ring-1 ring-line ring-inset"
    >
      {options.map((option) => (
        <Radio.Root
          key={option.value}
          value={option.value}
          className="touch flex cursor-pointer items-center rounded-[4px] px-2.5 wide:px-[clamp(7px,0.7vw,10px)] text-xs font-medium text-quiet transition-colors duration-120 hover:text-ink data-checked:bg-checked data-checked:text-ink data-checked:shadow-[0_0_0_1px_var(--line)]"
        >
          {option.label}
        </Radio.Root>
      ))}
    </RadioGroup>
  );
}

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
    <BaseSlider.Root
      value={value}
      min={min}
      max={max}
      step={step}
      onValueChange={(next) => onChange(Array.isArray(next) ? (next[0] ?? min) : next)}
      onValueCommitted={onSettled}
      className="w-full"
    >
      <BaseSlider.Control className="flex h-6 w-full touch-none items-center select-none">
        <BaseSlider.Track className="h-[3px] w-full rounded-full bg-line">
          {origin === undefined ? (
            <BaseSlider.Indicator className="rounded-full bg-ink" />
          ) : (
            <span
              className="absolute h-full rounded-full bg-ink"
              style={barOf({ value, min, max, origin })}
            />
          )}
          <BaseSlider.Thumb
            aria-label={label}
            className="size-4 rounded-full border-2 border-ink bg-surface has-focus-visible:outline-2 has-focus-visible:outline-offset-2 has-focus-visible:outline-ink"
          />
        </BaseSlider.Track>
      </BaseSlider.Control>
    </BaseSlider.Root>
  );
}

interface NumberInputProps {
  readonly label: string;
  readonly value: number;
  /** Called with the text after editing; corrects it to an allowed value. */
  readonly onChange: (value: number) => void;
  /** What the arrow keys up and down add and take, with Shift ten times as much. Default: they do nothing. */
  readonly step?: number;
  readonly className?: string;
}

/** A number field; `onChange` is called on blur, on Enter and by the arrow keys. */
export function NumberInput({ label, value, onChange, step, className }: NumberInputProps) {
  const [draft, setDraft] = useState<string | null>(null);
  const commit = () => {
    const typed = draft?.trim().replace(",", ".") ?? "";
    setDraft(null);
    if (typed !== "" && Number.isFinite(Number(typed))) onChange(Number(typed));
  };
  const add = (more: number) => {
    const typed = Number(draft ?? value);
    setDraft(null);
    onChange((Number.isFinite(typed) ? typed : value) + more);
  };
  const press = (event: KeyboardEvent) => {
    if (event.key === "Enter") commit();
    if (event.key === "Escape") setDraft(null);
    if (step === undefined || (event.key !== "ArrowUp" && event.key !== "ArrowDown")) return;
    event.preventDefault();
    add((event.key === "ArrowUp" ? step : -step) * (event.shiftKey ? 10 : 1));
  };
  return (
    <input
      type="text"
      inputMode="decimal"
      autoComplete="off"
      aria-label={label}
      value={draft ?? String(value)}
      onChange={(event) => setDraft(event.target.value)}
      onFocus={(event) => event.target.select()}
      onBlur={commit}
      onKeyDown={press}
      className={cx(inputStyle, "tabular", className)}
    />
  );
}
