"use client";
import { Dialog } from "@base-ui/react/dialog";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { CommandGroup, CommandInput, CommandItem, CommandList, CommandRoot } from "cmdk";
import { ArrowLeft, ListChecks, Search } from "lucide-react";
import { useTranslations } from "next-intl";
import { useRouter } from "next/navigation";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { searchOf } from "../client/boards.ts";
import { api } from "../client/api.ts";
import { useFailureToast } from "../ui/failures.ts";
import { draftKeys, readDraft, writeDraft } from "../client/leaving.ts";
import { keys } from "../client/queries.ts";
import { paletteOpen, useOpening } from "../parts/openings.ts";
import { Button, IconButton, Kbd, Spinner } from "../ui/button.tsx";
import { isOfInputMethod } from "../ui/typed.ts";
import { type Choice, parseRecents, sectionsOf, withRecent } from "./choices.ts";
import { takeTyped } from "./early-keys.ts";
import { galleryOf, useChoices } from "./sources.ts";

const close = () => paletteOpen.set(false);

/** A small picture, or the sign of what it is. */
function Sign({ choice }: { readonly choice: Choice }) {
  const { cover, icon: Icon = ListChecks } = choice;
  if (cover === undefined) return <Icon aria-hidden className="mx-1.5 size-4 shrink-0 text-quiet" />;
  return <img src={cover.src} alt="" className="size-7 shrink-0 rounded-[4px] bg-well object-cover" />;
}

interface ChoiceRowProps {
  readonly choice: Choice;
  readonly onChoose: (choice: Choice) => void;
}

function ChoiceRow({ choice, onChoose }: ChoiceRowProps) {
  const { key, label, detail, keys } = choice;
  return (
    <CommandItem
      value={key}
      onSelect={() => onChoose(choice)}
      className="flex min-h-10 cursor-pointer items-center gap-2.5 rounded-control px-2 text-sm select-none data-[selected=true]:bg-ink/8 pointer-coarse:min-h-11"
    >
      <Sign choice={choice} />
      <span className="max-w-[70%] shrink-0 truncate">{label}</span>
      <span className="min-w-0 flex-1 truncate text-xs text-quiet">{detail}</span>
      {keys === undefined ? null : (
        <span className="shrink-0 max-sm:hidden">
          <Kbd keys={keys} />
        </span>
      )}
    </CommandItem>
  );
}

const signLook = "size-4 shrink-0 text-quiet";
const inputLook = "h-12 min-w-0 flex-1 bg-transparent text-base outline-none placeholder:text-quiet";

/** Presses keys in a field, each once the page shows what the one before it did. */
async function pressAgain(field: HTMLInputElement, moves: readonly string[]): Promise<void> {
  for (const key of moves) {
    await new Promise(requestAnimationFrame);
    field.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  }
}

interface FinderProps {
  readonly onNewBoard: () => void;
}

/** The line to type into, with what it finds. */
function Finder({ onNewBoard }: FinderProps) {
  const t = useTranslations("palette");
  const router = useRouter();
  const [text, setText] = useState("");
  const [marked, setMarked] = useState("");
  /** Enter was pressed before there was anything to choose. */
  const isEntered = useRef(false);
  const [recents] = useState(() => parseRecents(readDraft(draftKeys.palette)));
  const { choices, isSearching } = useChoices(text, onNewBoard);
  const sections = sectionsOf(choices, text, recents);
  const offered = sections.flatMap((section) => section.choices);
  const type = (next: string, isEnteredNow = false) => {
    setText(next);
    setMarked("");
    isEntered.current = isEnteredNow;
  };
  const choose = (choice: Choice) => {
    writeDraft(draftKeys.palette, JSON.stringify(withRecent(recents, choice)));
    if (choice.staysOpen !== true) close();
    if (choice.href !== undefined) router.push(choice.href);
    choice.act?.();
  };
  const [first] = offered;
  useEffect(() => {
    if (!isEntered.current || isSearching || first === undefined) return;
    isEntered.current = false;
    choose(first);
  });
  return (
    <CommandRoot
      label={t("label")}
      shouldFilter={false}
      vimBindings={false}
      loop
      value={offered.some(({ key }) => key === marked) ? marked : (offered[0]?.key ?? "")}
      onValueChange={setMarked}
      className="flex min-h-0 flex-col outline-none"
    >
      <div className="flex items-center gap-2.5 border-b border-line px-4">
        {isSearching ? (
          <Spinner className="size-4 text-quiet" />
        ) : (
          <Search aria-hidden className={signLook} />
        )}
        <CommandInput
          value={text}
          onValueChange={type}
          onFocus={({ currentTarget }) => {
            const early = takeTyped();
            // A focus that leaves and comes back at once finds nothing more, and must not undo the first.
            if (early === null) return;
            type(text + early.text, early.isEntered);
            void pressAgain(currentTarget, early.moves);
          }}
          onKeyDown={({ key, currentTarget, nativeEvent }) => {
            const root = currentTarget.closest("[cmdk-root]");
            const hasChoice = root?.querySelector("[aria-selected=true]") !== null;
            isEntered.current = key === "Enter" && !isOfInputMethod(nativeEvent) && !hasChoice && text !== "";
          }}
          maxLength={200}
          placeholder={t("placeholder")}
          className={inputLook}
        />
        <Dialog.Close className="rounded-control px-1 py-2 text-xs text-quiet hover:text-ink pointer-coarse:p-3">
          <span className="pointer-coarse:hidden">
            <Kbd keys="Escape" />
          </span>
          <span className="sr-only pointer-coarse:not-sr-only">{t("close")}</span>
        </Dialog.Close>
      </div>
      <p role="status" className="sr-only">
        {text.trim() === "" || isSearching ? null : t("found", { count: offered.length })}
      </p>
      <CommandList label={t("results")} className="min-h-0 overflow-y-auto overscroll-contain p-2">
        {sections.map((section) => (
          <CommandGroup
            key={section.title}
            heading={t(`groups.${section.title}`)}
            className="pb-1 [&_[cmdk-group-heading]]:px-2 [&_[cmdk-group-heading]]:pt-2 [&_[cmdk-group-heading]]:pb-1 [&_[cmdk-group-heading]]:text-xs [&_[cmdk-group-heading]]:font-medium [&_[cmdk-group-heading]]:text-quiet"
          >
            {section.choices.map((choice) => (
              <ChoiceRow key={choice.key} choice={choice} onChoose={choose} />
            ))}
          </CommandGroup>
        ))}
      </CommandList>
    </CommandRoot>
  );
}

/** Makes a board of the name that is typed, and shows it. */
function NewBoard({ onBack }: { readonly onBack: () => void }) {
  const t = useTranslations("palette");
  const router = useRouter();
  const queries = useQueryClient();
  const onError = useFailureToast();
  const [name, setName] = useState("");
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.focus(), []);
  const make = useMutation({
    mutationFn: () => api.boards.create.mutate({ name }),
    onSuccess: (board) => {
      void queries.invalidateQueries({ queryKey: keys.boards });
      close();
      router.push(galleryOf(searchOf(board)));
    },
    onError,
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (name.trim() !== "" && !make.isPending) make.mutate();
  };
  return (
    <form onSubmit={submit} className="flex items-center gap-1 ps-2 pe-4">
      <IconButton label={t("back")} onClick={onBack}>
        <ArrowLeft className="rtl:-scale-x-100" aria-hidden />
      </IconButton>
      <input
        ref={input}
        aria-label={t("boardName")}
        placeholder={t("boardName")}
        maxLength={60}
        autoComplete="off"
        value={name}
        onChange={(event) => setName(event.target.value)}
        className={inputLook}
      />
      <Button type="submit" size="small" disabled={name.trim() === "" || make.isPending}>
        {t("makeBoard")}
      </Button>
    </form>
  );
}

/** One line for pages, boards, pictures, jobs and actions. Near the top, where the keyboard of a phone does not cover it. */
export function Palette() {
  const t = useTranslations("palette");
  const isOpen = useOpening(paletteOpen);
  const [isNaming, setNaming] = useState(false);
  const popup = useRef<HTMLDivElement>(null);
  // At each opening, also at one in the middle of a closing.
  useEffect(() => paletteOpen.watch(() => paletteOpen.get() && setNaming(false)), []);
  return (
    <Dialog.Root open={isOpen} onOpenChange={paletteOpen.set}>
      <Dialog.Portal>
        <Dialog.Backdrop className="fixed inset-0 z-50 bg-scrim transition-opacity duration-150 data-ending-style:opacity-0 data-starting-style:opacity-0" />
        <Dialog.Popup
          ref={popup}
          initialFocus={() => popup.current?.querySelector("input") ?? true}
          className="fixed inset-x-2 top-2 z-50 mx-auto flex max-h-[min(480px,70dvh)] max-w-[600px] flex-col overflow-hidden rounded-card bg-raised shadow-float outline-none transition duration-150 data-ending-style:opacity-0 data-starting-style:-translate-y-1 data-starting-style:opacity-0 sm:top-[12vh]"
        >
          <Dialog.Title className="sr-only">{t("title")}</Dialog.Title>
          {isNaming ? (
            <NewBoard onBack={() => setNaming(false)} />
          ) : (
            <Finder onNewBoard={() => setNaming(true)} />
          )}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
