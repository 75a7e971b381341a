"use client";
import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { Trash2 } from "lucide-react";
import { useFormatter, useNow, useTranslations } from "next-intl";
import Link from "next/link";
import { useEffect, useState } from "react";
import { api } from "../client/api.ts";
import { useFailureToast } from "../client/failures.ts";
import { live } from "../live/store.ts";
import { Button, cx, IconButton } from "../ui/button.tsx";
import { Dialog } from "../ui/overlays.tsx";
import { conversationKeys } from "./queries.ts";

function useConversations() {
  const queries = useQueryClient();
  const query = useInfiniteQuery({
    queryKey: conversationKeys.list,
    queryFn: ({ pageParam }) =>
      api.assistant.conversations.query(pageParam === null ? {} : { before: pageParam }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next }) => next,
  });
  // A question in another tab begins a conversation or brings one to the top.
  useEffect(
    () =>
      live.onRuns((update) => {
        if (update.type === "runs" && update.runs.some(({ status }) => status === "new"))
          void queries.invalidateQueries({ queryKey: conversationKeys.list });
      }),
    [queries],
  );
  return query;
}

interface RowProps {
  readonly conversation: { readonly id: string; readonly title: string; readonly lastAt: string };
  readonly isCurrent: boolean;
  readonly onDelete: () => void;
}

function Row({ conversation: { id, title, lastAt }, isCurrent, onDelete }: RowProps) {
  const t = useTranslations("assistant");
  const format = useFormatter();
  const now = useNow({ updateInterval: 30_000 });
  // A clock that is behind the server's would say "in two seconds".
  const at = new Date(Math.min(Date.parse(lastAt), now.getTime()));
  return (
    <li className="group relative">
      <Link
        href={`/assistant?c=${id}`}
        aria-current={isCurrent ? "page" : undefined}
        className="flex flex-col rounded-control px-3 py-2 pr-10 transition-colors duration-120 hover:bg-hover aria-[current=page]:bg-hover"
      >
        <span className="truncate text-sm">{title === "" ? t("untitled") : title}</span>
        <span className="tabular text-xs text-quiet">{format.relativeTime(at, now)}</span>
      </Link>
      <IconButton
        label={t("delete.label", { title })}
        onClick={onDelete}
        className={cx(
          "absolute! top-2 right-1 group-focus-within:opacity-100 group-hover:opacity-100 pointer-fine:opacity-0",
        )}
      >
        <Trash2 aria-hidden />
      </IconButton>
    </li>
  );
}

interface Props {
  readonly currentId: string | null;
  /** The conversation on the page was deleted. */
  readonly onCurrentDeleted: () => void;
}

/** The user's conversations, the last used first. */
export function Conversations({ currentId, onCurrentDeleted }: Props) {
  const t = useTranslations("assistant");
  const queries = useQueryClient();
  const onError = useFailureToast();
  const { data, hasNextPage, fetchNextPage, isFetchingNextPage } = useConversations();
  const [deleted, setDeleted] = useState<string | null>(null);
  const remove = useMutation({
    mutationFn: (id: string) => api.assistant.deleteConversation.mutate({ id }),
    onSuccess: (_, id) => {
      setDeleted(null);
      void queries.invalidateQueries({ queryKey: conversationKeys.list });
      if (id === currentId) onCurrentDeleted();
    },
    onError,
  });
  const items = data?.pages.flatMap((page) => page.items) ?? [];
  if (items.length === 0) return null;
  return (
    <nav aria-label={t("conversations")}>
      <ul className="flex flex-col gap-0.5">
        {items.map((conversation) => (
          <Row
            key={conversation.id}
            conversation={conversation}
            isCurrent={conversation.id === currentId}
            onDelete={() => setDeleted(conversation.id)}
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
      <Dialog
        open={deleted !== null}
        onOpenChange={(isOpen) => (isOpen ? undefined : setDeleted(null))}
        title={t("delete.title")}
      >
        <p className="text-sm text-quiet">{t("delete.text")}</p>
        <div className="mt-5 flex justify-end gap-2">
          <Button onClick={() => setDeleted(null)}>{t("delete.keep")}</Button>
          <Button
            look="danger"
            disabled={remove.isPending}
            onClick={() => (deleted === null ? undefined : remove.mutate(deleted))}
          >
            {t("delete.confirm")}
          </Button>
        </div>
      </Dialog>
    </nav>
  );
}
