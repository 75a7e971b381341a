"use client";
import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { type ReactNode, useCallback, useEffect, useMemo, useState } from "react";
import { api } from "../client/api.ts";
import { useFailureToast } from "../ui/failures.ts";
import { canLoadMore, keys, viewerTimezone } from "../client/queries.ts";
import { useRemoving } from "../pictures/changes.ts";
import { galleryPageSize } from "./layout-rows.ts";
import { isByMeaning, isNewestFirst, withoutOrder } from "../client/search-terms.ts";
import type { ListedImage } from "./stack.tsx";
import type { Jump } from "./timeline.ts";

/** Which page of the list: of a jump, or beside another one. */
interface PageParam {
  readonly jump?: Jump | undefined;
  readonly cursor?: string;
  readonly newer?: boolean;
  /** How many pictures are newer than its first; of a page of newer pictures, than the first of those that follow it. */
  readonly index: number;
}

type ImageList = Awaited<ReturnType<typeof api.images.list.query>>;

/** What a page brings of the gallery without a search: its newest pictures and its months. */
export interface FirstPictures {
  readonly list: ImageList;
  readonly months: Awaited<ReturnType<typeof api.images.months.query>>["months"];
  /** The pictures in the server's HTML, until the page's code lays them out. */
  readonly tiles: ReactNode;
}

/** So old that it is shown at once and still read again: what changed since the page was made has been told to nobody. */
const longAgo = 1;

/** Pages that are kept; those far from what is shown are read again when they come near. */
const mostPages = 8;

async function readPage(search: string | undefined, { index, jump, ...place }: PageParam) {
  const at = jump && { from: jump.from, before: jump.before, skip: jump.skip };
  const filters = { search, timezone: viewerTimezone(), stacks: true };
  const page = await api.images.list.query({ ...filters, jump: at, ...place, limit: galleryPageSize });
  return {
    ...page,
    search: search ?? "",
    jump,
    index: place.newer === true ? Math.max(0, index - page.items.length) : index,
  };
}

interface Wanted {
  readonly search: string | undefined;
  /** Null begins at the newest. */
  readonly jump: Jump | null;
  /** How many jumps there were: what an earlier one to the same place led to may have moved on since. */
  readonly jumps: number;
  /** Where a jump came from: it stays on the page if the jump fails. */
  readonly before?: Wanted;
  /** Why a jump from here failed: the next one waits until something scrolls. */
  readonly failure?: Error;
}

function usePages({ search, jump, jumps }: Wanted, canForget: boolean, first: FirstPictures | null) {
  const initialPageParam: PageParam = jump === null ? { index: 0 } : { jump, index: jump.index };
  return useInfiniteQuery({
    queryKey: keys.imageList({ search, stacks: true, ...(jumps > 0 ? { jump, jumps } : {}) }),
    queryFn: ({ pageParam }) => readPage(search, pageParam),
    initialPageParam,
    ...(first === null || search !== undefined || jumps > 0 ? {} : firstPage(first.list)),
    getNextPageParam: ({ nextCursor, index, items }): PageParam | null =>
      nextCursor === null ? null : { cursor: nextCursor, index: index + items.length },
    getPreviousPageParam: ({ previousCursor, index }): PageParam | null =>
      previousCursor === null ? null : { cursor: previousCursor, newer: true, index },
    ...(canForget ? { maxPages: mostPages } : {}),
    placeholderData: keepPreviousData,
  });
}

const firstPage = (list: ImageList) => ({
  initialData: {
    pages: [{ ...list, search: "", jump: undefined, index: 0 }],
    pageParams: [{ index: 0 } satisfies PageParam],
  },
  initialDataUpdatedAt: longAgo,
});

/** Pictures in each month of the list, whatever its order; null while they are not counted, and of what is ordered by meaning, which has none. */
function useMonths(ordered: string | undefined, first: FirstPictures | null) {
  const search = withoutOrder(ordered);
  const hasMonths = !isByMeaning(search ?? "");
  const { data } = useQuery({
    queryKey: keys.imageMonths({ search }),
    queryFn: () => api.images.months.query({ search, timezone: viewerTimezone() }),
    enabled: hasMonths,
    ...(first === null || search !== undefined
      ? {}
      : { initialData: { months: first.months }, initialDataUpdatedAt: longAgo }),
    placeholderData: keepPreviousData,
  });
  return hasMonths ? (data?.months ?? null) : null;
}

/**
 * The part of the gallery's list that is read: pages that follow one another, from the newest on or from where a jump leads. With
 * the months of the whole list only a few pages are kept, since their room is known without them.
 */
export function useGalleryWindow(search: string | undefined, first: FirstPictures | null) {
  const [wanted, setWanted] = useState<Wanted>({ search, jump: null, jumps: 0 });
  // Another search begins at its newest.
  if (wanted.search !== search) setWanted({ search, jump: null, jumps: 0 });
  const months = useMonths(search, first);
  const query = usePages(wanted, months !== null && isNewestFirst(search ?? ""), first);
  const jump = useCallback(
    (to: Jump | null) =>
      setWanted(({ before: _before, failure: _failure, ...now }) => ({
        search: now.search,
        jump: to,
        jumps: now.jumps + 1,
        before: now,
      })),
    [],
  );
  // All that a jump should show was removed meanwhile.
  if (wanted.jump !== null && isBare(query)) setWanted({ search, jump: null, jumps: 0 });
  const { before, failure } = wanted;
  // What was shown stays.
  if (before !== undefined && query.data === undefined && query.error !== null)
    setWanted({ ...before, failure: query.error });
  const showFailure = useFailureToast();
  useEffect(() => {
    if (failure !== undefined) showFailure(failure);
  }, [failure, showFailure]);
  const part = useReadPart(query);
  /** The months as they stand in the list: another order has no places that they lead to. */
  const timed = isNewestFirst(part.search ?? "") ? months : null;
  return { query, months, timed, jump, hasFailedJump: failure !== undefined, ...part };
}

type Pages = ReturnType<typeof usePages>;

function isBare({ data, isPlaceholderData }: Pages): boolean {
  return !isPlaceholderData && data?.pages.every(({ items }) => items.length === 0) === true;
}

/** What the pages say of themselves: of pages that stand in for those of a jump, the query knows no neighbours. */
function useReadPart(query: Pages) {
  const { data, isFetching } = query;
  const removing = useRemoving();
  const images = useMemo(
    // One that another rating or time has moved meanwhile may stand on two pages.
    () => {
      const seen = new Set(removing);
      return data?.pages.flatMap(({ items }): ListedImage[] =>
        items.filter(({ id }) => !seen.has(id) && seen.add(id)),
      );
    },
    [data, removing],
  );
  const ends = endsOf(data?.pages ?? []);
  return {
    images,
    ...ends,
    canReadNewer: !ends.isFromNewest && !isFetching && !query.isFetchPreviousPageError,
    canReadOlder: canLoadMore(query),
  };
}

function endsOf(pages: readonly Awaited<ReturnType<typeof readPage>>[]) {
  const [first, last] = [pages[0], pages.at(-1)];
  return {
    /** What the pictures were found by, while those of another search are on their way. */
    search: first?.search ?? null,
    firstIndex: first?.index ?? 0,
    isFromNewest: (first?.previousCursor ?? null) === null,
    isToOldest: (last?.nextCursor ?? null) === null,
  };
}

export type GalleryWindow = ReturnType<typeof useGalleryWindow>;
