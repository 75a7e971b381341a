"use client";
import { useLocale } from "next-intl";
import { type KeyboardEvent, useState } from "react";
import { cx, inputStyle } from "./button.tsx";
import { readNumber } from "./typed.ts";

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
  const locale = useLocale();
  const [draft, setDraft] = useState<string | null>(null);
  const commit = () => {
    const typed = readNumber(draft ?? "", locale);
    setDraft(null);
    if (Number.isFinite(typed)) onChange(typed);
  };
  const add = (more: number) => {
    const typed = draft === null ? value : readNumber(draft, locale);
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
