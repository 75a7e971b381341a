"use client";
import type { JobView } from "@atelier/server/jobs";
import { GripVertical } from "lucide-react";
import { useTranslations } from "next-intl";
import { type KeyboardEvent, useState } from "react";
import { cx } from "../ui/cx.ts";
import { IconButton } from "../ui/icon-button.tsx";
import { JobListRow } from "./parts.tsx";
import { useDrag } from "./line/use-drag.ts";
import { shownKind } from "./shown-kind.ts";

interface Props {
  readonly jobs: readonly JobView[];
  /** With those that are not shown. */
  readonly total: number;
  /** False where it may not go. */
  readonly onMove: (from: number, to: number) => boolean;
}

const steps: Record<string, number> = { ArrowUp: -1, ArrowDown: 1 };

/** Own waiting jobs in the order in which they are served, to be dragged or moved by arrow keys. */
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

/** Where the dragged row would come to lie. */
function targetLine({ from, to }: { readonly from: number; readonly to: number }): string {
  return to < from ? "shadow-[0_-2px_0_var(--ink)]" : "shadow-[0_2px_0_var(--ink)]";
}
