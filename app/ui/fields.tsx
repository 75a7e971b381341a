"use client";
import { type KeyboardEvent, useState } from "react";
import { cx } from "./cx.ts";
import { inputStyle } from "./input-style.ts";

interface Props {
  readonly label: string;
  readonly value: number;
  /** Gets what was typed once it is done; makes of it what is allowed. */
  readonly onChange: (value: number) => void;
  readonly className?: string;
}

/** A number to type; what is typed counts on leaving the field or with Enter. */
export function NumberInput({ label, value, onChange, className }: Props) {
  const [draft, setDraft] = useState<string | null>(null);
  const commit = () => {
    const typed = draft?.trim().replace(",", ".") ?? "";
    setDraft(null);
    if (typed !== "" && Number.isFinite(Number(typed))) onChange(Number(typed));
  };
  const press = (event: KeyboardEvent) => {
    if (event.key === "Enter") commit();
    if (event.key === "Escape") setDraft(null);
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
