"use client";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { api } from "../client/api.ts";
import { live } from "../live/store.ts";
import { applyQuestionUpdate, type Conversation, readWithUpdates } from "./conversation.ts";

/** Keys of the query cache. */
export const conversationKeys = {
  status: ["assistant", "status"],
  list: ["assistant", "conversations"],
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

/** A conversation as it changes; null for a new one. */
export function useConversation(id: string | null) {
  const queries = useQueryClient();
  const query = useQuery({
    queryKey: conversationKeys.one(id ?? ""),
    queryFn: () =>
      readWithUpdates(
        () => api.assistant.conversation.query({ id: id ?? "" }),
        (listener) => live.onQuestions(listener),
      ),
    enabled: id !== null,
    // While another one is shown, updates of this one are not heard.
    staleTime: 0,
  });
  useEffect(() => {
    if (id === null) return;
    return live.onQuestions((update) => {
      const key = conversationKeys.one(id);
      const known = queries.getQueryData<Conversation>(key);
      if (known === undefined) return;
      const conversation = applyQuestionUpdate(known, update);
      if (conversation !== known) queries.setQueryData(key, conversation);
    });
  }, [id, queries]);
  return query;
}
