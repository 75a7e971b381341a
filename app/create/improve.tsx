"use client";
import { useMutation } from "@tanstack/react-query";
import { Sparkles } from "lucide-react";
import { useTranslations } from "next-intl";
import { useEffect, useRef } from "react";
import { useAssistantStatus } from "../assistant/queries.ts";
import { api } from "../client/api.ts";
import { useFailureToast } from "../ui/failures.ts";
import { Button, IconButton, Spinner } from "../ui/button.tsx";
import { toastFailure } from "../ui/toasts.tsx";
import { WordChanges } from "../ui/word-changes.tsx";
import { createForm, useForm } from "./form.ts";
import { useReplacedToast } from "./prompt-field.ts";

/** Whether a language model is set up that this user may ask. */
function useMayImprove(): boolean {
  const { data } = useAssistantStatus();
  return data !== undefined && data.model !== null && data.mayAsk;
}

/** A better prompt by the model of the assistant, asked for by a click and shown before it is used. */
export function useImprovement() {
  const t = useTranslations("create.improve");
  const onError = useFailureToast();
  const asking = useRef<AbortController>(null);
  const mayImprove = useMayImprove();
  // Nobody waits for the answer any more.
  useEffect(() => () => asking.current?.abort(), []);
  const mutation = useMutation({
    mutationFn: async (prompt: string) => {
      asking.current = new AbortController();
      const { signal } = asking.current;
      const answer = await api.assistant.improvePrompt
        .mutate({ prompt }, { signal })
        .catch((error: unknown) => {
          // Who stopped it wants to hear nothing of it.
          if (signal.aborted) return null;
          throw error;
        });
      if (answer?.problem) toastFailure(t("failed"), answer.problem);
      return { before: prompt, after: answer?.prompt ?? null };
    },
    onError,
  });
  const { data, isPending, reset, mutate } = mutation;
  return {
    mayImprove,
    isPending,
    before: data?.before ?? "",
    after: data?.after ?? null,
    ask: () => mutate(createForm.get().prompt),
    stop: () => asking.current?.abort(),
    close: reset,
  };
}

type Improving = ReturnType<typeof useImprovement>;

export function ImproveButton({ improving }: { readonly improving: Improving }) {
  const t = useTranslations("create.improve");
  const { mode, prompt } = useForm();
  const { mayImprove, isPending, ask, stop } = improving;
  if (!mayImprove || mode === "list") return null;
  return isPending ? (
    <IconButton label={t("stop")} onClick={stop}>
      <Spinner />
    </IconButton>
  ) : (
    <IconButton label={t("ask")} disabled={prompt.trim() === ""} onClick={ask}>
      <Sparkles aria-hidden />
    </IconButton>
  );
}

/** What would change, word by word, to be taken or not. */
export function Improvement({ improving }: { readonly improving: Improving }) {
  const t = useTranslations("create.improve");
  const { prompt } = useForm();
  const sayReplaced = useReplacedToast();
  const { after, before, close } = improving;
  // Who wrote on meanwhile would lose it.
  if (after === null || prompt !== before) return null;
  const use = () => {
    createForm.set({ prompt: after });
    close();
    sayReplaced({ prompt: before });
  };
  return (
    <section
      aria-label={t("title")}
      className="mx-4 mb-3 flex flex-col gap-2 rounded-control bg-well p-3 sm:mx-5"
    >
      <p className="text-sm break-words">
        <WordChanges before={before} after={after} />
      </p>
      <div className="flex justify-end gap-2">
        <Button size="small" look="quiet" onClick={close}>
          {t("discard")}
        </Button>
        <Button size="small" onClick={use}>
          {t("use")}
        </Button>
      </div>
    </section>
  );
}
