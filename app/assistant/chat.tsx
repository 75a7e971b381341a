"use client";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { useCallback, useEffect, useRef, useState } from "react";
import { api } from "../client/api.ts";
import { useFailureToast } from "../ui/failures.ts";
import { createSubmission } from "../client/submit/submission.ts";
import { Button, cx } from "../ui/button.tsx";
import { EmptyState } from "../ui/display.tsx";
import { Composer } from "./composer.tsx";
import { useAbout, useGivenPictures } from "./given-pictures.tsx";
import { hasQuestionEnded, mostTurns } from "./conversation.ts";
import { conversationKeys, useAssistantStatus, useConversation } from "./queries.ts";
import { type AskedAgain, Talk } from "./turn.tsx";
import { putBefore, unsent, useUnsent } from "../client/unsent.ts";

/** Says what the assistant of this studio cannot do. */
function StatusNote() {
  const t = useTranslations("assistant");
  const { data } = useAssistantStatus();
  if (data === undefined || (data.model !== null && data.mayAsk)) return null;
  return (
    <p className="rounded-card border border-line bg-well px-4 py-3 text-sm text-quiet">
      {data.model === null
        ? t("noModel")
        : t.rich("needsAccount", {
            a: (text) => (
              <Link href="/sign-in" className="underline underline-offset-2">
                {text}
              </Link>
            ),
          })}
    </p>
  );
}

const ideas = ["recall", "show", "make"] as const;

function Welcome({ onPick }: { readonly onPick: (text: string) => void }) {
  const t = useTranslations("assistant");
  return (
    <EmptyState title={t("emptyTitle")} text={t("emptyText")}>
      {ideas.map((idea) => (
        <Button key={idea} size="small" onClick={() => onPick(t(`ideas.${idea}`))}>
          {t(`ideas.${idea}`)}
        </Button>
      ))}
    </EmptyState>
  );
}

/**
 * Follows the end while what is above it grows, pictures and prices too, unless the reader has scrolled up. An empty room is
 * seen from its top.
 */
function useStickToEnd(isEmpty: boolean) {
  const end = useRef<HTMLDivElement>(null);
  const sticks = useRef(true);
  useEffect(() => {
    const mark = end.current;
    if (isEmpty || mark?.parentElement == null) return undefined;
    const place = new IntersectionObserver(([entry]) => (sticks.current = entry?.isIntersecting ?? true), {
      rootMargin: "160px",
    });
    place.observe(mark);
    const growth = new ResizeObserver(() => {
      if (sticks.current) mark.scrollIntoView({ block: "end" });
    });
    growth.observe(mark.parentElement);
    return () => {
      place.disconnect();
      growth.disconnect();
    };
  }, [isEmpty]);
  const follow = useCallback(() => void (sticks.current = true), []);
  const leave = useCallback(() => void (sticks.current = false), []);
  return { end, follow, leave };
}

/** Shows the turn that was looked for, once it is there. */
function useReach(reach: string | null, isThere: boolean, leaveEnd: () => void): void {
  useEffect(() => {
    const turn =
      reach === null || !isThere ? null : document.querySelector(`[data-turn="${CSS.escape(reach)}"]`);
    if (turn === null) return;
    leaveEnd();
    turn.scrollIntoView({ block: "center" });
  }, [isThere, leaveEnd, reach]);
}

interface Asking {
  readonly conversationId: string | null;
  readonly onConversation: (id: string) => void;
}

interface Asked extends AskedAgain {
  /** It comes from the field; one that is asked again leaves alone what is being written there. */
  readonly isTyped: boolean;
}

interface QuestionInput extends AskedAgain {
  /** Who was told to see the pictures. */
  readonly imagesTo?: string;
  readonly conversationId?: string;
}

/** "Yesterday" is a day of the user. */
const { timeZone } = Intl.DateTimeFormat().resolvedOptions();

/** A lost answer and a second Enter are one question: a second one would cost as much again. */
const createQuestionSubmission = () =>
  createSubmission("question", (input: QuestionInput, idempotencyKey) =>
    api.assistant.ask.mutate({ ...input, imageIds: [...input.imageIds], idempotencyKey, timeZone }),
  );

/** Whether this part of the page is still there. */
function useIsShown() {
  const isShown = useRef(true);
  useEffect(() => {
    isShown.current = true;
    return () => void (isShown.current = false);
  }, []);
  return isShown;
}

/** Asks in a conversation, or begins one. Text and pictures come back when the question was refused. */
function useAsk({ conversationId, onConversation }: Asking) {
  const queries = useQueryClient();
  const onFailure = useFailureToast();
  const { text, setText } = useUnsent(conversationId);
  const isShown = useIsShown();
  const given = useGivenPictures();
  const { setImageIds } = given;
  const imagesTo = useAssistantStatus().data?.picturesTo ?? null;
  const [submission] = useState(createQuestionSubmission);
  const { mutate, isPending, data } = useMutation({
    mutationFn: async ({ text: words, imageIds }: Asked) => {
      const input: QuestionInput = {
        text: words,
        imageIds,
        ...(imageIds.length > 0 && imagesTo !== null ? { imagesTo } : {}),
        ...(conversationId === null ? {} : { conversationId }),
      };
      const [asked] = await submission.send([input]);
      return asked;
    },
    onMutate: ({ isTyped }) => {
      if (!isTyped) return;
      setText("");
      setImageIds([]);
    },
    onSuccess: (asked) => {
      if (asked === undefined) return;
      const { conversationId: id } = asked;
      // What was written meanwhile is for the conversation that has begun, unless another one is on the page.
      if (id !== conversationId && isShown.current) {
        const meanwhile = unsent.get(conversationId);
        unsent.set(conversationId, () => "");
        unsent.set(id, () => meanwhile);
      }
      void queries.invalidateQueries({ queryKey: conversationKeys.one(id) });
      void queries.invalidateQueries({ queryKey: conversationKeys.list });
      if (id !== conversationId) onConversation(id);
    },
    onError: (error, question) => {
      onFailure(error);
      // One that was asked again stands in the talk.
      if (!question.isTyped) return;
      unsent.set(conversationId, putBefore(question.text));
      setImageIds((newer) => (newer.length === 0 ? question.imageIds : newer));
    },
  });
  return { text, setText, given, ask: mutate, isPending, askedId: data?.runId ?? null };
}

/** What is known of the answers: the one being written, and whether that to the question `askedId` is not here yet. */
function answeringOf({ data, error }: ReturnType<typeof useConversation>, askedId: string | null) {
  const runs = data?.turns.map(({ run }) => run) ?? [];
  return {
    open: runs.find((run) => run && !hasQuestionEnded(run)) ?? null,
    isUnseen: askedId !== null && error === null && !runs.some((run) => run?.id === askedId),
    hasFailed: runs.at(-1)?.status === "failed",
  };
}

/** Turns of a page, and so many times more with each step back. */
const turnsPerPage = 50;
const moreTimes = 4;

/** A conversation from its last turns on, and from earlier ones when they are asked for. */
function useTurns(conversationId: string | null, reach: string | null) {
  const [turns, setTurns] = useState<number>();
  const query = useConversation(conversationId, { reach, turns });
  const known = query.data?.turns.length ?? 0;
  const readEarlier = () => setTurns(Math.min(mostTurns, moreTimes * Math.max(turnsPerPage, known)));
  return { query, readEarlier };
}

interface Props extends Asking {
  /** The turn to begin with, instead of the end. */
  readonly reach: string | null;
  /** Without the tab bar of a phone below it. */
  readonly isInSheet?: boolean;
  readonly className?: string;
}

/** A conversation with the field for the next question. */
export function Chat({ conversationId, reach, onConversation, isInSheet = false, className = "" }: Props) {
  const onFailure = useFailureToast();
  const { data: status } = useAssistantStatus();
  const { query, readEarlier } = useTurns(conversationId, reach);
  const { text, setText, given, ask, isPending, askedId } = useAsk({ conversationId, onConversation });
  useAbout(given.setImageIds);
  const { open, isUnseen, hasFailed } = answeringOf(query, askedId);
  const stop = useMutation({
    mutationFn: (id: string) => api.assistant.stop.mutate({ id }),
    onError: onFailure,
  });
  const isEmpty = conversationId === null && !isPending && askedId === null;
  const { end, follow, leave } = useStickToEnd(isEmpty);
  useReach(reach, query.data !== undefined && !query.isPlaceholderData, leave);
  const send = useCallback(
    (question: Asked) => {
      follow();
      ask(question);
    },
    [ask, follow],
  );
  const { setImageIds } = given;
  const repeat = useCallback(
    ({ text: words, imageIds }: AskedAgain) => {
      if (imageIds.length === 0) return send({ text: words, imageIds, isTyped: false });
      // Who would see its pictures now is said in the field, before it is sent.
      unsent.set(conversationId, putBefore(words));
      setImageIds(imageIds);
    },
    [conversationId, send, setImageIds],
  );
  const room = useRef<HTMLDivElement>(null);
  // It is changed or asked there.
  const pick = (idea: string) => {
    setText(idea);
    room.current?.querySelector("textarea")?.focus();
  };
  return (
    <div ref={room} className={cx("flex min-w-0 flex-col", className)}>
      <div className="flex flex-1 flex-col gap-8 pt-2 pb-6">
        <StatusNote />
        {isEmpty ? <Welcome onPick={pick} /> : null}
        <Talk
          query={query}
          reach={reach}
          onEarlier={() => {
            leave();
            readEarlier();
          }}
          onRepeat={repeat}
        />
        <div ref={end} className="scroll-mb-48" />
      </div>
      <div
        className={cx(
          "sticky z-10 bg-paper",
          isInSheet ? "bottom-0 pb-4" : "bottom-(--tabs) pb-3 wide:bottom-0 wide:pb-6",
        )}
      >
        <Composer
          text={text}
          onText={setText}
          given={given}
          onAsk={() => send({ text: text.trim(), imageIds: given.imageIds, isTyped: true })}
          onStop={open === null ? null : () => stop.mutate(open.id)}
          isBusy={isPending}
          isAnswering={isPending || isUnseen || open !== null}
          hasFailed={hasFailed}
          mayAsk={status?.mayAsk !== false}
        />
      </div>
    </div>
  );
}
