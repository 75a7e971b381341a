"use client";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { api } from "../client/api.ts";
import { byCursor, keys } from "../client/queries.ts";

export type BoardPicture = Awaited<ReturnType<typeof api.boards.pictures.query>>["items"][number];

/** An own board or one that is shared with the user. */
export function useOpenBoard(id: string) {
  return useQuery({ queryKey: keys.openBoard(id), queryFn: () => api.boards.open.query({ id }) });
}

/** Its pictures with those of the others, page by page. */
export function useBoardPictures(id: string) {
  return useInfiniteQuery({
    queryKey: keys.boardPictures(id),
    queryFn: ({ pageParam }) => api.boards.pictures.query({ id, cursor: pageParam ?? undefined }),
    ...byCursor,
  });
}
