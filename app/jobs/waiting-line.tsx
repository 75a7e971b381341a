"use client";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { GripVertical, X } from "lucide-react";
import { useTranslations } from "next-intl";
import { useState } from "react";
import type { JobView } from "@atelier/server/jobs";
import { api } from "../client/api.ts";
import { useFailureToast } from "../ui/failures.ts";
import { keys } from "../client/queries.ts";
import { useLiveJobs } from "../live/hooks.tsx";
import { Button, IconButton } from "../ui/button.tsx";
import { Confirmation } from "../ui/confirmation.tsx";
import type { DialogProps } from "../ui/overlays.tsx";
import { moveItem, useReorder } from "../ui/reorder.ts";
import { JobListRow } from "./row.tsx";
import { shownKind } from "../client/kinds.ts";
import { useWaiting } from "./waiting-text.ts";

interface InLine {
  readonly id: string;
  readonly queue: string;
  readonly tier: string;
}

/** The next job with the same queue and tier; null at the end. Only such jobs can be reordered. */
export function nextInLine(jobs: readonly InLine[], id: string): string | null {
  const at = jobs.findIndex((job) => job.id === id);
  const own = jobs[at];
  const after = jobs.slice(at + 1).find(({ queue, tier }) => queue === own?.queue && tier === own.tier);
  return after?.id ?? null;
}

interface Move {
  readonly id: string;
  readonly before: string | null;
  /** Ids of the jobs as they are shown from now on. */
  readonly order: readonly string[];
}

/** Jobs of the order in its sequence, behind those that it does not name. */
function sortBy<T extends { readonly id: string }>(jobs: readonly T[], order: readonly string[]): T[] {
  const indexById = new Map(order.map((id, index) => [id, index]));
  return jobs.toSorted((a, b) => (indexById.get(a.id) ?? -1) - (indexById.get(b.id) ?? -1));
}

/** With fewer jobs there is nothing to reorder, and one is cancelled by its own button. */
const minReorderable = 2;

/** The user's `pending` jobs in the order in which they will be served; empty when there is nothing to reorder. */
export function useLine() {
  const queries = useQueryClient();
  const showFailure = useFailureToast();
  const live = useLiveJobs();
  const { items: waiting, total } = useWaiting();
  const { mutate, isPending, variables } = useMutation({
    mutationFn: ({ id, before }: Move) => api.jobs.moveInLine.mutate({ id, before }),
    onError: showFailure,
    // The move stays pending, and its order shown, until the line has been read anew.
    onSettled: () => queries.invalidateQueries({ queryKey: keys.waiting }),
  });
  const inOrder = isPending ? sortBy(waiting, variables.order) : waiting;
  const all = inOrder.flatMap(({ id }): JobView[] => {
    const job = live.find((one) => one.id === id);
    return job?.status === "pending" && !job.cancelRequested ? [job] : [];
  });
  const jobs = all.length < minReorderable ? [] : all;
  const unshown = total - waiting.length;
  /** False when the job may not move to that index. */
  function move(from: number, to: number): boolean {
    const job = jobs[from];
    if (job === undefined || to === from || to < 0 || to >= jobs.length) return false;
    const next = moveItem(jobs, from, to);
    const before = nextInLine(next, job.id);
    // Null would move the job behind the jobs that are not shown as well.
    if (before === null && unshown > 0) return false;
    mutate({ id: job.id, before, order: next.map(({ id }) => id) });
    return true;
  }
  return { jobs, total: jobs.length + unshown, move };
}

/** Asks whether to cancel all that waits, those that are not shown as well. */
function CancelQuestion({ onOpenChange, ...dialog }: Pick<DialogProps, "open" | "onOpenChange">) {
  const t = useTranslations("jobs.line");
  const { total } = useWaiting();
  const { mutate, isPending } = useMutation({
    mutationFn: () => api.jobs.cancelWaiting.mutate(),
    onSettled: () => onOpenChange(false),
    onError: useFailureToast(),
  });
  return (
    <Confirmation
      {...dialog}
      onOpenChange={onOpenChange}
      title={t("cancelTitle", { count: total })}
      keep={t("cancelKeep")}
      confirm={t("cancel")}
      isBusy={isPending}
      onConfirm={() => mutate()}
    >
      {t("cancelText")}
    </Confirmation>
  );
}

interface Props {
  readonly jobs: readonly JobView[];
  /** Number of waiting jobs, including those that are not shown. */
  readonly total: number;
  /** False when the job may not move to that index. */
  readonly onMove: (from: number, to: number) => boolean;
}

/** The user's waiting jobs in the order in which they will be served; reordered by dragging or arrow keys, or all cancelled. */
export function WaitingLine({ jobs, total, onMove }: Props) {
  const t = useTranslations("jobs");
  const [said, setSaid] = useState("");
  const [isAsking, setAsking] = useState(false);
  const move = (from: number, to: number) => {
    if (onMove(from, to)) setSaid(t("line.moved", { place: to + 1, count: jobs.length }));
  };
  const { list, rowClass, handlersFor } = useReorder(
    jobs.map(({ id }) => id),
    move,
  );
  const { total: waiting } = useWaiting();
  // The last job but one may begin while the question stands.
  const question = <CancelQuestion open={isAsking} onOpenChange={setAsking} />;
  const cancelAll = (
    <Button size="small" look="quiet" onClick={() => setAsking(true)}>
      <X aria-hidden />
      {t("line.cancel")}
    </Button>
  );
  // What a queue has been given waits for a worker, in no order that can be changed.
  if (jobs.length === 0)
    return (
      <>
        {waiting < minReorderable ? null : <div className="mb-3 flex justify-end">{cancelAll}</div>}
        {question}
      </>
    );
  return (
    <section aria-labelledby="waiting-line" className="mb-6">
      <div className="flex items-center justify-between gap-4">
        <h2 id="waiting-line" className="text-sm font-medium">
          {t("line.title")}
        </h2>
        {cancelAll}
      </div>
      <p className="mt-0.5 mb-2 text-xs text-quiet">
        {total > jobs.length ? `${t("line.first", { count: jobs.length, total })} ` : null}
        {t("line.hint")}
      </p>
      <ul ref={list} aria-labelledby="waiting-line" className="divide-y divide-line border-y border-line">
        {jobs.map((job, index) => (
          <JobListRow
            key={job.id}
            job={job}
            className={rowClass(job.id, index)}
            handle={
              <IconButton
                label={t("line.move", {
                  place: index + 1,
                  count: jobs.length,
                  name: t(`kinds.${shownKind(job)}`),
                })}
                keys="ArrowUp ArrowDown"
                {...handlersFor(job.id)}
                className="cursor-grab touch-none active:cursor-grabbing"
              >
                <GripVertical aria-hidden />
              </IconButton>
            }
          />
        ))}
      </ul>
      <p aria-live="polite" className="sr-only">
        {said}
      </p>
      {question}
    </section>
  );
}
