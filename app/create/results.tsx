"use client";
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { Plug } from "lucide-react";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { useCallback, useEffect, useMemo, useState } from "react";
import type { ImageView } from "@atelier/server/images";
import type { JobView } from "@atelier/server/jobs";
import { BatchStrip } from "../batches/batch-strip.tsx";
import { api } from "../client/api.ts";
import { byCursor, canLoadMore, keys, retryLoad, viewerTimezone } from "../client/queries.ts";
import { LoadFailed } from "../parts/page-parts.tsx";
import { justify } from "../pictures/justify.ts";
import { useViewerAddress, Viewer } from "../gallery/viewer/door.tsx";
import { useRemoving } from "../pictures/changes.ts";
import { Button, buttonStyle } from "../ui/button.tsx";
import { EmptyState } from "../ui/display.tsx";
import { useBoxSize } from "../ui/box-size.ts";
import { useNearEnd } from "../ui/scrolling.ts";
import { createForm, useForm } from "./form.ts";
import { ResultCard } from "./result-card.tsx";
import { sizeOfJob } from "../jobs/params.ts";
import type { useCreations } from "./creations.ts";

interface NoEngineProps {
  readonly reason: string;
  readonly hasPictures: boolean;
}

/** Shown while no engine can run text to image: what to connect, and what works without it. */
function NoEngine({ reason, hasPictures }: NoEngineProps) {
  const t = useTranslations("create");
  return (
    <div
      className={`flex flex-col gap-4 rounded-card border border-line bg-well p-5 sm:flex-row sm:gap-5 sm:p-6 ${hasPictures ? "mb-8" : ""}`}
    >
      <Plug className="size-6 shrink-0 text-quiet" strokeWidth={1.5} aria-hidden />
      <div className="flex min-w-0 flex-col gap-3">
        <h2 className="display text-lg">{t("nothingTitle")}</h2>
        <p className="measure text-sm text-quiet">{reason}</p>
        <p className="measure text-sm">{t("nothingHow")}</p>
        <code
          // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reachable by keyboard
          tabIndex={0}
          className="overflow-x-auto rounded-control border border-line bg-surface px-3 py-2 font-mono text-xs whitespace-nowrap"
        >
          COMFYUI_URLS=http://127.0.0.1:8188
        </code>
        <p className="measure text-sm text-quiet">{t("nothingMeanwhile")}</p>
        <div className="flex flex-wrap gap-2">
          <Link href="/" className={buttonStyle("plain", "small")}>
            {t("toStudio")}
          </Link>
          <Link href="/gallery" className={buttonStyle("quiet", "small")}>
            {t("toGallery")}
          </Link>
        </div>
      </div>
    </div>
  );
}

const ideas = ["lighthouse", "kitchen", "fox"] as const;

/** Example prompts, shown before the first picture. */
function ExamplePrompts() {
  const t = useTranslations("create");
  const prompt = useForm().prompt.trim();
  // A prompt that the user wrote is never replaced.
  const isOwn = prompt !== "" && ideas.every((idea) => t(`ideas.${idea}.prompt`) !== prompt);
  if (isOwn) return null;
  return (
    <EmptyState title={t("emptyTitle")} text={t("emptyText")}>
      {ideas.map((idea) => (
        <Button key={idea} size="small" onClick={() => createForm.set({ prompt: t(`ideas.${idea}.prompt`) })}>
          {t(`ideas.${idea}.name`)}
        </Button>
      ))}
    </EmptyState>
  );
}

const imageFilters = { kind: "text_to_image" } as const;
const noJobs: readonly JobView[] = [];

/** The images in the order of the cards, so that the viewer moves in that order. */
function inGridOrder(jobs: readonly JobView[], images: readonly ImageView[]): readonly ImageView[] {
  const imageById = new Map(images.map((image) => [image.id, image]));
  return jobs.flatMap(({ outputs }) => outputs.flatMap(({ imageId }) => imageById.get(imageId) ?? []));
}

interface Shown {
  readonly jobs: readonly JobView[] | undefined;
  readonly creations: ReturnType<typeof useCreations>;
  /** The picture in the viewer. */
  readonly openId: string | null;
}

const pageSize = 100;

/** All pictures of texts, newest first, loaded page by page. */
function useImages() {
  const query = useInfiniteQuery({
    queryKey: keys.imageList(imageFilters),
    queryFn: ({ pageParam }) =>
      api.images.list.query({
        ...imageFilters,
        timezone: viewerTimezone(),
        cursor: pageParam ?? undefined,
        limit: pageSize,
      }),
    ...byCursor,
    placeholderData: keepPreviousData,
  });
  const removing = useRemoving();
  const images = useMemo(
    () => query.data?.pages.flatMap(({ items }) => items.filter(({ id }) => !removing.has(id))),
    [query.data, removing],
  );
  return { ...query, images };
}

/** The pictures that the viewer steps through. While it is open, the next page is fetched before the last picture. */
function useShownImages({ jobs = noJobs, creations, openId }: Shown): readonly ImageView[] {
  const query = useImages();
  const { images } = query;
  const shown = useMemo(() => inGridOrder(jobs, images ?? []), [images, jobs]);
  const lastId = jobs.findLast(({ outputs }) => outputs.length > 0)?.outputs[0]?.imageId;
  const isLastKnown = shown.at(-1)?.id === lastId;
  const needsImages = openId !== null && !isLastKnown && canLoadMore(query);
  const needsJobs = openId !== null && openId === lastId && canLoadMore(creations);
  useEffect(() => {
    if (needsImages) void query.fetchNextPage();
  }, [needsImages, query]);
  useEffect(() => {
    if (needsJobs) void creations.fetchNextPage();
  }, [creations, needsJobs]);
  return shown;
}

interface ResultsProps {
  readonly creations: ReturnType<typeof useCreations>;
  /** Why no engine can run text to image now; null when one can. */
  readonly reason: string | null;
  /** The batch that was started last. */
  readonly batchId: string | null;
}

const gapPx = 16;
const phonePx = 640;

interface Card {
  readonly job: JobView;
  readonly widthPx: number;
  readonly heightPx: number;
}

/** Sizes of the cards in rows that fill the width. One flat list, so that a new card does not remount the others. */
function layOut(jobs: readonly JobView[], widthPx: number): readonly Card[] {
  if (widthPx === 0) return [];
  const items = jobs.map((job) => ({ ...sizeOfJob(job), job }));
  // On a phone two upright pictures in a row, each as wide as its buttons.
  const targetHeightPx = widthPx < phonePx ? 310 : 320;
  return justify(items, { widthPx, targetHeightPx, gapPx }).flatMap((row) =>
    row.items.map(({ job }, index) => ({
      job,
      // Rounded down to a quarter px: a row must not wrap because of rounding.
      widthPx: Math.floor((row.widthsPx[index] ?? 0) * 4) / 4 - 0.25,
      heightPx: Math.round(row.heightPx),
    })),
  );
}

/** The pictures of this page, newest first; a running job shows its preview in the same card. */
export function Results({ creations, reason, batchId }: ResultsProps) {
  const t = useTranslations("create");
  const [element, setElement] = useState<HTMLDivElement | null>(null);
  const [dismissed, setDismissed] = useState<ReadonlySet<string>>(new Set());
  const { width } = useBoxSize(element);
  const viewer = useViewerAddress();
  const endRef = useNearEnd(() => void creations.fetchNextPage(), canLoadMore(creations));
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
      {reason === null ? null : <NoEngine reason={reason} hasPictures={!isEmpty} />}
      {isEmpty && reason === null ? <ExamplePrompts /> : null}
      {batchId === null ? null : <BatchStrip id={batchId} />}
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
      {creations.isError ? <LoadFailed error={creations.error} onRetry={() => retryLoad(creations)} /> : null}
      <div ref={endRef} className="h-8" />
      <Viewer images={shownImages} address={viewer} />
    </section>
  );
}
