"use client";
import { Search } from "lucide-react";
import { useTranslations } from "next-intl";
import { useState } from "react";
import { useFailureToast } from "../ui/failures.ts";
import { useTextInUrl } from "../parts/filters.tsx";
import { cx, inputStyle } from "../ui/button.tsx";
import { later } from "../ui/later.tsx";
import { readableSearch } from "../client/search-terms.ts";

const SaveSearch = later(async () => (await import("./board-dialogs.tsx")).SaveSearch);
const SearchBox = later(async () => (await import("./search-box.tsx")).SearchBox);

/** One line for words and filters, all of it in the URL, with what may come next while it is typed. */
function SearchLine() {
  const t = useTranslations("gallery.search");
  const { text, setText, input } = useTextInUrl("search");
  // Before the code of its offers was there.
  const [isTyped, setTyped] = useState(false);
  const { wrong } = readableSearch(text);
  const line = {
    type: "search",
    "aria-label": t("label"),
    "aria-keyshortcuts": "/",
    "aria-describedby": wrong ? "search-wrong" : undefined,
    "aria-invalid": wrong ? true : undefined,
    placeholder: t("hint"),
    maxLength: 500,
    autoCapitalize: "none",
    spellCheck: false,
    className: cx(inputStyle, "h-9! pe-9! ps-8! [&::-webkit-search-cancel-button]:hidden"),
  };
  const takeFocus = (before: Element) => {
    input.current?.focus();
    if (!(before instanceof HTMLInputElement)) return;
    input.current?.setSelectionRange(before.selectionStart, before.selectionEnd);
  };
  return (
    <div className="relative min-w-0 flex-1 sm:w-96 sm:flex-none">
      <SearchBox
        isWanted={false}
        onFailure={stayPlain}
        onReplaced={takeFocus}
        props={{ text, setText, input, line, isOpenAtFirst: isTyped }}
      >
        <div className="relative">
          <Search
            className="pointer-events-none absolute top-1/2 inset-s-2.5 size-4 -translate-y-1/2 text-quiet"
            aria-hidden
          />
          <input
            ref={input}
            {...line}
            role="combobox"
            aria-expanded={false}
            aria-controls="search-offers"
            aria-autocomplete="list"
            value={text}
            onChange={(event) => {
              setTyped(true);
              setText(event.target.value);
            }}
          />
        </div>
      </SearchBox>
      {wrong ? (
        <p id="search-wrong" role="status" className="pt-1 text-xs text-warn">
          {t("wrong", { term: wrong.source, takes: t(`takes.${wrong.operator}`) })}
        </p>
      ) : null}
    </div>
  );
}

/** The line works without offering what may come next. */
function stayPlain(): void {}

interface ToolsProps {
  /** What of the line can be read. */
  readonly search: string | undefined;
}

/** The line, and the button that keeps what it asks for. */
export function SearchTools({ search }: ToolsProps) {
  const showFailure = useFailureToast();
  return (
    <>
      <SearchLine />
      {/* Beside the line, which stays where it is while the first letter brings the button. */}
      <div className="empty:hidden sm:order-first">
        <SaveSearch isWanted={search !== undefined} onFailure={showFailure} props={{ search }} />
      </div>
    </>
  );
}
