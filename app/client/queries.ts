"use client";
import { useQuery } from "@tanstack/react-query";
import type { JobKind } from "@atelier/server/engines";
import type { Capabilities } from "@atelier/server/jobs";
import type { OfferedWorkflow } from "@atelier/server/scheduling";
import { useIsHydrated } from "../ui/hooks.ts";
import { api } from "./api.ts";
import { failureOf } from "../ui/failures.ts";
import { ensureGuest, forgetSession, noteAccount } from "./session.ts";

/** Keys of the query cache. A shorter key invalidates all keys that begin with it. */
export const keys = {
  me: ["me"],
  usage: ["usage"],
  capabilities: ["capabilities"],
  workflows: ["workflows"],
  cloudPolicy: ["cloud", "policy"],
  cloudSpend: ["cloud", "spend"],
  jobAttempts: (id: string) => ["cloud", "attempts", id],
  apiKeys: ["api-keys"],
  sessions: ["sessions"],
  security: ["security"],
  links: ["links"],
  presets: ["presets"],
  listed: (workflow: string) => ["listed", workflow],
  promptHistory: ["prompt-history"],
  promptPreview: (asked: readonly unknown[]) => ["prompt-preview", asked],
  tags: ["tags"],
  boards: ["boards"],
  sharedBoards: (imageIds: readonly string[]) => ["boards", "shared", imageIds],
  openBoard: (id: string) => ["boards", "open", id],
  boardPictures: (id: string) => ["boards", "pictures", id],
  boardMembers: (id: string) => ["boards", "members", id],
  boardsOf: (imageIds: readonly string[]) => ["boards", "of", imageIds],
  telegram: ["telegram"],
  images: ["images"],
  imageLists: ["images", "list"],
  imageList: (filters: object) => ["images", "list", filters],
  /** What saved searches find. */
  savedCounts: (searches: readonly string[]) => ["images", "list", "saved", searches],
  imageMonths: (filters: object) => ["images", "list", "months", filters],
  image: (id: string) => ["images", "one", id],
  allRecentInputs: ["recent-inputs"],
  recentInputs: (role: string) => ["recent-inputs", role],
  duplicates: ["duplicates"],
  deliveries: ["deliveries"],
  deliveryLog: ["deliveries", "log"],
  deliverySearch: (search: object) => ["deliveries", "admin", search],
  deliveryAttempts: (id: string) => ["deliveries", "attempts", id],
  jobDeliveries: (id: string, status: string) => ["deliveries", "job", id, status],
  endpoints: ["deliveries", "endpoints"],
  notifications: ["deliveries", "notifications"],
  jobs: ["jobs"],
  jobLists: ["jobs", "list"],
  jobList: (filters: object) => ["jobs", "list", filters],
  job: (id: string) => ["jobs", "one", id],
  batches: ["batches"],
  batchList: ["batches", "list"],
  batch: (id: string) => ["batches", "one", id],
  waiting: ["waiting"],
  wardrobe: ["wardrobe"],
  consents: ["consent"],
  consent: (imageId: string) => ["consent", imageId],
  estimates: ["estimates"],
  estimate: (request: object | null) => ["estimates", request],
} as const;

export { viewerTimezone } from "./cookies.ts";

export interface PagedQuery {
  readonly hasNextPage: boolean;
  readonly isFetching: boolean;
  readonly isFetchNextPageError: boolean;
  fetchNextPage(): unknown;
  refetch(): unknown;
}

/** Of a list that the server reads page by page: an answer names the cursor of the next one. */
export const byCursor = {
  initialPageParam: null as string | null,
  getNextPageParam: ({ nextCursor }: { readonly nextCursor: string | null }) => nextCursor,
};

/** Whether a list may fetch its next page by itself. After a failed fetch the user must press Retry. */
export function canLoadMore(query: Omit<PagedQuery, "fetchNextPage" | "refetch">): boolean {
  return query.hasNextPage && !query.isFetching && !query.isFetchNextPageError;
}

/** Repeats the fetch that failed: the next page, or the list itself. */
export function retryLoad(
  query: Pick<PagedQuery, "isFetchNextPageError" | "fetchNextPage" | "refetch">,
): void {
  void (query.isFetchNextPageError ? query.fetchNextPage() : query.refetch());
}

export const imageQuery = (id: string | null) => ({
  queryKey: keys.image(id ?? ""),
  queryFn: () => api.images.get.query({ id: id ?? "" }),
  enabled: id !== null,
});

export function useImage(id: string | null) {
  return useQuery(imageQuery(id));
}

/** Whether a picture was deleted; an offline server does not count as a deletion. */
export function useIsGone(id: string | null): boolean {
  const { error } = useImage(id);
  return error !== null && failureOf(error).code === "not_found";
}

/** The page was requested with the cookie of a session that has ended. */
async function settleAndAsk() {
  forgetSession();
  await ensureGuest();
  return api.account.me.query();
}

async function fetchMe() {
  const me = (await api.account.me.query()) ?? (await settleAndAsk());
  noteAccount(me !== null && !me.isGuest);
  return me;
}

const meQuery = { queryKey: keys.me, queryFn: fetchMe, staleTime: Infinity } as const;

/**
 * The user of this browser; undefined until loaded, and during hydration: the frame hydrates first and may
 * fill the cache, and then the page would differ from the server's HTML.
 */
export function useMe() {
  const isHydrated = useIsHydrated();
  const { data } = useQuery(meQuery);
  return isHydrated ? data : undefined;
}

/** The error of the fetch of `useMe`, and its retry. */
export function useMeFailure() {
  const { error, refetch } = useQuery(meQuery);
  return { error, retry: () => void refetch() };
}

export type { OfferedParam, OfferedWorkflow } from "@atelier/server/scheduling";

const refetchMs = 15_000;

/** The query of all workflows. Refetched, because servers come and go. */
export function useWorkflowsQuery() {
  return useQuery({
    queryKey: keys.workflows,
    queryFn: () => api.workflows.list.query(),
    staleTime: refetchMs,
    refetchInterval: refetchMs,
  });
}

/** Every workflow and model, those that can run now first; undefined until loaded. */
export function useAllWorkflows(): readonly OfferedWorkflow[] | undefined {
  return useWorkflowsQuery().data?.items;
}

/** Whether a kind of job cannot run at this moment; then the capabilities are refetched. */
function isAnyUnavailable(capabilities: Capabilities | undefined): boolean {
  return capabilities?.items.some(({ available, reason }) => !available || reason !== null) ?? false;
}

/** The query of the capabilities, for pages that show its error. Without data during hydration, like `useMe`. */
export function useCapabilitiesQuery() {
  const isHydrated = useIsHydrated();
  const query = useQuery({
    queryKey: keys.capabilities,
    queryFn: () => api.jobs.capabilities.query(),
    staleTime: 60_000,
    refetchInterval: ({ state }) => isAnyUnavailable(state.data) && refetchMs,
  });
  const { data, error, refetch } = query;
  return { data: isHydrated ? data : undefined, error: isHydrated ? error : null, refetch };
}

export function useCapabilities() {
  return useCapabilitiesQuery().data;
}

/** Whether one kind of job can run now; undefined until loaded. */
export function useCapability(kind: JobKind) {
  return useCapabilities()?.items.find((item) => item.kind === kind);
}
