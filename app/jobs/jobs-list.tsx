"use client";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { api } from "../client/api.ts";
import { keys } from "../data/keys.ts";
import { askAgain, mayAskForMore } from "../data/may-ask-for-more.ts";
import { LoadFailed } from "../frame/load-failed.tsx";
import { useSearchFilter } from "../frame/use-search-filter.ts";
import { useLiveJobs } from "../live/use-live-jobs.ts";
import { buttonStyle } from "../ui/button-style.ts";
import { EmptyState } from "../ui/display.tsx";
import { useNearEnd } from "../ui/hooks.ts";
import { useLine } from "./line/use-line.ts";
import { WaitingLine } from "./waiting-line.tsx";
import { readJobFilters } from "./list/job-filters.ts";
import { JobFilterBar } from "./list/job-filter-bar.tsx";
import { JobListRow } from "./parts.tsx";
import { withLive } from "./list/with-live.ts";

export function JobsList() {
  const t = useTranslations("jobs");
  const { params } = useSearchFilter();
  const filters = readJobFilters(params);
  const live = useLiveJobs();
  const query = useInfiniteQuery({
    queryKey: keys.jobList(filters),
    queryFn: ({ pageParam }) =>
      api.jobs.list.query({ ...filters, cursor: pageParam ?? undefined, limit: 50 }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.nextCursor,
  });
  const endRef = useNearEnd(() => void query.fetchNextPage(), mayAskForMore(query));
  const loaded = query.data?.pages.flatMap((page) => page.items);
  const line = useLine();
  const isLineShown = filters.status === undefined || filters.status === "open";
  const inLine = new Set(isLineShown ? line.jobs.map(({ id }) => id) : []);
  const jobs = loaded && withLive(loaded, live, filters).filter(({ id }) => !inLine.has(id));
  return (
    <div className="px-4 sm:px-6 wide:px-8">
      <JobFilterBar filters={filters} />
      {isLineShown ? <WaitingLine jobs={line.jobs} total={line.total} onMove={line.move} /> : null}
      {jobs?.length === 0 && inLine.size === 0 ? (
        <EmptyState title={t("emptyTitle")} text={t("emptyText")}>
          <Link href="/" className={buttonStyle("plain")}>
            {t("emptyAction")}
          </Link>
        </EmptyState>
      ) : null}
      <ul
        aria-label={t("list")}
        aria-busy={query.isPending}
        className="divide-y divide-line border-y border-line empty:border-0"
      >
        {jobs?.map((job) => (
          <JobListRow key={job.id} job={job} />
        ))}
      </ul>
      {query.isError ? <LoadFailed error={query.error} onRetry={() => askAgain(query)} /> : null}
      <div ref={endRef} className="h-8" />
    </div>
  );
}
