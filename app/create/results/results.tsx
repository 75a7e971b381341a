"use client";
import type { ImageView } from "@atelier/server/images";
import type { JobView } from "@atelier/server/jobs";
import { useTranslations } from "next-intl";
import { useMemo, useState } from "react";
import { askAgain, mayAskForMore } from "../../data/may-ask-for-more.ts";
import { LoadFailed } from "../../frame/load-failed.tsx";
import { justify } from "../../gallery/justify.ts";
import { useGalleryImages } from "../../gallery/use-gallery-images.ts";
import { useViewerAddress } from "../../gallery/viewer/use-viewer-address.ts";
import { Viewer } from "../../gallery/viewer/viewer.tsx";
import { useBoxSize } from "../../ui/use-box-size.ts";
import { useNearEnd } from "../../ui/use-near-end.ts";
import type { useCreations } from "../use-creations.ts";
import { NothingCanMake } from "./nothing-can-make.tsx";
import { NothingYet } from "./nothing-yet.tsx";
import { ResultCard } from "./result-card.tsx";
import { sizeOfJob } from "./size-of-job.ts";

interface Props {
  readonly creations: ReturnType<typeof useCreations>;
  /** Why nothing can make pictures; null when something can. */
  readonly reason: string | null;
}

const gapPx = 16;
const phonePx = 640;
const imageFilters = { kind: "text_to_image" } as const;

/** The viewer goes from picture to picture as they hang here. */
function inGridOrder(jobs: readonly JobView[], images: readonly ImageView[]): readonly ImageView[] {
  const imageById = new Map(images.map((image) => [image.id, image]));
  return jobs.flatMap(({ outputs }) => outputs.flatMap(({ imageId }) => imageById.get(imageId) ?? []));
}

/** The pictures made here, newest first, each in the frame in which it developed. */
export function Results({ creations, reason }: Props) {
  const t = useTranslations("create");
  const [element, setElement] = useState<HTMLDivElement | null>(null);
  const [dismissed, setDismissed] = useState<ReadonlySet<string>>(new Set());
  const { width } = useBoxSize(element);
  const viewer = useViewerAddress();
  const { images } = useGalleryImages(imageFilters);
  const endRef = useNearEnd(() => void creations.fetchNextPage(), mayAskForMore(creations));
  const jobs = creations.jobs?.filter(({ id }) => !dismissed.has(id));
  const rows = useMemo(
    () =>
      width === 0
        ? []
        : justify(
            (jobs ?? []).map((job) => ({ ...sizeOfJob(job), job })),
            { widthPx: width, targetHeightPx: width < phonePx ? 200 : 320, gapPx },
          ),
    [jobs, width],
  );
  const shownImages = useMemo(() => inGridOrder(jobs ?? [], images ?? []), [images, jobs]);
  const dismiss = (id: string) => setDismissed((ids) => new Set([...ids, id]));
  const isEmpty = jobs?.length === 0;
  return (
    <section aria-label={t("results")} className="min-w-0">
      {reason === null ? null : <NothingCanMake reason={reason} hasPictures={!isEmpty} />}
      {isEmpty && reason === null ? <NothingYet /> : null}
      <div ref={setElement}>
        <ul className="flex flex-col" style={{ gap: gapPx }}>
          {rows.map((row) => (
            <li key={row.items[0]?.job.id}>
              <ul className="flex" style={{ gap: gapPx }}>
                {row.items.map(({ job }, index) => (
                  <ResultCard
                    key={job.id}
                    job={job}
                    widthPx={row.widthsPx[index] ?? 0}
                    heightPx={row.heightPx}
                    isOpen={viewer.imageId !== null && job.outputs[0]?.imageId === viewer.imageId}
                    onOpen={viewer.open}
                    onDismiss={dismiss}
                  />
                ))}
              </ul>
            </li>
          ))}
        </ul>
      </div>
      {creations.isError ? <LoadFailed error={creations.error} onRetry={() => askAgain(creations)} /> : null}
      <div ref={endRef} className="h-8" />
      <Viewer images={shownImages} address={viewer} />
    </section>
  );
}
