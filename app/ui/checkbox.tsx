"use client";
import { Checkbox as BaseCheckbox } from "@base-ui/react/checkbox";
import { Check } from "lucide-react";
import { type ReactNode, useId } from "react";

interface Props {
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
  readonly disabled?: boolean;
  readonly children: ReactNode;
}

/** A checkbox with its words; a click on the words counts too. */
export function Checkbox({ checked, onChange, disabled, children }: Props) {
  const wordsId = useId();
  return (
    <label className="flex items-start gap-2.5 text-xs text-quiet has-data-disabled:cursor-default">
      <BaseCheckbox.Root
        checked={checked}
        onCheckedChange={onChange}
        disabled={disabled}
        aria-labelledby={wordsId}
        className="mt-px flex size-[18px] shrink-0 items-center justify-center rounded-[4px] border border-edge bg-surface transition-colors duration-120 data-checked:border-ink data-checked:bg-ink data-disabled:opacity-45"
      >
        <BaseCheckbox.Indicator className="text-paper">
          <Check className="size-3.5" strokeWidth={3} aria-hidden />
        </BaseCheckbox.Indicator>
      </BaseCheckbox.Root>
      <span id={wordsId} className="text-balance">
        {children}
      </span>
    </label>
  );
}
