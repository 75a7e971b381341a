"use client";
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useFormatter, useTranslations } from "next-intl";
import { api } from "../../client/api.ts";
import { askAgain } from "../../data/may-ask-for-more.ts";
import { LoadFailed } from "../../frame/load-failed.tsx";
import { useSearchFilter } from "../../frame/use-search-filter.ts";
import { Button } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/display.tsx";
import { Loading } from "../parts/loading.tsx";
import { timeOfId } from "./time-of-id.ts";
import { JobSearchBar } from "./job-search-bar.tsx";
import { readSearch } from "./job-search-filters.ts";
import { JobTable } from "./job-table.tsx";

const againMs = 2_000;

function useJobSearch() {
  const { params } = useSearchFilter();
  const search = readSearch(params);
  return useInfiniteQuery({
    queryKey: ["admin", "jobs", search],
    queryFn: ({ pageParam }) => api.admin.jobs.search.query({ ...search, cursor: pageParam ?? undefined }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.nextCursor,
    placeholderData: keepPreviousData,
    staleTime: 0,
    // Who looks further back reads; the first page is the one that lives.
    refetchInterval: ({ state }) => (state.data?.pages.length ?? 0) <= 1 && againMs,
  });
}

function read(data: ReturnType<typeof useJobSearch>["data"]) {
  const pages = data?.pages ?? [];
  return { jobs: pages.flatMap(({ items }) => items), next: pages.at(-1)?.nextCursor ?? null };
}

interface FurtherProps {
  readonly cursor: string;
  readonly isBusy: boolean;
  readonly onMore: () => void;
}

/** How far back was looked, and the way on. */
function Further({ cursor, isBusy, onMore }: FurtherProps) {
  const t = useTranslations("admin.jobs");
  const format = useFormatter();
  const date = format.dateTime(new Date(timeOfId(cursor)), { dateStyle: "medium", timeStyle: "short" });
  return (
    <div className="flex flex-wrap items-center gap-4">
      <Button size="small" disabled={isBusy} onClick={onMore}>
        {t("more")}
      </Button>
      <p className="tabular text-xs text-quiet">{t("lookedThrough", { date })}</p>
    </div>
  );
}

/** Jobs of everybody, found by what the address says. */
export function JobSearch() {
  const t = useTranslations("admin.jobs");
  const query = useJobSearch();
  const { error, isPending } = query;
  const { jobs, next } = read(query.data);
  const isEmpty = !isPending && error === null && jobs.length === 0 && next === null;
  return (
    <div className="flex flex-col gap-5">
      <JobSearchBar />
      {error === null ? null : <LoadFailed error={error} onRetry={() => askAgain(query)} />}
      {isPending && error === null ? <Loading /> : null}
      {isEmpty ? <EmptyState title={t("emptyTitle")} text={t("emptyText")} /> : null}
      {jobs.length > 0 ? <JobTable jobs={jobs} /> : null}
      {next === null ? null : (
        <Further cursor={next} isBusy={query.isFetchingNextPage} onMore={() => void query.fetchNextPage()} />
      )}
    </div>
  );
}
