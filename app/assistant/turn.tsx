"use client";
import { useQuery } from "@tanstack/react-query";
import { CircleAlert, Copy, RotateCcw } from "lucide-react";
import { useFormatter, useTranslations } from "next-intl";
import Link from "next/link";
import { memo } from "react";
import type { QuestionView, Turn } from "@atelier/server/assistant";
import { api } from "../client/api.ts";
import { LoadFailed } from "../parts/page-parts.tsx";
import { Picture } from "../pictures/picture.tsx";
import { Button, cx, IconButton } from "../ui/button.tsx";
import { useCopy } from "../ui/copy.ts";
import { EmptyState } from "../ui/display.tsx";
import { failureOf } from "../ui/failures.ts";
import { AnswerText, type Piece, piecesOf } from "./answer-text.tsx";
import { hasQuestionEnded, mostTurns } from "./conversation.ts";
import { TurnPictures } from "./given-pictures.tsx";
import { ProposalCard } from "./proposal-card.tsx";
import { conversationKeys, type useConversation } from "./queries.ts";

function Images({ imageIds }: { readonly imageIds: readonly string[] }) {
  const t = useTranslations("assistant");
  return (
    // Three across where two would leave a hole.
    <ul
      className={cx(
        "grid gap-2 sm:grid-cols-3",
        imageIds.length % 2 === 1 && imageIds.length > 1 ? "grid-cols-3" : "grid-cols-2",
      )}
    >
      {imageIds.map((id) => (
        <li key={id} className="aspect-square overflow-hidden rounded-card bg-well">
          <Link href={`/gallery?image=${id}`} aria-label={t("openPicture")} className="block size-full">
            <Picture imageId={id} variant="preview" alt="" className="size-full" />
          </Link>
        </li>
      ))}
    </ul>
  );
}

interface PartProps {
  readonly part: Piece["part"];
  readonly run: QuestionView | null;
}

function AnswerPart({ part, run }: PartProps) {
  if (part === null || part.type === "unseen") return null;
  if (part.type === "images") return <Images imageIds={part.imageIds} />;
  const proposal = run?.proposals.find(({ id }) => id === part.proposalId);
  if (run === null || proposal === undefined) return null;
  return <ProposalCard proposal={proposal} conversationId={run.conversationId} />;
}

/** Where an open question is. */
function QuestionState({ run }: { readonly run: QuestionView }) {
  const t = useTranslations("assistant.state");
  const key = run.status === "responding" && run.answer !== "" ? null : run.status;
  if (hasQuestionEnded(run) || key === null || key === "completed" || key === "failed") return null;
  return (
    <p role="status" className="animate-breathe text-sm text-quiet">
      {t(key)}
    </p>
  );
}

/** The memories that the answer could use, behind a small citation. */
function UsedMemories({ run }: { readonly run: QuestionView }) {
  const t = useTranslations("assistant.used");
  const format = useFormatter();
  const { data, refetch, isFetching } = useQuery({
    queryKey: conversationKeys.used(run.id),
    queryFn: () => api.assistant.used.query({ id: run.id }),
    enabled: false,
  });
  const day = (time: string) => format.dateTime(new Date(time), { dateStyle: "medium" });
  return (
    <details
      className="text-xs text-quiet"
      onToggle={({ currentTarget }) => {
        if (currentTarget.open && data === undefined) void refetch();
      }}
    >
      <summary className="w-fit cursor-pointer rounded-control py-1 hover:text-ink">
        {t("summary", { count: run.usedCount })}
      </summary>
      <ul className="mt-2 flex flex-col gap-2 border-s border-line ps-3">
        {isFetching ? <li>{t("loading")}</li> : null}
        {data?.items.map(({ id, text, to }) => (
          <li key={id}>
            <span className="tabular">{day(to)}</span> {text}
          </li>
        ))}
        {data?.items.length === 0 ? <li>{t("forgotten")}</li> : null}
      </ul>
      <Link href="/assistant/memory" className="mt-2 inline-block underline underline-offset-2">
        {t("toMemory")}
      </Link>
    </details>
  );
}

/** What the model thought on its way to the answer. */
function Thinking({ run }: { readonly run: QuestionView | null }) {
  const t = useTranslations("assistant");
  const text = run?.thinking ?? "";
  if (text === "") return null;
  return (
    <details className="text-xs text-quiet">
      <summary className="w-fit cursor-pointer rounded-control py-1 hover:text-ink">{t("thinking")}</summary>
      <p className="mt-2 max-h-96 overflow-y-auto border-s border-line ps-3 break-words whitespace-pre-wrap">
        {text}
      </p>
    </details>
  );
}

function Failure({ message, onRepeat }: { readonly message: string; readonly onRepeat: () => void }) {
  const t = useTranslations("assistant");
  return (
    <div role="alert" className="flex items-start gap-2 text-sm text-fail">
      <CircleAlert className="mt-0.5 size-4 shrink-0" aria-hidden />
      <div className="flex flex-col items-start gap-2">
        <p>{message}</p>
        <Button size="small" onClick={onRepeat}>
          {t("repeat")}
        </Button>
      </div>
    </div>
  );
}

/** A question as it is asked again. */
export interface AskedAgain {
  readonly text: string;
  readonly imageIds: readonly string[];
}

interface TurnProps {
  readonly turn: Turn;
  /** Asks the same question again, with those of its pictures that are still there. */
  readonly onRepeat: (question: AskedAgain) => void;
}

/** Copies an answer, and asks again. */
function AnswerActions({ answer, onRepeat }: { readonly answer: string; readonly onRepeat: () => void }) {
  const t = useTranslations("assistant");
  const copy = useCopy();
  return (
    <div className="-ms-2 -mt-2 flex gap-1">
      {answer.trim() === "" ? null : (
        <IconButton label={t("given.copy")} onClick={() => copy(answer)}>
          <Copy aria-hidden />
        </IconButton>
      )}
      <IconButton label={t("repeat")} onClick={onRepeat}>
        <RotateCcw aria-hidden />
      </IconButton>
    </div>
  );
}

/** How an answer came about, and what can be done with it. */
function Foot({ turn, onRepeat }: TurnProps) {
  const t = useTranslations("assistant");
  const { run, pictures, question: text, answer } = turn;
  if (run !== null && !hasQuestionEnded(run)) return null;
  const there = pictures.filter(({ state }) => state === "there").map(({ id }) => id);
  const repeat = () => onRepeat({ text, imageIds: there });
  if (run === null) return <AnswerActions answer={answer} onRepeat={repeat} />;
  return (
    <>
      {run.parts.some(({ type }) => type === "unseen") ? (
        <p className="text-xs text-quiet">{t("given.unseen")}</p>
      ) : null}
      {run.isStopped ? <p className="text-xs text-quiet">{t("stopped")}</p> : null}
      {run.error ? (
        <Failure message={run.error.message} onRepeat={repeat} />
      ) : (
        <AnswerActions answer={answer} onRepeat={repeat} />
      )}
      {run.usedCount > 0 ? <UsedMemories run={run} /> : null}
    </>
  );
}

interface ViewProps extends TurnProps {
  /** It was looked for. */
  readonly isFound: boolean;
}

/** A question and its answer. `memo`: only the turn that changes renders again. */
const TurnView = memo(function TurnView({ turn, isFound, onRepeat }: ViewProps) {
  const t = useTranslations("assistant");
  const { run, pictures } = turn;
  return (
    <article
      data-turn={turn.runId}
      className={cx(
        "flex scroll-my-24 flex-col gap-4",
        isFound && "rounded-card outline-1 outline-offset-12 outline-edge",
      )}
    >
      <h2 className="sr-only">{t("turn")}</h2>
      <TurnPictures pictures={pictures} />
      <p className="max-w-[85%] self-end rounded-card bg-well px-4 py-2.5 break-words whitespace-pre-wrap">
        {turn.question}
      </p>
      <Thinking run={run} />
      {piecesOf(turn.answer, run?.parts ?? []).map(({ text, part }, index) => (
        <div key={index} className="flex flex-col gap-4 empty:hidden">
          {text.trim() === "" ? null : <AnswerText text={text} />}
          <AnswerPart part={part} run={run} />
        </div>
      ))}
      {run === null ? null : <QuestionState run={run} />}
      <Foot turn={turn} onRepeat={onRepeat} />
    </article>
  );
});

interface TalkProps {
  readonly query: ReturnType<typeof useConversation>;
  readonly reach: string | null;
  readonly onEarlier: () => void;
  readonly onRepeat: (question: AskedAgain) => void;
}

/** The turns of a conversation, or why they cannot be shown. */
export function Talk({ query, reach, onEarlier, onRepeat }: TalkProps) {
  const t = useTranslations("assistant");
  const { data, error, refetch, isPlaceholderData } = query;
  if (data !== undefined)
    return (
      <>
        {data.hasEarlier && data.turns.length < mostTurns ? (
          <Button
            look="quiet"
            size="small"
            disabled={isPlaceholderData}
            onClick={onEarlier}
            className="self-center"
          >
            {t("talks.earlier")}
          </Button>
        ) : null}
        {data.turns.map((turn) => (
          <TurnView key={turn.runId} turn={turn} isFound={turn.runId === reach} onRepeat={onRepeat} />
        ))}
      </>
    );
  if (error === null) return null;
  return failureOf(error).code === "not_found" ? (
    <EmptyState title={t("goneTitle")} text={t("goneText")} />
  ) : (
    <LoadFailed error={error} onRetry={() => void refetch()} />
  );
}
