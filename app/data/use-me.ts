"use client";
import { useQuery } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { api } from "./api.ts";
import { keys } from "./keys.ts";

const never = () => () => undefined;

/**
 * Who uses this browser; undefined until it is known. Frame and page hydrate apart: the answer to the first must not
 * change what the second expects of the server's HTML.
 */
export function useMe() {
  const isHydrated = useSyncExternalStore(
    never,
    () => true,
    () => false,
  );
  const { data } = useQuery({
    queryKey: keys.me,
    queryFn: () => api.account.me.query(),
    staleTime: Infinity,
  });
  return isHydrated ? data : undefined;
}
