"use client";
import { useQuery } from "@tanstack/react-query";
import { useIsHydrated } from "../ui/use-is-hydrated.ts";
import { api } from "../client/api.ts";
import { noteAccount } from "../client/session.ts";
import { keys } from "./keys.ts";

async function askWho() {
  const me = await api.account.me.query();
  noteAccount(me !== null && !me.isGuest);
  return me;
}

const whoQuery = { queryKey: keys.me, queryFn: askWho, staleTime: Infinity } as const;

/**
 * Who uses this browser; undefined until it is known. Frame and page hydrate apart: the answer to the first must not
 * change what the second expects of the server's HTML.
 */
export function useMe() {
  const isHydrated = useIsHydrated();
  const { data } = useQuery(whoQuery);
  return isHydrated ? data : undefined;
}

/** Why it is not known who uses this browser, and how to ask again. */
export function useMeFailure() {
  const { error, refetch } = useQuery(whoQuery);
  return { error, retry: () => void refetch() };
}
