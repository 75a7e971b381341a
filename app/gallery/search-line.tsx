"use client";
import { CircleHelp, Search } from "lucide-react";
import { useTranslations } from "next-intl";
import { type RefObject, useState } from "react";
import { useFailureToast } from "../ui/failures.ts";
import { useSearchFilter, useTextInUrl } from "../parts/filters.tsx";
import { cx, IconButton, inputStyle } from "../ui/button.tsx";
import { later } from "../ui/later.tsx";
import { Dialog } from "../ui/overlays.tsx";
import { readableSearch } from "../client/search-terms.ts";

const SaveSearch = later(async () => (await import("./board-dialogs.tsx")).SaveSearch);
const SearchBox = later(async () => (await import("./search-box.tsx")).SearchBox);

const SearchHelp = later(async () => (await import("./search-help.tsx")).SearchHelp);

interface HelpProps {
  readonly text: string;
  readonly setText: (text: string) => void;
  readonly input: RefObject<HTMLInputElement | null>;
}

/** The button of the help, and the help: an example that is pressed comes to the end of the line. */
function Help({ text, setText, input }: HelpProps) {
  const t = useTranslations("gallery.search.help");
  const { params, set } = useSearchFilter();
  const showFailure = useFailureToast();
  // In the address, since the palette leads here, too.
  const isOpen = params.has("help");
  const show = (isShown: boolean) => set("help", isShown ? "search" : null);
  const take = (example: string) => {
    show(false);
    setText(`${text.trim()} ${example} `.trimStart());
    // Once the dialog has given the focus back.
    setTimeout(() => input.current?.focus());
  };
  return (
    <>
      <IconButton
        label={t("title")}
        aria-haspopup="dialog"
        className="absolute top-0 inset-e-0"
        onClick={() => show(true)}
      >
        <CircleHelp aria-hidden />
      </IconButton>
      <Dialog open={isOpen} onOpenChange={show} title={t("title")}>
        <SearchHelp isWanted={isOpen} onFailure={showFailure} props={{ onTake: take }} />
      </Dialog>
    </>
  );
}

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
    className: cx(inputStyle, "h-9! pe-17! ps-8! [&::-webkit-search-cancel-button]:hidden"),
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
      <Help text={text} setText={setText} input={input} />
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
