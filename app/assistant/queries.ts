"use client";
import {
  type InfiniteData,
  keepPreviousData,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import type { QuestionUpdate } from "@atelier/server/assistant";
import { api } from "../client/api.ts";
import { live } from "../live/store.ts";
import { useFailureToast } from "../ui/failures.ts";
import { applyQuestionUpdate, type Conversation, readWithUpdates } from "./conversation.ts";

/** Keys of the query cache. */
export const conversationKeys = {
  status: ["assistant", "status"],
  list: ["assistant", "conversations"],
  found: (text: string) => ["assistant", "conversations", "found", text],
  one: (id: string) => ["assistant", "conversation", id],
  used: (runId: string) => ["assistant", "used", runId],
} as const;

export function useAssistantStatus() {
  return useQuery({
    queryKey: conversationKeys.status,
    queryFn: () => api.assistant.status.query(),
    staleTime: 60_000,
  });
}

interface Wanted {
  /** The turn that has to be among those that are shown. */
  readonly reach?: string | null;
  /** How many are shown at least; as many as fit a page by default. */
  readonly turns?: number | undefined;
}

/** A conversation as it changes; null for a new one. */
export function useConversation(id: string | null, { reach = null, turns }: Wanted = {}) {
  const queries = useQueryClient();
  const key = useMemo(() => [...conversationKeys.one(id ?? ""), reach, turns], [id, reach, turns]);
  const query = useQuery({
    queryKey: key,
    queryFn: () =>
      readWithUpdates(
        () =>
          api.assistant.conversation.query({
            id: id ?? "",
            ...(reach === null ? {} : { reach }),
            ...(turns === undefined ? {} : { turns }),
          }),
        (listener) => live.onQuestions(listener),
      ),
    enabled: id !== null,
    // While another one is shown, updates of this one are not heard.
    staleTime: 0,
    // While more of it is read, what is known of it stays; of another one nothing does.
    placeholderData: (known: Conversation | undefined) => (known?.id === id ? known : undefined),
  });
  useEffect(() => {
    if (id === null) return;
    return live.onQuestions((update) => {
      const known = queries.getQueryData<Conversation>(key);
      if (known === undefined) return;
      const conversation = applyQuestionUpdate(known, update);
      if (conversation !== known) queries.setQueryData(key, conversation);
    });
  }, [id, key, queries]);
  return query;
}

/** A conversation of the list, or one that was found. */
export type Talk = Awaited<ReturnType<typeof api.assistant.conversations.query>>["items"][number];
export type FoundTalk = Awaited<ReturnType<typeof api.assistant.find.query>>["items"][number];

/** Whether a list that has these conversations shows something else now. */
function changesList(update: QuestionUpdate, known: readonly Talk[]): boolean {
  if (update.type !== "runs") return false;
  return update.runs.some(({ status, conversationId, talk: { title, isPinned } }) => {
    const shown = known.find(({ id }) => id === conversationId);
    // A question begins a conversation or brings one to the top.
    return status === "new" || (shown && (shown.title !== title || shown.isPinned !== isPinned));
  });
}

/** The conversations page by page; what is asked, named or pinned in another tab changes them. */
export function useConversations() {
  const queries = useQueryClient();
  const query = useInfiniteQuery({
    queryKey: conversationKeys.list,
    queryFn: ({ pageParam }) =>
      api.assistant.conversations.query(pageParam === null ? {} : { cursor: pageParam }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next }) => next,
  });
  const { data } = query;
  useEffect(
    () =>
      live.onQuestions((update) => {
        if (changesList(update, data?.pages.flatMap(({ items }) => items) ?? []))
          void queries.invalidateQueries({ queryKey: conversationKeys.list });
      }),
    [data, queries],
  );
  return query;
}

/** What a search finds; while the next words are looked for, what the last ones found. */
export function useFoundTalks(text: string) {
  return useQuery({
    queryKey: conversationKeys.found(text),
    queryFn: ({ signal }) => api.assistant.find.query({ text }, { signal }),
    enabled: text !== "",
    placeholderData: keepPreviousData,
  });
}

/** Names or pins a conversation; the list shows it at once. */
export function useChangeTalk() {
  const queries = useQueryClient();
  const onError = useFailureToast();
  return useMutation({
    mutationFn: (change: Partial<Pick<Talk, "title" | "isPinned">> & Pick<Talk, "id">) =>
      api.assistant.changeConversation.mutate(change),
    onMutate: (change) =>
      queries.setQueryData<InfiniteData<{ items: Talk[] }>>(conversationKeys.list, (known) => {
        if (known === undefined) return known;
        const changed = (talk: Talk) =>
          talk.id === change.id && change.title !== "" ? { ...talk, ...change } : talk;
        return { ...known, pages: known.pages.map((page) => ({ ...page, items: page.items.map(changed) })) };
      }),
    onError,
    onSettled: () => queries.invalidateQueries({ queryKey: conversationKeys.list }),
  });
}
