"use client";
import { ChevronsUpDown } from "lucide-react";
import { useId, useRef, useState } from "react";
import { useFailureToast } from "./failures.ts";
import { later } from "./later.tsx";

interface SelectOption {
  readonly value: string;
  readonly title: string;
  readonly description?: string;
  /** Why the option may not run. */
  readonly warning?: string | null;
}

export interface SelectProps {
  readonly label: string;
  readonly value: string;
  readonly options: readonly SelectOption[];
  readonly onChange: (value: string) => void;
  readonly hideLabel?: boolean;
}

export const selectStyle =
  "flex h-10 w-full items-center justify-between gap-2 rounded-control border border-edge bg-surface px-3 text-sm transition-colors duration-120 hover:border-quiet data-popup-open:border-quiet";

const SelectBox = later(async () => (await import("./select-box.tsx")).SelectBox);

/** One choice of several, each with a title and a description. */
export function Select(props: SelectProps) {
  const showFailure = useFailureToast();
  const place = useRef<HTMLDivElement>(null);
  const labelId = useId();
  const [isWanted, setWanted] = useState(false);
  const { label, value, options, hideLabel = false } = props;
  const onFailure = (error: unknown) => {
    setWanted(false);
    showFailure(error);
  };
  return (
    <div ref={place} className="contents">
      <SelectBox
        isWanted={isWanted}
        onFailure={onFailure}
        onReplaced={() => place.current?.querySelector<HTMLElement>("[role=combobox]")?.focus()}
        props={{ ...props, isOpenAtFirst: isWanted }}
      >
        <div className="flex min-w-0 flex-col gap-1.5">
          <span id={labelId} className={hideLabel ? "sr-only" : "text-xs font-medium"}>
            {label}
          </span>
          <button
            type="button"
            role="combobox"
            aria-labelledby={labelId}
            aria-haspopup="listbox"
            aria-expanded={false}
            aria-controls={`${labelId}-list`}
            onClick={() => setWanted(true)}
            onKeyDown={(event) => {
              if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
              event.preventDefault();
              setWanted(true);
            }}
            className={selectStyle}
          >
            <span className="truncate">{options.find((option) => option.value === value)?.title}</span>
            <ChevronsUpDown className="size-4 text-quiet" aria-hidden />
          </button>
        </div>
      </SelectBox>
    </div>
  );
}
