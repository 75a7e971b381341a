"use client";
import { useQuery } from "@tanstack/react-query";
import { api } from "./api.ts";
import { keys } from "./keys.ts";

/** Who uses this browser; undefined until it is known. */
export function useMe() {
  return useQuery({ queryKey: keys.me, queryFn: () => api.account.me.query(), staleTime: Infinity }).data;
}
