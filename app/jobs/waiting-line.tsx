"use client";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { GripVertical } from "lucide-react";
import { useTranslations } from "next-intl";
import { type KeyboardEvent, type PointerEvent, useRef, useState } from "react";
import type { JobView } from "@atelier/server/jobs";
import { api } from "../client/api.ts";
import { useFailureToast } from "../client/failures.ts";
import { keys } from "../client/queries.ts";
import { useLiveJobs } from "../live/hooks.tsx";
import { cx, IconButton } from "../ui/button.tsx";
import { JobListRow } from "./parts.tsx";
import { shownKind } from "./text.ts";
import { useWaiting } from "./waiting-text.ts";

/** The list with one item moved to another index. */
export function moveItem<Item>(items: readonly Item[], from: number, to: number): readonly Item[] {
  const item = items[from];
  if (item === undefined) return items;
  const others = items.filter((_, index) => index !== from);
  return [...others.slice(0, to), item, ...others.slice(to)];
}

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

/** New index of a dragged row. `middles`: vertical middle of each row in px; `y`: the pointer. */
export function positionAt(middles: readonly number[], y: number, dragged: number): number {
  return middles.filter((middle, index) => index !== dragged && middle < y).length;
}

/** A row being dragged, with its old and new index. */
interface Drag {
  readonly id: string;
  readonly from: number;
  readonly to: number;
}

interface Held {
  readonly id: string;
  readonly y: number;
}

function middlesOf(list: HTMLElement): readonly number[] {
  return [...list.children].map((row) => {
    const box = row.getBoundingClientRect();
    return box.top + box.height / 2;
  });
}

/** Drags a row by its handle. The rows may change during a drag, so the dragged row is known by its id. */
function useDrag(ids: readonly string[], onMove: (from: number, to: number) => void) {
  const list = useRef<HTMLUListElement>(null);
  const [drag, setDrag] = useState<Drag | null>(null);
  const place = ({ id, y }: Held) => {
    const from = ids.indexOf(id);
    if (from === -1 || list.current === null) return null;
    return { id, from, to: positionAt(middlesOf(list.current), y, from) };
  };
  const handlersFor = (id: string) => ({
    onPointerDown: (event: PointerEvent) => {
      if (event.button !== 0) return;
      event.currentTarget.setPointerCapture(event.pointerId);
      setDrag(place({ id, y: event.clientY }));
    },
    onPointerMove: (event: PointerEvent) => {
      if (drag?.id === id) setDrag(place({ id, y: event.clientY }));
    },
    onPointerUp: (event: PointerEvent) => {
      const end = drag?.id === id ? place({ id, y: event.clientY }) : null;
      if (end !== null) onMove(end.from, end.to);
      setDrag(null);
    },
    onPointerCancel: () => setDrag(null),
  });
  return { list, drag, handlersFor };
}

type Waiting = Awaited<ReturnType<typeof api.jobs.waiting.query>>;

/** With fewer jobs there is nothing to reorder. */
const minReorderable = 2;

/** The user's `pending` jobs in the order in which they will be served; empty when there is nothing to reorder. */
export function useLine() {
  const queries = useQueryClient();
  const showFailure = useFailureToast();
  const live = useLiveJobs();
  const { items: waiting, total } = useWaiting();
  const all = waiting.flatMap(({ id }): JobView[] => {
    const job = live.find((one) => one.id === id);
    return job?.status === "pending" && !job.cancelRequested ? [job] : [];
  });
  const jobs = all.length < minReorderable ? [] : all;
  const { mutate } = useMutation({
    mutationFn: (input: { id: string; before: string | null }) => api.jobs.moveInLine.mutate(input),
    onError: showFailure,
    onSettled: () => queries.invalidateQueries({ queryKey: keys.waiting }),
  });
  const unshown = total - waiting.length;
  /** False when the job may not move to that index. */
  function move(from: number, to: number): boolean {
    const job = jobs[from];
    if (job === undefined || to === from || to < 0 || to >= jobs.length) return false;
    const next = moveItem(jobs, from, to);
    const before = nextInLine(next, job.id);
    // Null would move the job behind the jobs that are not shown as well.
    if (before === null && unshown > 0) return false;
    const indexById = new Map(next.map(({ id }, index) => [id, index]));
    // Optimistic update; the next fetch of the waiting jobs brings the order of the server.
    void queries.cancelQueries({ queryKey: keys.waiting });
    queries.setQueryData<Waiting>(
      keys.waiting,
      (data) =>
        data && {
          ...data,
          items: data.items.toSorted((a, b) => (indexById.get(a.id) ?? -1) - (indexById.get(b.id) ?? -1)),
        },
    );
    mutate({ id: job.id, before });
    return true;
  }
  return { jobs, total: jobs.length + unshown, move };
}

interface Props {
  readonly jobs: readonly JobView[];
  /** Number of waiting jobs, including those that are not shown. */
  readonly total: number;
  /** False when the job may not move to that index. */
  readonly onMove: (from: number, to: number) => boolean;
}

const steps: Record<string, number> = { ArrowUp: -1, ArrowDown: 1 };

/** The user's waiting jobs in the order in which they will be served; reordered by dragging or arrow keys. */
export function WaitingLine({ jobs, total, onMove }: Props) {
  const t = useTranslations("jobs");
  const [said, setSaid] = useState("");
  const move = (from: number, to: number) => {
    if (onMove(from, to)) setSaid(t("line.moved", { place: to + 1, count: jobs.length }));
  };
  const { list, drag, handlersFor } = useDrag(
    jobs.map(({ id }) => id),
    move,
  );
  const press = (event: KeyboardEvent, from: number) => {
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    move(from, from + step);
  };
  if (jobs.length === 0) return null;
  return (
    <section aria-labelledby="waiting-line" className="mb-6">
      <h2 id="waiting-line" className="text-sm font-medium">
        {t("line.title")}
      </h2>
      <p className="mt-0.5 mb-2 text-xs text-quiet">
        {total > jobs.length ? `${t("line.first", { count: jobs.length, total })} ` : null}
        {t("line.hint")}
      </p>
      <ul ref={list} aria-labelledby="waiting-line" className="divide-y divide-line border-y border-line">
        {jobs.map((job, index) => (
          <JobListRow
            key={job.id}
            job={job}
            className={cx(
              drag?.id === job.id && "opacity-45",
              drag !== null && drag.to === index && drag.to !== drag.from && targetLine(drag),
            )}
            handle={
              <IconButton
                label={t("line.move", {
                  place: index + 1,
                  count: jobs.length,
                  name: t(`kinds.${shownKind(job)}`),
                })}
                keys="ArrowUp ArrowDown"
                {...handlersFor(job.id)}
                onKeyDown={(event) => press(event, index)}
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
    </section>
  );
}

/** Class of the line that marks the new position of the dragged row. */
function targetLine({ from, to }: { readonly from: number; readonly to: number }): string {
  return to < from ? "shadow-[0_-2px_0_var(--ink)]" : "shadow-[0_2px_0_var(--ink)]";
}
