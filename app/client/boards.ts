"use client";
import { keepPreviousData, useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { termOf } from "@atelier/server/search-query";
import { failureOf } from "../ui/failures.ts";
import { api } from "./api.ts";
import { byCursor, keys, viewerTimezone } from "./queries.ts";

export type Board = Awaited<ReturnType<typeof api.boards.list.query>>["items"][number];

/** A board of somebody else. */
export type SharedBoard = Awaited<ReturnType<typeof api.boards.shared.query>>["items"][number];

export type BoardPicture = Awaited<ReturnType<typeof api.boards.pictures.query>>["items"][number];

/** The search that shows a board. */
export const searchOf = ({ name, search }: Pick<Board, "name" | "search">) => search ?? termOf("board", name);

/** The boards and saved searches of the user; undefined until loaded. */
export function useBoards() {
  return useQuery({ queryKey: keys.boards, queryFn: () => api.boards.list.query({}) }).data?.items;
}

/** Of counts of all saved searches; a change of a list counts them again before. */
const countsFreshMs = 60_000;

/** How many pictures saved searches show, by the id of each, at most 100; some have none, and all until loaded. */
export function useSavedCounts(boards: readonly Board[] | undefined): ReadonlyMap<string, number> {
  const searches = boards?.flatMap(({ search }) => search ?? []) ?? [];
  const { data } = useQuery({
    queryKey: keys.savedCounts(searches),
    queryFn: ({ signal }) => api.boards.counts.query({ timezone: viewerTimezone() }, { signal }),
    staleTime: countsFreshMs,
    enabled: searches.length > 0,
    placeholderData: keepPreviousData,
  });
  return new Map(data?.items.map(({ id, pictures }) => [id, pictures]));
}

const noImages: readonly string[] = [];

/** Others share boards, put pictures there and end the sharing while the page is open. */
const sharedMs = 15_000;
const openMs = 5_000;
const isGone = ({ error }: { readonly error: Error | null }) =>
  error !== null && failureOf(error).code === "not_found";

/** The boards that others share with the user, each with how many of these pictures it holds; undefined until loaded. */
export function useSharedBoards(imageIds = noImages) {
  const { data } = useQuery({
    queryKey: keys.sharedBoards(imageIds),
    queryFn: () => api.boards.shared.query(imageIds.length === 0 ? {} : { imageIds: [...imageIds] }),
    refetchInterval: sharedMs,
  });
  return data?.items;
}

/** An own board or one that is shared with the user. */
export function useOpenBoard(id: string) {
  return useQuery({
    queryKey: keys.openBoard(id),
    queryFn: () => api.boards.open.query({ id }),
    refetchInterval: ({ state }) => !isGone(state) && openMs,
  });
}

/** Its pictures with those of the others, page by page. */
export function useBoardPictures(id: string) {
  return useInfiniteQuery({
    queryKey: keys.boardPictures(id),
    queryFn: ({ pageParam }) => api.boards.pictures.query({ id, cursor: pageParam ?? undefined }),
    ...byCursor,
    refetchInterval: ({ state }) => (state.data?.pages.length ?? 0) <= 1 && !isGone(state) && openMs,
  });
}

/** Reads again what shows boards and what is on them. */
export function useRefreshBoards() {
  const queries = useQueryClient();
  return () => {
    void queries.invalidateQueries({ queryKey: keys.boards });
    return queries.invalidateQueries({ queryKey: keys.imageLists });
  };
}
