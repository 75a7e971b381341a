"use client";
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { api } from "../client/api.ts";
import { keys } from "../data/keys.ts";
import type { GalleryFilters } from "./gallery-filters.ts";

const pageSize = 100;

/** The pictures that match, newest first, page after page. */
export function useGalleryImages(filters: GalleryFilters) {
  const query = useInfiniteQuery({
    queryKey: keys.imageList(filters),
    queryFn: ({ pageParam }) =>
      api.images.list.query({ ...filters, cursor: pageParam ?? undefined, limit: pageSize }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.nextCursor,
    placeholderData: keepPreviousData,
  });
  const images = useMemo(() => query.data?.pages.flatMap((page) => page.items), [query.data]);
  return { ...query, images };
}
