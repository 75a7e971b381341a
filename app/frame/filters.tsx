"use client";
import { Search } from "lucide-react";
import { useSearchParams } from "next/navigation";
import { type ReactNode, useCallback, useEffect, useRef, useState } from "react";
import { cx } from "../ui/button.tsx";
import { Chip } from "../ui/display.tsx";
import { inputStyle } from "../ui/fields.tsx";

/** Filters are part of the address: they survive a reload and can be shared. */
export function useSearchFilter() {
  const params = useSearchParams();
  const set = useCallback((name: string, value: string | null) => {
    const next = new URLSearchParams(window.location.search);
    if (value === null || value === "") next.delete(name);
    else next.set(name, value);
    const query = next.toString();
    window.history.replaceState(null, "", query === "" ? window.location.pathname : `?${query}`);
  }, []);
  return { params, set };
}

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

interface Props {
  /** Its name in the address. */
  readonly name: string;
  readonly label: string;
  readonly placeholder: string;
  readonly className?: string;
  /** The one that `/` leads to; an address with its name and an empty text leads to it too. */
  readonly isSearch?: boolean;
}

const quietMs = 250;

/** A text filter in the address. */
export function TextFilter({ name, label, placeholder, className, isSearch = false }: Props) {
  const { params, set } = useSearchFilter();
  const asked = params.get(name) ?? "";
  const [text, setText] = useState(asked);
  const sent = useRef(asked);
  const input = useRef<HTMLInputElement>(null);
  const isLedTo = useRef(isSearch && params.get(name) === "");
  useEffect(() => {
    if (isLedTo.current) input.current?.focus();
  }, []);
  useEffect(() => {
    const timer = setTimeout(() => {
      if (text.trim() === sent.current) return;
      sent.current = text.trim();
      set(name, sent.current);
    }, quietMs);
    return () => clearTimeout(timer);
  }, [name, set, text]);
  // A link, Back or "clear" changed the address.
  useEffect(() => {
    if (asked === sent.current) return;
    sent.current = asked;
    setText(asked);
  }, [asked]);
  return (
    <div className={cx("relative", className)}>
      {isSearch ? (
        <Search className="pointer-events-none absolute top-2.5 left-2.5 size-4 text-quiet" aria-hidden />
      ) : null}
      <input
        ref={input}
        type={isSearch ? "search" : "text"}
        aria-label={label}
        placeholder={placeholder}
        aria-keyshortcuts={isSearch ? "/" : undefined}
        maxLength={200}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => event.key === "Escape" && event.currentTarget.blur()}
        className={cx(inputStyle, "h-9!", isSearch && "pl-8!")}
      />
    </div>
  );
}
