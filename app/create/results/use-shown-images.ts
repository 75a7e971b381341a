"use client";
import type { ImageView } from "@atelier/server/images";
import type { JobView } from "@atelier/server/jobs";
import { useEffect, useMemo } from "react";
import { mayAskForMore } from "../../data/may-ask-for-more.ts";
import { useGalleryImages } from "../../gallery/use-gallery-images.ts";
import type { useCreations } from "../use-creations.ts";

const imageFilters = { kind: "text_to_image" } as const;
const noJobs: readonly JobView[] = [];

/** The viewer goes from picture to picture as they hang here. */
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

/** The pictures that the viewer goes through; while it is open, more are fetched before it comes to their end. */
export function useShownImages({ jobs = noJobs, creations, openId }: Shown): readonly ImageView[] {
  const query = useGalleryImages(imageFilters);
  const { images } = query;
  const shown = useMemo(() => inGridOrder(jobs, images ?? []), [images, jobs]);
  const lastId = jobs.findLast(({ outputs }) => outputs.length > 0)?.outputs[0]?.imageId;
  const isLastKnown = shown.at(-1)?.id === lastId;
  const needsImages = openId !== null && !isLastKnown && mayAskForMore(query);
  const needsJobs = openId !== null && openId === lastId && mayAskForMore(creations);
  useEffect(() => {
    if (needsImages) void query.fetchNextPage();
  }, [needsImages, query]);
  useEffect(() => {
    if (needsJobs) void creations.fetchNextPage();
  }, [creations, needsJobs]);
  return shown;
}
