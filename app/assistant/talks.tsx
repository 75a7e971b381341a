"use client";
import { useQueryClient } from "@tanstack/react-query";
import { ChevronDown, Search, X } from "lucide-react";
import { useFormatter, useTranslations } from "next-intl";
import { type KeyboardEvent, useEffect, useId, useRef, useState } from "react";
import { keptApi, useDeferredRemoval, useHidden } from "../client/removal.ts";
import { useStudioNow } from "../client/use-clock.ts";
import { LoadFailed } from "../parts/page-parts.tsx";
import { Button, cx, IconButton, inputStyle } from "../ui/button.tsx";
import { useSettled } from "../ui/hooks.ts";
import { isCombined } from "../ui/key-press.ts";
import { isOfInputMethod } from "../ui/typed.ts";
import { conversationKeys, type Talk, useConversations, useFoundTalks } from "./queries.ts";
import { FoundRow, TalkRow } from "./talk-row.tsx";

const dayMs = 86_400_000;
const weekDays = 7;
const everyMs = 60_000;
const searchMs = 200;

/** Days of the calendar of this browser, counted. */
function dayOf(at: Date): number {
  return Date.UTC(at.getFullYear(), at.getMonth(), at.getDate()) / dayMs;
}

interface Group {
  /** A month by its first day. */
  readonly name: "pinned" | "today" | "yesterday" | "week" | Date;
  readonly talks: Talk[];
}

function nameOf({ isPinned, lastAt }: Talk, nowMs: number): Group["name"] {
  if (isPinned) return "pinned";
  const at = new Date(lastAt);
  const daysAgo = dayOf(new Date(nowMs)) - dayOf(at);
  if (daysAgo <= 0) return "today";
  if (daysAgo === 1) return "yesterday";
  return daysAgo <= weekDays ? "week" : new Date(at.getFullYear(), at.getMonth(), 1);
}

/** Conversations in their order, by the days on which they were last used. */
export function groupTalks(talks: readonly Talk[], nowMs: number): Group[] {
  const groups = new Map<string, Group>();
  for (const talk of talks) {
    const name = nameOf(talk, nowMs);
    const group = groups.get(String(name)) ?? { name, talks: [] };
    group.talks.push(talk);
    groups.set(String(name), group);
  }
  return [...groups.values()];
}

interface Props {
  readonly currentId: string | null;
  /** The conversation on the page was deleted. */
  readonly onCurrentDeleted: () => void;
}

interface PanelProps extends Props {
  /** One was opened. */
  readonly onOpen: () => void;
}

function GroupHeading({ name, id }: Pick<Group, "name"> & { readonly id: string }) {
  const t = useTranslations("assistant.talks");
  const format = useFormatter();
  return (
    <h2 id={id} className="px-3 pt-4 pb-1 text-xs font-medium text-quiet first-letter:uppercase">
      {name instanceof Date ? format.dateTime(name, { month: "long", year: "numeric" }) : t(name)}
    </h2>
  );
}

/** The user's conversations, the last used first. */
function TalkList({
  currentId,
  onOpen,
  onCurrentDeleted,
  talks,
}: PanelProps & { readonly talks: readonly Talk[] }) {
  const t = useTranslations("assistant");
  const queries = useQueryClient();
  const removeLater = useDeferredRemoval();
  const nowMs = useStudioNow(everyMs);
  const headings = useId();
  const remove = (id: string) => {
    removeLater({
      id,
      title: t("delete.done"),
      text: t("delete.text"),
      send: () => keptApi.assistant.deleteConversation.mutate({ id }),
      onSettled: () => queries.invalidateQueries({ queryKey: conversationKeys.list }),
    });
    if (id === currentId) onCurrentDeleted();
  };
  return groupTalks(talks, nowMs).map(({ name, talks: ofGroup }, at) => (
    <section key={String(name)} aria-labelledby={`${headings}${at}`}>
      <GroupHeading name={name} id={`${headings}${at}`} />
      <ul className="flex flex-col gap-0.5">
        {ofGroup.map((talk) => (
          <TalkRow
            key={talk.id}
            talk={talk}
            isCurrent={talk.id === currentId}
            onOpen={onOpen}
            onDelete={() => remove(talk.id)}
          />
        ))}
      </ul>
    </section>
  ));
}

interface FoundProps extends Pick<PanelProps, "onOpen"> {
  readonly text: string;
  /** Called when all that is found is there; null: nothing waits for it. */
  readonly onFound: (() => void) | null;
}

function FoundList({ text, onOpen, onFound }: FoundProps) {
  const t = useTranslations("assistant.talks");
  const hidden = useHidden();
  const { data, error, refetch, isPlaceholderData } = useFoundTalks(text);
  const isThere = data !== undefined && !isPlaceholderData;
  useEffect(() => {
    if (isThere) onFound?.();
  }, [isThere, onFound]);
  if (error !== null) return <LoadFailed error={error} onRetry={() => void refetch()} />;
  const found = data?.items.filter(({ id }) => !hidden.has(id));
  return (
    <>
      <p role="status" className={cx("px-3 pt-4 pb-1 text-xs text-quiet", !found && "invisible")}>
        {found?.length === 0 ? t("nothing") : t("found", { count: found?.length ?? 0 })}
      </p>
      <ul className="flex flex-col gap-0.5">
        {found?.map((talk) => (
          <FoundRow key={talk.id} talk={talk} onOpen={onOpen} />
        ))}
      </ul>
    </>
  );
}

/** Where the focus goes from one line, or from the search above the first, by an arrow. */
function stepOf(key: string, at: number, count: number): number | null {
  if (key === "ArrowDown") return Math.min(at + 1, count - 1);
  if (key === "ArrowUp") return Math.max(at - 1, -1);
  if (at >= 0 && key === "Home") return 0;
  return at >= 0 && key === "End" ? count - 1 : null;
}

/** Takes the focus along by an arrow, in the list that has it. */
function stepByKey(this: HTMLElement, event: globalThis.KeyboardEvent): void {
  if (isCombined(event) || isOfInputMethod(event) || !(event.target instanceof HTMLElement)) return;
  const lines = [...this.querySelectorAll<HTMLElement>("[data-talk]")];
  const at = lines.indexOf(event.target);
  const isField = event.target.matches("input[type=search]");
  const next = at === -1 && !isField ? null : stepOf(event.key, at, lines.length);
  if (next === null || lines.length === 0) return;
  event.preventDefault();
  (lines[next] ?? this.querySelector("input"))?.focus();
}

interface SearchFieldProps {
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly onEnter: () => void;
}

function SearchField({ text, onText, onEnter }: SearchFieldProps) {
  const t = useTranslations("assistant.talks");
  const field = useRef<HTMLInputElement>(null);
  const onKeyDown = (event: KeyboardEvent<HTMLInputElement>) => {
    if (isOfInputMethod(event.nativeEvent)) return event.stopPropagation();
    if (event.key === "Enter") onEnter();
    else if (event.key === "Escape" && text !== "") onText("");
    else return undefined;
    return event.preventDefault();
  };
  return (
    <div className="sticky top-0 z-10 bg-paper p-1 pb-0">
      <Search
        className="pointer-events-none absolute top-1/2 inset-s-3.5 size-4 -translate-y-1/2 text-quiet"
        aria-hidden
      />
      <input
        ref={field}
        type="search"
        aria-label={t("search")}
        placeholder={t("search")}
        maxLength={200}
        autoComplete="off"
        spellCheck={false}
        value={text}
        onChange={(event) => onText(event.target.value)}
        onKeyDown={onKeyDown}
        className={cx(inputStyle, "h-9! ps-8! pe-9! [&::-webkit-search-cancel-button]:appearance-none")}
      />
      {text === "" ? null : (
        <IconButton
          label={t("clear")}
          onClick={() => {
            onText("");
            field.current?.focus();
          }}
          className="absolute! inset-e-1 bottom-0"
        >
          <X aria-hidden />
        </IconButton>
      )}
    </div>
  );
}

function useTalks() {
  const query = useConversations();
  const hidden = useHidden();
  const talks = query.data?.pages.flatMap((page) => page.items).filter(({ id }) => !hidden.has(id));
  return { ...query, talks: talks ?? [] };
}

/** The conversations with the search over what was said in them. Arrows go from line to line. */
function TalkPanel(props: PanelProps) {
  const t = useTranslations("assistant");
  const panel = useRef<HTMLElement>(null);
  const [text, setText] = useState("");
  const search = useSettled(text.trim(), searchMs);
  /** Its first hit is opened as soon as it is found. */
  const [entered, setEntered] = useState("");
  const { talks, data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useTalks();
  const hasPanel = talks.length > 0 || text !== "";
  const openFirst = () => {
    setEntered("");
    panel.current?.querySelector<HTMLElement>("[data-talk]")?.click();
  };
  useEffect(() => {
    const nav = panel.current;
    nav?.addEventListener("keydown", stepByKey);
    return () => nav?.removeEventListener("keydown", stepByKey);
  }, [hasPanel]);
  if (error !== null && data === undefined)
    return <LoadFailed error={error} onRetry={() => void refetch()} />;
  if (!hasPanel)
    return data === undefined ? null : <p className="px-3 py-2 text-sm text-quiet">{t("talks.empty")}</p>;
  return (
    <nav ref={panel} aria-label={t("conversations")}>
      <SearchField text={text} onText={setText} onEnter={() => setEntered(text.trim())} />
      {search === "" ? (
        <TalkList {...props} talks={talks} />
      ) : (
        <FoundList
          text={search}
          onOpen={props.onOpen}
          onFound={entered === search && search === text.trim() ? openFirst : null}
        />
      )}
      {hasNextPage && search === "" ? (
        <Button
          look="quiet"
          size="small"
          disabled={isFetchingNextPage}
          onClick={() => void fetchNextPage()}
          className="mt-2"
        >
          {t("older")}
        </Button>
      ) : null}
    </nav>
  );
}

/** The conversations beside the one on the page; where the screen is narrow, behind a button above it. */
export function Talks(props: Props) {
  const t = useTranslations("assistant");
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  return (
    <aside className="min-w-0 pb-4 wide:col-start-2 wide:row-start-1 wide:pb-0">
      <button
        type="button"
        aria-expanded={isOpen}
        aria-controls={id}
        onClick={() => setOpen(!isOpen)}
        className="flex h-9 w-fit cursor-pointer items-center gap-1.5 rounded-control text-sm text-quiet hover:text-ink wide:hidden"
      >
        <ChevronDown className={cx("size-4", isOpen && "rotate-180")} aria-hidden />
        {t("conversations")}
      </button>
      <div
        id={id}
        className={cx(
          "max-h-[60dvh] overflow-y-auto wide:sticky wide:top-[88px] wide:block wide:max-h-[calc(100dvh-112px)]",
          !isOpen && "hidden",
        )}
      >
        <TalkPanel {...props} onOpen={() => setOpen(false)} />
      </div>
    </aside>
  );
}
