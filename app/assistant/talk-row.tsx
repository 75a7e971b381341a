"use client";
import { Ellipsis, Pin } from "lucide-react";
import { useFormatter, useTranslations } from "next-intl";
import Link from "next/link";
import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { useRelativeTime } from "../client/relative-time.ts";
import { cx, IconButton, inputStyle } from "../ui/button.tsx";
import { useFailureToast } from "../ui/failures.ts";
import { isCombined } from "../ui/key-press.ts";
import { Menu, MenuItem } from "../ui/overlays.tsx";
import { isOfInputMethod } from "../ui/typed.ts";
import { type FoundTalk, type Talk, useChangeTalk } from "./queries.ts";

export const addressOf = (id: string, turnId?: string) =>
  `/assistant?c=${id}${turnId === undefined ? "" : `&m=${turnId}`}`;

/** The page needs nothing of the server to show another conversation, so that no request holds it up or loses it. */
export const openInPage = (address: string) => (event: { preventDefault: () => void }) => {
  event.preventDefault();
  window.history.pushState(null, "", address);
};

interface TitleFieldProps {
  readonly title: string;
  /** Null: it stays as it was. */
  readonly onDone: (title: string | null) => void;
}

/** The title while it is changed: Enter keeps what is typed, as leaving the field does, and Escape does not. */
function TitleField({ title, onDone }: TitleFieldProps) {
  const t = useTranslations("assistant.talks");
  const field = useRef<HTMLInputElement>(null);
  const isDone = useRef(false);
  // Another tab may name it meanwhile: what was only looked at does not take that back.
  const [before] = useState(title);
  useEffect(() => field.current?.select(), []);
  const finish = (next: string | null) => {
    // The field that goes away is left, too.
    if (isDone.current) return;
    isDone.current = true;
    onDone(next === before ? null : next);
  };
  const onKeyDown = (event: KeyboardEvent<HTMLInputElement>) => {
    // The keys of the list are not those of a field in it.
    event.stopPropagation();
    if (isOfInputMethod(event.nativeEvent)) return;
    if (event.key === "Enter") finish(event.currentTarget.value);
    else if (event.key === "Escape") finish(null);
  };
  return (
    <input
      ref={field}
      aria-label={t("title")}
      placeholder={t("titleHint")}
      defaultValue={before}
      maxLength={120}
      autoComplete="off"
      onKeyDown={onKeyDown}
      onBlur={(event) => finish(event.currentTarget.value)}
      className={cx(inputStyle, "my-1.5 px-2!")}
    />
  );
}

interface RowProps {
  readonly talk: Talk;
  readonly isCurrent: boolean;
  readonly onOpen: () => void;
  readonly onDelete: () => void;
}

const rowStyle =
  "flex flex-col rounded-control px-3 py-2 transition-colors duration-120 hover:bg-hover aria-[current=page]:bg-hover";

/** Takes the focus to the line behind one that goes, or before it where it is the last. */
function focusBeside(line: Element): void {
  const lines = [...document.querySelectorAll<HTMLElement>("[data-talk]")];
  const at = lines.findIndex((one) => one === line);
  (lines[at + 1] ?? lines[at - 1])?.focus();
}

/** A conversation of the list with what can be done with it. */
export function TalkRow({ talk, isCurrent, onOpen, onDelete }: RowProps) {
  const t = useTranslations("assistant");
  const ago = useRelativeTime();
  const [isNaming, setNaming] = useState(false);
  const link = useRef<HTMLAnchorElement>(null);
  const { mutate: change } = useChangeTalk();
  const save = useSaveTalk(talk.id);
  const { id, title, isPinned, lastAt } = talk;
  const shown = title === "" ? t("untitled") : title;
  const onNamed = (next: string | null) => {
    setNaming(false);
    if (next !== null) change({ id, title: next });
    // Who left the field for another place stays there.
    requestAnimationFrame(() => {
      if (document.activeElement === document.body) link.current?.focus();
    });
  };
  if (isNaming)
    return (
      <li>
        <TitleField title={title} onDone={onNamed} />
      </li>
    );
  const onKeyDown = (event: KeyboardEvent) => {
    if (isCombined(event) || (event.key !== "F2" && event.key !== "Delete")) return undefined;
    event.preventDefault();
    if (event.key === "F2") return setNaming(true);
    focusBeside(event.currentTarget);
    return onDelete();
  };
  return (
    <li className="group relative">
      <Link
        ref={link}
        data-talk
        href={addressOf(id)}
        prefetch={false}
        onNavigate={(event) => {
          openInPage(addressOf(id))(event);
          onOpen();
        }}
        onKeyDown={onKeyDown}
        aria-current={isCurrent ? "page" : undefined}
        aria-keyshortcuts="F2 Delete"
        className={cx(rowStyle, "pe-10")}
      >
        <span className="truncate text-sm" title={shown}>
          {shown}
        </span>
        <span className="tabular flex items-center gap-1 text-xs text-quiet">
          {isPinned ? <Pin role="img" aria-label={t("talks.pinned")} className="size-3" /> : null}
          {ago(lastAt)}
        </span>
      </Link>
      <span className="absolute top-2 inset-e-1 group-focus-within:opacity-100 group-hover:opacity-100 has-aria-expanded:opacity-100 pointer-fine:opacity-0">
        <Menu
          align="end"
          trigger={
            <IconButton label={t("talks.more", { title: shown })}>
              <Ellipsis aria-hidden />
            </IconButton>
          }
        >
          <MenuItem onSelect={() => setNaming(true)}>{t("talks.rename")}</MenuItem>
          <MenuItem onSelect={() => change({ id, isPinned: !isPinned })}>
            {t(isPinned ? "talks.unpin" : "talks.pin")}
          </MenuItem>
          <MenuItem onSelect={save}>{t("talks.save")}</MenuItem>
          <MenuItem onSelect={onDelete}>{t("talks.delete")}</MenuItem>
        </Menu>
      </span>
    </li>
  );
}

/** Saves a conversation as a file of Markdown. */
function useSaveTalk(id: string) {
  const t = useTranslations("assistant");
  const format = useFormatter();
  const onFailure = useFailureToast();
  const words = {
    untitled: t("untitled"),
    earlier: t("talks.fileEarlier"),
    picture: (number: number) => t("talks.filePicture", { number }),
    time: (iso: string) => format.dateTime(new Date(iso), { dateStyle: "long", timeStyle: "short" }),
  };
  return () => {
    void import("./save-talk.ts").then(({ saveTalk }) => saveTalk(id, words)).catch(onFailure);
  };
}

interface FoundProps {
  readonly talk: FoundTalk;
  readonly onOpen: () => void;
}

/** A conversation that was found, with the place where its words stand. */
export function FoundRow({ talk: { id, title, message, snippet, lastAt }, onOpen }: FoundProps) {
  const t = useTranslations("assistant");
  const ago = useRelativeTime();
  const address = addressOf(id, message?.turnId);
  return (
    <li>
      <Link
        data-talk
        href={address}
        prefetch={false}
        onNavigate={(event) => {
          openInPage(address)(event);
          onOpen();
        }}
        className={rowStyle}
      >
        <span className="truncate text-sm">{title === "" ? t("untitled") : title}</span>
        {snippet.length === 0 ? null : (
          <span className="line-clamp-3 text-xs break-words text-quiet" dir="auto">
            {snippet.map(({ text, isHit }, at) =>
              isHit ? (
                <mark key={at} className="bg-transparent font-medium text-ink">
                  {text}
                </mark>
              ) : (
                text
              ),
            )}
          </span>
        )}
        <span className="tabular text-xs text-quiet">{ago(lastAt)}</span>
      </Link>
    </li>
  );
}
