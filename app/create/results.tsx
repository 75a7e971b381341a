"use client";
import type { JobView } from "@atelier/server/jobs";
import { useTranslations } from "next-intl";
import { useCallback, useMemo, useState } from "react";
import { askAgain, mayAskForMore } from "../data/may-ask-for-more.ts";
import { LoadFailed } from "../frame/load-failed.tsx";
import { justify } from "../gallery/layout-rows.ts";
import { useViewerAddress } from "../gallery/viewer/use-viewer-address.ts";
import { Viewer } from "../gallery/viewer/viewer.tsx";
import { useBoxSize } from "../ui/use-box-size.ts";
import { useNearEnd } from "../ui/hooks.ts";
import type { useCreations } from "./use-creations.ts";
import { NothingCanMake } from "./results/nothing-can-make.tsx";
import { NothingYet } from "./results/nothing-yet.tsx";
import { ResultCard } from "./results/result-card.tsx";
import { sizeOfJob } from "./results/size-of-job.ts";
import { useShownImages } from "./results/use-shown-images.ts";

interface Props {
  readonly creations: ReturnType<typeof useCreations>;
  /** Why nothing can make pictures; null when something can. */
  readonly reason: string | null;
}

const gapPx = 16;
const phonePx = 640;

interface Card {
  readonly job: JobView;
  readonly widthPx: number;
  readonly heightPx: number;
}

/** Rows that fill the width, as one list that wraps: a newcomer moves the others without drawing them anew. */
function layOut(jobs: readonly JobView[], widthPx: number): readonly Card[] {
  if (widthPx === 0) return [];
  const items = jobs.map((job) => ({ ...sizeOfJob(job), job }));
  const targetHeightPx = widthPx < phonePx ? 200 : 320;
  return justify(items, { widthPx, targetHeightPx, gapPx }).flatMap((row) =>
    row.items.map(({ job }, index) => ({
      job,
      // Rounded down, so that a row never breaks.
      widthPx: Math.floor((row.widthsPx[index] ?? 0) * 4) / 4 - 0.25,
      heightPx: Math.round(row.heightPx),
    })),
  );
}

/** The pictures made here, newest first, each in the frame in which it developed. */
export function Results({ creations, reason }: Props) {
  const t = useTranslations("create");
  const [element, setElement] = useState<HTMLDivElement | null>(null);
  const [dismissed, setDismissed] = useState<ReadonlySet<string>>(new Set());
  const { width } = useBoxSize(element);
  const viewer = useViewerAddress();
  const endRef = useNearEnd(() => void creations.fetchNextPage(), mayAskForMore(creations));
  const jobs = useMemo(
    () => creations.jobs?.filter(({ id }) => !dismissed.has(id)),
    [creations.jobs, dismissed],
  );
  const cards = useMemo(() => layOut(jobs ?? [], width), [jobs, width]);
  const shownImages = useShownImages({ jobs, creations, openId: viewer.imageId });
  const dismiss = useCallback((id: string) => setDismissed((ids) => new Set([...ids, id])), []);
  const isEmpty = jobs?.length === 0;
  return (
    <section aria-label={t("results")} className="min-w-0">
      {reason === null ? null : <NothingCanMake reason={reason} hasPictures={!isEmpty} />}
      {isEmpty && reason === null ? <NothingYet /> : null}
      <div ref={setElement}>
        <ul className="flex flex-wrap" style={{ gap: gapPx }}>
          {cards.map(({ job, widthPx, heightPx }) => (
            <ResultCard
              key={job.id}
              job={job}
              widthPx={widthPx}
              heightPx={heightPx}
              isOpen={viewer.imageId !== null && job.outputs[0]?.imageId === viewer.imageId}
              onOpen={viewer.open}
              onDismiss={dismiss}
            />
          ))}
        </ul>
      </div>
      {creations.isError ? <LoadFailed error={creations.error} onRetry={() => askAgain(creations)} /> : null}
      <div ref={endRef} className="h-8" />
      <Viewer images={shownImages} address={viewer} />
    </section>
  );
}
