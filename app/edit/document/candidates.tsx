"use client";
import { BookmarkPlus, Check, CircleX, Trash2 } from "lucide-react";
import { useTranslations } from "next-intl";
import { useCallback, useEffect, useState } from "react";
import { api } from "../../client/api.ts";
import { useFailureToast } from "../../ui/failures.ts";
import { useImage } from "../../client/queries.ts";
import { imageUrl } from "../../client/urls.ts";
import { isTyping } from "../../parts/run-button.tsx";
import { Pane, useLinkedView } from "../../compare/linked-view.tsx";
import { useJobFailureText } from "../../jobs/text.ts";
import { useProgress } from "../../live/hooks.tsx";
import { useRemoveImages } from "../../pictures/actions.tsx";
import { Button, cx, IconButton, Kbd } from "../../ui/button.tsx";
import { isCombined, keyOf, keyOnce } from "../../ui/key-press.ts";
import { Progress } from "../../ui/progress.tsx";
import { Confirmation } from "../../ui/confirmation.tsx";
import type { Candidate, Runs } from "./runs.ts";
import { changeRun, type Run, withVersion } from "./state.ts";
import type { EditStore } from "./store.ts";

interface CandidatesProps {
  readonly store: EditStore;
  readonly run: Run;
  readonly runs: Runs;
}

/** Which candidate is looked at, and what can be done with it and with all. */
function useChoice({ store, run, runs }: CandidatesProps) {
  const { candidates, accept, reopen } = runs;
  const made = candidates.flatMap(({ imageId }) => imageId ?? []);
  const [chosen, setChosen] = useState<string | null>(null);
  const removeImages = useRemoveImages();
  const showFailure = useFailureToast();
  const lookedId = made.find((id) => id === (chosen ?? run.acceptedId)) ?? made[0] ?? null;
  const isSeen = lookedId === null || run.seenIds.includes(lookedId);
  useEffect(() => {
    if (lookedId === null || isSeen) return;
    store.update((now) => changeRun(now, run, { seenIds: [...run.seenIds, lookedId] }));
  }, [isSeen, lookedId, run, store]);

  const close = useCallback(() => {
    reopen(null);
    store.update((now) => changeRun(now, run, { isSettled: true }));
  }, [reopen, run, store]);
  return {
    made,
    lookedId,
    look: setChosen,
    unseen: candidates.filter(({ imageId, isGone }) => !isGone && !run.seenIds.includes(imageId ?? ""))
      .length,
    move: (by: number) => {
      const next = made[made.indexOf(lookedId ?? "") + by];
      if (next !== undefined) setChosen(next);
    },
    accept: () => {
      if (lookedId === null) return;
      reopen(null);
      accept(run, lookedId);
    },
    keep: () => {
      if (lookedId === null) return;
      store.update((now) => {
        const added = withVersion(now, { imageId: lookedId, parentId: run.parentId });
        return run.keptIds.includes(lookedId)
          ? added
          : changeRun(added, run, { keptIds: [...run.keptIds, lookedId] });
      });
    },
    close,
    discard: () => {
      const versions = new Set(store.read().edit.versions.map(({ imageId }) => imageId));
      removeImages(made.filter((id) => !versions.has(id)));
      for (const { jobId, imageId, isGone } of candidates)
        if (imageId === null && !isGone) api.jobs.cancel.mutate({ id: jobId }).catch(showFailure);
      close();
    },
  };
}

interface CellProps {
  readonly candidate: Candidate;
  readonly number: number;
}

const frame = "relative size-12 wide:size-15 shrink-0 overflow-hidden rounded-control ring-1 ring-line";

/** What stands for a picture that is not there yet, or will never be. */
function EmptyCell({ candidate: { jobId, isGone, job }, number }: CellProps) {
  const t = useTranslations("edit");
  const textOf = useJobFailureText();
  const progress = useProgress(jobId);
  if (isGone)
    return (
      <span
        role="img"
        aria-label={t("candidateFailed", { number })}
        title={job?.error ? textOf(job.error).title : undefined}
        className={cx(frame, "flex items-center justify-center bg-well")}
      >
        <CircleX aria-hidden className="size-4 text-fail" />
      </span>
    );
  return (
    <span className={cx(frame, "animate-breathe bg-well")}>
      <Progress
        value={progress?.progress ?? null}
        label={t("candidateComing", { number })}
        className="absolute inset-x-1.5 bottom-1.5"
      />
    </span>
  );
}

interface PictureCellProps {
  readonly imageId: string;
  readonly number: number;
  readonly isLooked: boolean;
  readonly isTaken: boolean;
  readonly isSeen: boolean;
  readonly onLook: () => void;
}

function PictureCell({ imageId, number, isLooked, isTaken, isSeen, onLook }: PictureCellProps) {
  const t = useTranslations("edit");
  return (
    <button
      type="button"
      aria-label={t(isTaken ? "candidateTaken" : "candidate", { number })}
      aria-current={isLooked ? "true" : undefined}
      onClick={onLook}
      className={cx(frame, "aria-[current=true]:ring-2 aria-[current=true]:ring-ink")}
    >
      <img src={imageUrl(imageId, "thumbnail")} alt="" className="size-full object-cover" />
      {isTaken ? (
        <span
          aria-hidden
          className="absolute top-1 inset-e-1 flex size-4 items-center justify-center rounded-full bg-accent text-on-accent"
        >
          <Check className="size-3" strokeWidth={3} />
        </span>
      ) : null}
      {isSeen ? null : (
        <span aria-hidden className="absolute bottom-1 inset-s-1 size-2 rounded-full bg-info" />
      )}
    </button>
  );
}

/** Left and right look, Enter accepts, K keeps, Escape discards. */
function useCandidateKeys(choice: ReturnType<typeof useChoice>, onDiscard: () => void): void {
  useEffect(() => {
    const acts: Record<string, () => void> = {
      ArrowLeft: () => choice.move(-1),
      ArrowRight: () => choice.move(1),
      Enter: choice.accept,
      k: choice.keep,
      Escape: onDiscard,
    };
    const press = (event: KeyboardEvent) => {
      if (isTyping(event) || isCombined(event)) return;
      const isButton = event.target instanceof Element && event.target.closest("button, a") !== null;
      const act = acts[keyOf(event)];
      if (act === undefined || (event.key === "Enter" && isButton)) return;
      event.preventDefault();
      event.stopPropagation();
      // A held Enter accepts once, and its repeats are not the stage's either.
      if (keyOnce(event) !== "") act();
    };
    // In the capture phase: the arrow keys and Enter are keys of the stage, too.
    window.addEventListener("keydown", press, { capture: true });
    return () => window.removeEventListener("keydown", press, { capture: true });
  }, [choice, onDiscard]);
}

interface CandidateActionsProps {
  readonly run: Run;
  readonly choice: ReturnType<typeof useChoice>;
  readonly onEnd: () => void;
}

function CandidateActions({ run, choice, onEnd }: CandidateActionsProps) {
  const t = useTranslations("edit");
  return (
    <>
      <Button look="primary" size="small" disabled={choice.lookedId === null} onClick={choice.accept}>
        <Check aria-hidden />
        {t("accept")}
        <span className="hidden sm:pointer-fine:inline">
          <Kbd keys="Enter" ground="button" />
        </span>
      </Button>
      <Button
        size="small"
        disabled={choice.lookedId === null || run.keptIds.includes(choice.lookedId)}
        onClick={choice.keep}
      >
        <BookmarkPlus aria-hidden />
        <span className="max-sm:sr-only">{t("keepToo")}</span>
        <span className="hidden sm:pointer-fine:inline">
          <Kbd keys="K" />
        </span>
      </Button>
      {run.isSettled ? (
        <Button look="quiet" size="small" onClick={onEnd}>
          {t("candidatesClose")}
        </Button>
      ) : (
        <IconButton label={t("discardAll")} keys="Escape" side="top" onClick={onEnd}>
          <Trash2 aria-hidden />
        </IconButton>
      )}
    </>
  );
}

/** The candidates of a run over the picture: they fill a strip as they come, and one, several or none is taken. */
export function Candidates(props: CandidatesProps) {
  const { run, runs } = props;
  const t = useTranslations("edit");
  const choice = useChoice(props);
  const [isAsking, setAsking] = useState(false);
  const linked = useLinkedView();
  const { data: looked } = useImage(choice.lookedId);
  const { data: parent } = useImage(run.parentId);
  const shown = looked ?? parent;
  const endOrAsk = () => {
    if (run.isSettled) choice.close();
    else if (choice.unseen > 1) setAsking(true);
    else choice.discard();
  };
  useCandidateKeys(choice, endOrAsk);
  return (
    <section aria-label={t("candidates")} className="relative flex min-h-0 min-w-0 flex-1 flex-col">
      {shown === undefined ? null : <Pane image={shown} linked={linked} alt={t("pictureAlt")} />}
      <div className="flex items-center justify-center gap-2 bg-raised p-2 wide:absolute wide:inset-x-0 wide:bottom-3 wide:mx-auto wide:w-fit wide:rounded-card wide:shadow-float">
        <ol aria-label={t("candidates")} className="no-scrollbar flex gap-2 overflow-x-auto p-0.5">
          {runs.candidates.map((candidate, at) => (
            <li key={candidate.jobId} className="flex">
              {candidate.imageId === null ? (
                <EmptyCell candidate={candidate} number={at + 1} />
              ) : (
                <PictureCell
                  imageId={candidate.imageId}
                  number={at + 1}
                  isLooked={candidate.imageId === choice.lookedId}
                  isTaken={[run.acceptedId, ...run.keptIds].includes(candidate.imageId)}
                  isSeen={run.seenIds.includes(candidate.imageId)}
                  onLook={() => choice.look(candidate.imageId)}
                />
              )}
            </li>
          ))}
        </ol>
        <CandidateActions run={run} choice={choice} onEnd={endOrAsk} />
      </div>
      <Confirmation
        open={isAsking}
        onOpenChange={setAsking}
        title={t("discardTitle")}
        keep={t("discardKeep")}
        confirm={t("discardAll")}
        onConfirm={() => {
          setAsking(false);
          choice.discard();
        }}
      >
        {t("discardText", { count: choice.unseen })}
      </Confirmation>
    </section>
  );
}
