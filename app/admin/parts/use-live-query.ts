"use client";
import { keepPreviousData, useQuery } from "@tanstack/react-query";

const againMs = 2_000;

/** What an admin page shows, asked for again every two seconds while somebody looks. */
export function useLiveQuery<T>(queryKey: readonly unknown[], queryFn: () => Promise<T>) {
  return useQuery({
    queryKey: ["admin", ...queryKey],
    queryFn,
    refetchInterval: againMs,
    staleTime: 0,
    // Another window of time: the figures stay until the new ones are there.
    placeholderData: keepPreviousData,
  });
}
