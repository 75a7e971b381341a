"use client";
import { Search } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { useSearchFilter } from "./use-search-filter.ts";
import { cx } from "../ui/cx.ts";
import { inputStyle } from "../ui/input-style.ts";

interface Props {
  /** Its name in the address. */
  readonly name: string;
  readonly label: string;
  readonly placeholder: string;
  readonly className?: string;
  /** The one that `/` leads to; an address with its name and no words leads to it too. */
  readonly isSearch?: boolean;
}

const quietMs = 250;

/** A filter of words that lives in the address. */
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
