"use client";
import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { Brain, ChevronDown, Plus, Trash2 } from "lucide-react";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { useSearchParams } from "next/navigation";
import { useEffect, useState } from "react";
import { useRelativeTime } from "../client/relative-time.ts";
import { api } from "../client/api.ts";
import { keptApi, useDeferredRemoval, useHidden } from "../client/removal.ts";
import { live } from "../live/store.ts";
import { Button, buttonStyle, IconButton } from "../ui/button.tsx";
import { Chat } from "./chat.tsx";
import { conversationKeys } from "./queries.ts";

function useConversations() {
  const queries = useQueryClient();
  const query = useInfiniteQuery({
    queryKey: conversationKeys.list,
    queryFn: ({ pageParam }) =>
      api.assistant.conversations.query(pageParam === null ? {} : { cursor: pageParam }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next }) => next,
  });
  // A question in another tab begins a conversation or brings one to the top.
  useEffect(
    () =>
      live.onQuestions((update) => {
        if (update.type === "runs" && update.runs.some(({ status }) => status === "new"))
          void queries.invalidateQueries({ queryKey: conversationKeys.list });
      }),
    [queries],
  );
  return query;
}

/** The page needs nothing of the server to show another conversation, so that no request holds it up or loses it. */
const openInPage = (address: string) => (event: { preventDefault: () => void }) => {
  event.preventDefault();
  window.history.pushState(null, "", address);
};

const addressOf = (id: string) => `/assistant?c=${id}`;

interface RowProps {
  readonly conversation: { readonly id: string; readonly title: string; readonly lastAt: string };
  readonly isCurrent: boolean;
  readonly onDelete: () => void;
}

function Row({ conversation: { id, title, lastAt }, isCurrent, onDelete }: RowProps) {
  const t = useTranslations("assistant");
  const ago = useRelativeTime();
  return (
    <li className="group relative">
      <Link
        href={addressOf(id)}
        prefetch={false}
        onNavigate={openInPage(addressOf(id))}
        aria-current={isCurrent ? "page" : undefined}
        className="flex flex-col rounded-control px-3 py-2 pe-10 transition-colors duration-120 hover:bg-hover aria-[current=page]:bg-hover"
      >
        <span className="truncate text-sm">{title === "" ? t("untitled") : title}</span>
        <span className="tabular text-xs text-quiet">{ago(lastAt)}</span>
      </Link>
      <IconButton
        label={t("delete.label", { title })}
        onClick={onDelete}
        className="absolute! top-2 inset-e-1 group-focus-within:opacity-100 group-hover:opacity-100 pointer-fine:opacity-0"
      >
        <Trash2 aria-hidden />
      </IconButton>
    </li>
  );
}

interface ConversationsProps {
  readonly currentId: string | null;
  /** The conversation on the page was deleted. */
  readonly onCurrentDeleted: () => void;
}

/** The user's conversations, the last used first. */
function Conversations({ currentId, onCurrentDeleted }: ConversationsProps) {
  const t = useTranslations("assistant");
  const queries = useQueryClient();
  const { data, hasNextPage, fetchNextPage, isFetchingNextPage } = useConversations();
  const removeLater = useDeferredRemoval();
  const hidden = useHidden();
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
  const items = data?.pages.flatMap((page) => page.items).filter(({ id }) => !hidden.has(id)) ?? [];
  if (items.length === 0) return null;
  return (
    <nav aria-label={t("conversations")}>
      <ul className="flex flex-col gap-0.5">
        {items.map((conversation) => (
          <Row
            key={conversation.id}
            conversation={conversation}
            isCurrent={conversation.id === currentId}
            onDelete={() => remove(conversation.id)}
          />
        ))}
      </ul>
      {hasNextPage ? (
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

/** Links of the page's header. */
export function AssistantActions() {
  const t = useTranslations("assistant");
  return (
    <>
      <Link href="/assistant/memory" className={buttonStyle("quiet", "small")}>
        <Brain aria-hidden />
        {t("memory")}
      </Link>
      <Link
        href="/assistant"
        prefetch={false}
        onNavigate={openInPage("/assistant")}
        aria-label={t("new")}
        className={buttonStyle("plain", "small")}
      >
        <Plus aria-hidden />
        {t("newShort")}
      </Link>
    </>
  );
}

/**
 * Which conversation the page shows, and a key for what belongs to it. The one that a question began has the key of the new
 * one it was, so that words of a next question, typed meanwhile, stay.
 */
function useShown() {
  const conversationId = useSearchParams().get("c");
  const [shown, setShown] = useState({ conversationId, begunId: null as string | null, key: 0 });
  if (shown.conversationId !== conversationId) {
    const isBegun = conversationId !== null && conversationId === shown.begunId;
    const key = isBegun ? shown.key : shown.key + 1;
    setShown({ conversationId, begunId: null, key });
  }
  const begin = (id: string) => {
    // Who has left meanwhile stays where they are; the list has the conversation.
    if (window.location.pathname !== "/assistant" || window.location.search.includes("c=")) return;
    setShown((now) => ({ ...now, begunId: id }));
    window.history.replaceState(null, "", addressOf(id));
  };
  return { conversationId, key: shown.key, begin };
}

/** The assistant's page: the conversation in the URL, beside the list of all. */
export function Assistant() {
  const t = useTranslations("assistant");
  const { conversationId, key, begin } = useShown();
  const onCurrentDeleted = () => window.history.replaceState(null, "", "/assistant");
  const list = <Conversations currentId={conversationId} onCurrentDeleted={onCurrentDeleted} />;
  return (
    <div className="flex flex-1 flex-col gap-x-10 px-4 sm:px-6 wide:grid wide:grid-cols-[minmax(0,1fr)_260px] wide:px-8">
      <details className="hidden pb-4 has-[nav]:block wide:hidden!">
        <summary className="flex w-fit cursor-pointer list-none items-center gap-1.5 rounded-control py-1 text-sm text-quiet hover:text-ink">
          <ChevronDown className="size-4" aria-hidden />
          {t("conversations")}
        </summary>
        <div className="mt-2">{list}</div>
      </details>
      <Chat
        key={key}
        conversationId={conversationId}
        onConversation={begin}
        className="mx-auto w-full max-w-[720px] flex-1"
      />
      <aside className="hidden wide:block">
        <div className="sticky top-[88px] max-h-[calc(100dvh-112px)] overflow-y-auto">{list}</div>
      </aside>
    </div>
  );
}
