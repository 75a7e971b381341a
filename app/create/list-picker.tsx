"use client";
import { useTranslations } from "next-intl";
import { useState } from "react";
import { inputStyle } from "../ui/button.tsx";
import { shownName } from "./listed.tsx";

export interface ListPickerProps {
  /** In the order in which they are shown. */
  readonly known: readonly string[];
  readonly chosen?: string | undefined;
  /** What is said where none is found. */
  readonly none: string;
  readonly onPick: (name: string) => void;
}

/** One of the files that servers list, found by parts of its name. */
export function ListPicker({ known, chosen, none, onPick }: ListPickerProps) {
  const t = useTranslations("create.listed");
  const [words, setWords] = useState("");
  const wanted = words.toLowerCase().split(/\s+/u);
  const found = known.filter((name) => wanted.every((word) => name.toLowerCase().includes(word)));
  return (
    <div className="flex flex-col gap-3">
      <input
        type="search"
        aria-label={t("search")}
        placeholder={t("search")}
        value={words}
        onChange={(event) => setWords(event.target.value)}
        className={inputStyle}
      />
      <ul className="-mx-2.5 flex max-h-[48dvh] flex-col overflow-y-auto">
        {found.map((name) => (
          <li key={name}>
            <button
              type="button"
              aria-pressed={chosen === undefined ? undefined : name === chosen}
              onClick={() => onPick(name)}
              className="flex min-h-11 w-full flex-col justify-center rounded-control px-2.5 py-1.5 text-start hover:bg-hover aria-pressed:bg-hover"
            >
              <span className="text-sm font-medium break-all">{shownName(name)}</span>
              <span className="text-xs break-all text-quiet">{name}</span>
            </button>
          </li>
        ))}
      </ul>
      {found.length === 0 ? <p className="text-sm text-quiet">{none}</p> : null}
    </div>
  );
}
