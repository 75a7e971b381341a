"use client";
import { Select as Base } from "@base-ui/react/select";
import { Check, ChevronsUpDown } from "lucide-react";
import { useId } from "react";
import { cx } from "./button.tsx";
import { type SelectProps, selectStyle } from "./select.tsx";

interface BoxProps extends SelectProps {
  readonly isOpenAtFirst: boolean;
}

function Option({ option }: { readonly option: SelectProps["options"][number] }) {
  return (
    <Base.Item
      value={option.value}
      className="grid cursor-pointer grid-cols-[minmax(0,1fr)_16px] gap-x-3 rounded-control px-2.5 py-2 outline-none select-none data-highlighted:bg-hover"
    >
      <Base.ItemText className={cx("text-sm font-medium", option.warning ? "text-quiet" : "text-ink")}>
        {option.title}
      </Base.ItemText>
      <Base.ItemIndicator className="self-center">
        <Check className="size-4" aria-hidden />
      </Base.ItemIndicator>
      {option.description ? (
        <span className="col-start-1 text-xs text-quiet">{option.description}</span>
      ) : null}
      {option.warning ? (
        <span className="col-start-1 text-xs break-words text-warn">{option.warning}</span>
      ) : null}
    </Base.Item>
  );
}

/** What `Select` is once it is loaded. */
export function SelectBox({ label, value, options, onChange, hideLabel = false, isOpenAtFirst }: BoxProps) {
  const labelId = useId();
  return (
    <Base.Root
      defaultOpen={isOpenAtFirst}
      value={value}
      onValueChange={(next) => next !== null && onChange(next)}
      items={options.map((option) => ({ value: option.value, label: option.title }))}
      modal={false}
    >
      <div className="flex min-w-0 flex-col gap-1.5">
        <span id={labelId} className={hideLabel ? "sr-only" : "text-xs font-medium"}>
          {label}
        </span>
        <Base.Trigger aria-labelledby={labelId} className={selectStyle}>
          <Base.Value className="truncate" />
          <Base.Icon className="text-quiet">
            <ChevronsUpDown className="size-4" aria-hidden />
          </Base.Icon>
        </Base.Trigger>
      </div>
      <Base.Portal>
        <Base.Positioner sideOffset={6} alignItemWithTrigger={false} className="z-60">
          <Base.Popup className="max-h-[min(420px,var(--available-height))] w-[max(var(--anchor-width),300px)] max-w-[calc(100vw-24px)] overflow-y-auto rounded-card bg-raised p-1 shadow-float outline-none transition-opacity duration-120 data-ending-style:opacity-0 data-starting-style:opacity-0">
            <Base.List>
              {options.map((option) => (
                <Option key={option.value} option={option} />
              ))}
            </Base.List>
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}
