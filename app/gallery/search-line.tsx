"use client";
import { BookmarkPlus, Search } from "lucide-react";
import { useTranslations } from "next-intl";
import { useState } from "react";
import { useBoards } from "../boards/queries.ts";
import { useFailureToast } from "../client/failures.ts";
import { useTextInUrl } from "../parts/filters.tsx";
import { cx, IconButton, inputStyle } from "../ui/button.tsx";
import { later } from "../ui/later.tsx";
import { isBoardAlone } from "./board-strip.tsx";
import { readableSearch } from "./search-terms.ts";

const SaveSearchDialog = later(async () => (await import("./board-dialogs.tsx")).SaveSearchDialog);
const SearchBox = later(async () => (await import("./search-box.tsx")).SearchBox);

/** One line for words and filters, all of it in the URL, with what may come next while it is typed. */
export function SearchLine() {
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

/** Keeps a search under a name; nothing is shown for one that is kept already, or that shows a board alone. */
export function SaveSearch({ search }: { readonly search: string | undefined }) {
  const t = useTranslations("boards");
  const boards = useBoards();
  const [isOpen, setOpen] = useState(false);
  const showFailure = useFailureToast();
  const isKept = boards?.some((board) => board.search === search) === true;
  if (search === undefined || isKept || isBoardAlone(search)) return null;
  return (
    <>
      <IconButton label={t("saveSearch")} onClick={() => setOpen(true)}>
        <BookmarkPlus aria-hidden />
      </IconButton>
      <SaveSearchDialog
        isWanted={isOpen}
        onFailure={(error) => {
          setOpen(false);
          showFailure(error);
        }}
        props={{ search, isOpen, onOpenChange: setOpen }}
      />
    </>
  );
}
