"use client";
import { Autocomplete } from "@base-ui/react/autocomplete";
import { Search, X } from "lucide-react";
import { useTranslations } from "next-intl";
import { type ComponentProps, type RefObject, useMemo, useState } from "react";
import { listOrders } from "@atelier/server/search-query";
import { useBoards } from "../client/boards.ts";
import { useAllWorkflows } from "../client/queries.ts";
import { jobKindOrder } from "../client/kinds.ts";
import { useTags } from "../pictures/marks.tsx";
import { IconButton } from "../ui/button.tsx";
import { type Completion, completionsOf, type OfferedValues } from "./search-completions.ts";

const flags = ["starred", "result", "upload", "shared", "trashed"] as const;
const plain = (...values: string[]) => values.map((value) => ({ value }));

/** What may follow an operator. */
export function useOfferedValues(): OfferedValues {
  const t = useTranslations("gallery.search");
  const jobs = useTranslations("jobs.kinds");
  const orders = useTranslations("gallery.orders");
  const workflows = useAllWorkflows();
  const tags = useTags();
  const boards = useBoards();
  return useMemo(
    () => ({
      kind: jobKindOrder.map((value) => ({ value, label: jobs(value) })),
      is: flags.map((value) => ({ value, label: t(`flags.${value}`) })),
      model:
        workflows?.map(({ name, title, cloud }) => ({ value: cloud?.model ?? name, label: title })) ?? [],
      rating: plain("5", ">=4", ">=3", "0"),
      board: (boards ?? [])
        .filter(({ search }) => search === null)
        .map(({ name, pictures }) => ({ value: name, label: t("ofTag", { count: pictures ?? 0 }) })),
      tag: tags?.map(({ name, pictures }) => ({ value: name, label: t("ofTag", { count: pictures }) })) ?? [],
      size: plain(">2000", ">4000", "1024x1024"),
      order: listOrders.map((value) => ({ value, label: orders(value) })),
      from: plain("7d", "30d", "1y"),
      to: plain("7d", "30d", "1y"),
    }),
    [boards, jobs, orders, t, tags, workflows],
  );
}

function Suggestion({ completion }: { readonly completion: Completion }) {
  const t = useTranslations("gallery.search");
  const { term, label, operator } = completion;
  return (
    <Autocomplete.Item
      value={completion}
      className="flex min-h-9 cursor-pointer items-baseline justify-between gap-4 rounded-control px-2.5 py-2 text-sm outline-none select-none data-highlighted:bg-hover"
    >
      <span className="font-medium">{term}</span>
      <span className="truncate text-xs text-quiet">{operator ? t(`operators.${operator}`) : label}</span>
    </Autocomplete.Item>
  );
}

interface Props {
  readonly text: string;
  readonly setText: (text: string) => void;
  readonly input: RefObject<HTMLInputElement | null>;
  /** What the input is like, also before this is loaded. */
  readonly line: ComponentProps<"input">;
  /** Something was typed before this was loaded. */
  readonly isOpenAtFirst: boolean;
}

/** The line of the search with what may come next while it is typed. */
export function SearchBox({ text, setText, input, line, isOpenAtFirst }: Props) {
  const t = useTranslations("gallery.search");
  const offered = useOfferedValues();
  const completions = useMemo(() => completionsOf(text, offered), [offered, text]);
  const [isOpen, setIsOpen] = useState(isOpenAtFirst);
  const change = (next: string) => {
    setText(next);
    // The list closes with a choice, but after an operator its values are wanted.
    if (next.endsWith(":")) queueMicrotask(() => setIsOpen(true));
  };
  return (
    <Autocomplete.Root
      items={completions}
      mode="none"
      value={text}
      onValueChange={change}
      open={isOpen && completions.length > 0}
      onOpenChange={setIsOpen}
      itemToStringValue={({ text: whole }: Completion) => whole}
      openOnInputClick
    >
      <Autocomplete.InputGroup className="relative">
        <Search
          className="pointer-events-none absolute top-1/2 inset-s-2.5 size-4 -translate-y-1/2 text-quiet"
          aria-hidden
        />
        <Autocomplete.Input ref={input} {...line} />
        {text === "" ? null : (
          <Autocomplete.Clear
            render={<IconButton label={t("clear")} className="absolute top-1/2 inset-e-8 -translate-y-1/2" />}
          >
            <X aria-hidden />
          </Autocomplete.Clear>
        )}
      </Autocomplete.InputGroup>
      <Autocomplete.Portal>
        <Autocomplete.Positioner sideOffset={6} align="start" className="z-60">
          <Autocomplete.Popup className="max-h-[min(420px,var(--available-height))] w-(--anchor-width) max-w-[calc(100vw-24px)] overflow-y-auto rounded-card bg-raised p-1 shadow-float outline-none">
            <Autocomplete.List>
              {(completion: Completion) => <Suggestion key={completion.term} completion={completion} />}
            </Autocomplete.List>
          </Autocomplete.Popup>
        </Autocomplete.Positioner>
      </Autocomplete.Portal>
    </Autocomplete.Root>
  );
}
