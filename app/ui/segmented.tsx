"use client";
import { Radio } from "@base-ui/react/radio";
import { RadioGroup } from "@base-ui/react/radio-group";

interface Option<Value extends string> {
  readonly value: Value;
  readonly label: string;
}

interface Props<Value extends string> {
  readonly label: string;
  readonly value: Value;
  readonly options: readonly Option<Value>[];
  readonly onChange: (value: Value) => void;
}

/** One choice of a few, all in sight. */
export function Segmented<Value extends string>({ label, value, options, onChange }: Props<Value>) {
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
          className="flex cursor-pointer items-center rounded-[4px] px-2.5 wide:px-[clamp(7px,0.7vw,10px)] text-xs font-medium text-quiet transition-colors duration-120 hover:text-ink data-checked:bg-raised data-checked:text-ink data-checked:shadow-[0_0_0_1px_var(--line)]"
        >
          {option.label}
        </Radio.Root>
      ))}
    </RadioGroup>
  );
}
