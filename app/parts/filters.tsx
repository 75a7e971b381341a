"use client";
import { Search } from "lucide-react";
import { useSearchParams } from "next/navigation";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { cx, inputStyle } from "../ui/button.tsx";
import { Chip } from "../ui/display.tsx";
import { useFirstText } from "../ui/hooks.ts";

function addressWith(name: string, value: string | null): string {
  const next = new URLSearchParams(window.location.search);
  if (value === null || value === "") next.delete(name);
  else next.set(name, value);
  const query = next.toString();
  return query === "" ? window.location.pathname : `?${query}`;
}

const set = (name: string, value: string | null) =>
  window.history.replaceState(null, "", addressWith(name, value));

const go = (name: string, value: string | null) =>
  window.history.pushState(null, "", addressWith(name, value));

/** Reads and sets filters in the URL, so that they survive a reload and can be shared; Back leaves what `go` went to. */
export function useSearchFilter() {
  return { params: useSearchParams(), set, go };
}

/** A row of filters: it wraps on a wide screen, else it scrolls sideways and fades where more follows. */
interface FilterChipsProps {
  readonly label: string;
  readonly className?: string;
  readonly children: ReactNode;
}

export function FilterChips({ label, className, children }: FilterChipsProps) {
  return (
    <div
      role="group"
      aria-label={label}
      className={cx(
        "no-scrollbar -mx-4 flex gap-1.5 overflow-x-auto py-1.5 pe-8 ps-4 max-wide:mask-r-from-[calc(100%-32px)] sm:-mx-0.5 sm:ps-0.5 wide:flex-wrap wide:pe-0.5",
        className,
      )}
    >
      {children}
    </div>
  );
}

interface FilterChipProps {
  /** Name of the query parameter in the URL. */
  readonly name: string;
  readonly value: string;
  readonly pressed: boolean;
  readonly children: ReactNode;
}

/** Toggles a filter in the URL. */
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
  /** Name of the query parameter in the URL. */
  readonly name: string;
  readonly label: string;
  readonly placeholder: string;
  readonly className?: string;
  /** The shortcut `/` focuses this field; a URL with its parameter and an empty value focuses it on load. */
  readonly isSearch?: boolean;
}

const quietMs = 250;

/** A text that is typed, and in the URL after a short pause in typing. A URL with the parameter and an empty value focuses its input on load. */
export function useTextInUrl(name: string) {
  const params = useSearchParams();
  const inUrl = params.get(name) ?? "";
  const [text, setText] = useState(inUrl);
  const sent = useRef(inUrl);
  const input = useRef<HTMLInputElement>(null);
  useFirstText(input, text, setText);
  const focusOnLoad = useRef(params.get(name) === "");
  useEffect(() => {
    if (focusOnLoad.current) input.current?.focus();
  }, []);
  useEffect(() => {
    const timer = setTimeout(() => {
      if (text.trim() === sent.current) return;
      sent.current = text.trim();
      set(name, sent.current);
    }, quietMs);
    return () => clearTimeout(timer);
  }, [name, text]);
  // A link, Back, a chip or "Clear" changed the URL.
  useEffect(() => {
    if (inUrl === sent.current) return;
    sent.current = inUrl;
    setText(inUrl);
  }, [inUrl]);
  return { text, setText, input };
}

/** A text filter in the URL. */
export function TextFilter({ name, label, placeholder, className, isSearch = false }: Props) {
  const { text, setText, input } = useTextInUrl(name);
  return (
    <div className={cx("relative", className)}>
      {isSearch ? (
        <Search
          className="pointer-events-none absolute top-1/2 inset-s-2.5 size-4 -translate-y-1/2 text-quiet"
          aria-hidden
        />
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
        className={cx(inputStyle, "h-9!", isSearch && "ps-8!")}
      />
    </div>
  );
}
