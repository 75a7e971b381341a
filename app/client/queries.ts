"use client";
import { useQuery } from "@tanstack/react-query";
import type { JobKind } from "@atelier/server/engines";
import type { Capabilities } from "@atelier/server/jobs";
import type { OfferedWorkflow } from "@atelier/server/scheduling";
import { useIsHydrated } from "../ui/hooks.ts";
import { api } from "./api.ts";
import { failureOf } from "./failures.ts";
import { noteAccount } from "./session.ts";

/** Keys of the query cache, from the general to the particular. */
export const keys = {
  me: ["me"],
  usage: ["usage"],
  capabilities: ["capabilities"],
  workflows: ["workflows"],
  apiKeys: ["api-keys"],
  images: ["images"],
  imageLists: ["images", "list"],
  imageList: (filters: object) => ["images", "list", filters],
  image: (id: string) => ["images", "one", id],
  allRecentInputs: ["recent-inputs"],
  recentInputs: (role: string) => ["recent-inputs", role],
  jobs: ["jobs"],
  jobLists: ["jobs", "list"],
  jobList: (filters: object) => ["jobs", "list", filters],
  job: (id: string) => ["jobs", "one", id],
  waiting: ["waiting"],
  estimates: ["estimates"],
  estimate: (request: object | null) => ["estimates", request],
} as const;

export interface MoreQuery {
  readonly hasNextPage: boolean;
  readonly isFetching: boolean;
  readonly isFetchNextPageError: boolean;
  fetchNextPage(): unknown;
  refetch(): unknown;
}

/** Whether the end of a list may ask for its next page by itself; one that failed waits for the reader. */
export function mayAskForMore(query: Omit<MoreQuery, "fetchNextPage" | "refetch">): boolean {
  return query.hasNextPage && !query.isFetching && !query.isFetchNextPageError;
}

/** Asks again for what failed: the next page, or the list itself. */
export function askAgain(query: Pick<MoreQuery, "isFetchNextPageError" | "fetchNextPage" | "refetch">): void {
  void (query.isFetchNextPageError ? query.fetchNextPage() : query.refetch());
}

export function useImage(id: string | null) {
  return useQuery({
    queryKey: keys.image(id ?? ""),
    queryFn: () => api.images.get.query({ id: id ?? "" }),
    enabled: id !== null,
  });
}

/** Whether a picture was deleted; an offline server does not count as a deletion. */
export function useIsGone(id: string | null): boolean {
  const { error } = useImage(id);
  return error !== null && failureOf(error).code === "not_found";
}

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

export type { OfferedParam, OfferedWorkflow } from "@atelier/server/scheduling";

const askAgainMs = 15_000;

/** The answer with its state. Servers come and go, so it is asked again. */
export function useWorkflowsQuery() {
  return useQuery({
    queryKey: keys.workflows,
    queryFn: () => api.workflows.list.query(),
    staleTime: askAgainMs,
    refetchInterval: askAgainMs,
  });
}

/** Every workflow, those that can run now first; undefined until it is known. */
export function useAllWorkflows(): readonly OfferedWorkflow[] | undefined {
  return useWorkflowsQuery().data?.items;
}

/** The workflows of one kind. */
export function useWorkflows(kind: JobKind): readonly OfferedWorkflow[] | undefined {
  return useAllWorkflows()?.filter((workflow) => workflow.kind === kind);
}

/** Whether something cannot be done now; who can do it may come at any moment. */
function lacksSomebody(capabilities: Capabilities | undefined): boolean {
  return capabilities?.items.some(({ available, reason }) => !available || reason !== null) ?? false;
}

/**
 * The answer with its state, for a place that must tell waiting from failing. Frame and page hydrate apart: the answer to
 * the first must not change what the second expects of the server's HTML.
 */
export function useCapabilitiesQuery() {
  const isHydrated = useIsHydrated();
  const query = useQuery({
    queryKey: keys.capabilities,
    queryFn: () => api.jobs.capabilities.query(),
    staleTime: 60_000,
    refetchInterval: ({ state }) => lacksSomebody(state.data) && askAgainMs,
  });
  const { data, error, refetch } = query;
  return { data: isHydrated ? data : undefined, error: isHydrated ? error : null, refetch };
}

export function useCapabilities() {
  return useCapabilitiesQuery().data;
}

/** What can be done about one kind of job; undefined until it is known. */
export function useCapability(kind: JobKind) {
  return useCapabilities()?.items.find((item) => item.kind === kind);
}
