"use client";
import type { ReactNode } from "react";
import { Chip } from "../ui/chip.tsx";
import { useSearchFilter } from "./use-search-filter.ts";

/** A line of filters; on a phone it scrolls sideways by itself. */
export function FilterChips({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  return (
    <div
      role="group"
      aria-label={label}
      className="no-scrollbar -mx-4 flex gap-1.5 overflow-x-auto px-4 py-1 sm:mx-0 sm:px-0.5"
    >
      {children}
    </div>
  );
}

interface FilterChipProps {
  /** Its name in the address. */
  readonly name: string;
  readonly value: string;
  readonly pressed: boolean;
  readonly children: ReactNode;
}

/** Sets the filter in the address, or takes it out when it is set. */
export function FilterChip({ name, value, pressed, children }: FilterChipProps) {
  const { set } = useSearchFilter();
  return (
    <Chip pressed={pressed} onPress={() => set(name, pressed ? null : value)}>
      {children}
    </Chip>
  );
}

export function FilterDivider() {
  return <span aria-hidden className="mx-1.5 w-px shrink-0 self-stretch bg-line" />;
}
