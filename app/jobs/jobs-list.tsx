"use client";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Layers } from "lucide-react";
import { useTranslations } from "next-intl";
import Link from "next/link";
import type { ReactNode } from "react";
import type { JobKind } from "@atelier/server/engines";
import type { JobView } from "@atelier/server/jobs";
import { BatchList } from "./batch-list.tsx";
import { api } from "../client/api.ts";
import { byCursor, keys } from "../client/queries.ts";
import { FilterChip, FilterChips, FilterDivider, useSearchFilter } from "../parts/filters.tsx";
import { PagedList } from "../parts/paged-list.tsx";
import { useLiveJobs } from "../live/hooks.tsx";
import { hasEnded } from "../live/store.ts";
import { buttonStyle } from "../ui/button.tsx";
import { EmptyState } from "../ui/display.tsx";
import { JobListRow } from "./row.tsx";
import { jobKindOrder, readKind } from "../client/kinds.ts";
import { useLine, WaitingLine } from "./waiting-line.tsx";

const statusFilters = ["open", "completed", "failed", "cancelled"] as const;

interface JobFilters {
  readonly status?: (typeof statusFilters)[number];
  readonly kind?: JobKind;
}

/** Reads the filters from the URL; unknown values are left out. */
function readJobFilters(params: URLSearchParams): JobFilters {
  return {
    status: statusFilters.find((status) => status === params.get("status")),
    kind: readKind(params.get("kind")),
  };
}

const isFiltered = ({ status, kind }: JobFilters) => status !== undefined || kind !== undefined;

interface FilterBarProps {
  /** Batches instead of jobs are a view of the same page. */
  readonly view: "jobs" | "batches";
  readonly children?: ReactNode;
}

function FilterBar({ view, children }: FilterBarProps) {
  const t = useTranslations("jobs");
  return (
    <div className="mb-3">
      <FilterChips label={t("filters")}>
        <FilterChip name="view" value="batches" pressed={view === "batches"}>
          <Layers aria-hidden />
          {t("batches")}
        </FilterChip>
        {children}
      </FilterChips>
    </div>
  );
}

function JobFilterChips({ filters }: { readonly filters: JobFilters }) {
  const t = useTranslations("jobs");
  return (
    <>
      <FilterDivider />
      {statusFilters.map((status) => (
        <FilterChip key={status} name="status" value={status} pressed={filters.status === status}>
          {t(`filter.${status}`)}
        </FilterChip>
      ))}
      <FilterDivider />
      {jobKindOrder.map((kind) => (
        <FilterChip key={kind} name="kind" value={kind} pressed={filters.kind === kind}>
          {t(`kinds.${kind}`)}
        </FilterChip>
      ))}
    </>
  );
}

function matches(job: JobView, { status, kind }: JobFilters): boolean {
  if (kind !== undefined && job.kind !== kind) return false;
  if (status === undefined) return true;
  return status === "open" ? !hasEnded(job) : job.status === status;
}

/** Merges a loaded list with the jobs of the live stream: newer states replace older ones, new jobs come first. */
export function withLive(
  loaded: readonly JobView[],
  live: readonly JobView[],
  filters: JobFilters,
): readonly JobView[] {
  const byId = new Map(loaded.map((job) => [job.id, job]));
  const newest = loaded[0]?.id ?? "";
  for (const job of live) {
    const known = byId.get(job.id);
    if (known === undefined ? job.id > newest : known.revision < job.revision) byId.set(job.id, job);
  }
  return [...byId.values()].filter((job) => matches(job, filters)).sort((a, b) => (a.id < b.id ? 1 : -1));
}

export function JobsList() {
  const { params } = useSearchFilter();
  return (
    <div className="px-4 sm:px-6 wide:px-8">
      {params.get("view") === "batches" ? (
        <>
          <FilterBar view="batches" />
          <BatchList />
        </>
      ) : (
        <OwnJobs filters={readJobFilters(params)} />
      )}
    </div>
  );
}

function NoJobs({ filters }: { readonly filters: JobFilters }) {
  const t = useTranslations("jobs");
  if (isFiltered(filters))
    return (
      <EmptyState title={t("nothingFoundTitle")} text={t("nothingFoundText")}>
        <Link href="/jobs" className={buttonStyle("plain")}>
          {t("clearFilters")}
        </Link>
      </EmptyState>
    );
  return (
    <EmptyState title={t("emptyTitle")} text={t("emptyText")}>
      <Link href="/" className={buttonStyle("primary")}>
        {t("emptyAction")}
      </Link>
    </EmptyState>
  );
}

/** The list as loaded, with what the live stream knows, without the jobs that stand in the line above it. */
function useOwnJobs(filters: JobFilters) {
  const live = useLiveJobs();
  const query = useInfiniteQuery({
    queryKey: keys.jobList(filters),
    queryFn: ({ pageParam }) =>
      api.jobs.list.query({ ...filters, cursor: pageParam ?? undefined, limit: 50 }),
    ...byCursor,
  });
  const line = useLine();
  const loaded = query.data?.pages.flatMap((page) => page.items);
  const isLineShown = filters.status === undefined || filters.status === "open";
  const inLine = new Set(isLineShown ? line.jobs.map(({ id }) => id) : []);
  const jobs = loaded && withLive(loaded, live, filters).filter(({ id }) => !inLine.has(id));
  return { query, line, isLineShown, jobs, hasNone: jobs?.length === 0 && inLine.size === 0 };
}

function OwnJobs({ filters }: { readonly filters: JobFilters }) {
  const t = useTranslations("jobs");
  const { query, line, isLineShown, jobs, hasNone } = useOwnJobs(filters);
  return (
    <>
      {hasNone && !isFiltered(filters) ? null : (
        <FilterBar view="jobs">
          <JobFilterChips filters={filters} />
        </FilterBar>
      )}
      {isLineShown ? <WaitingLine jobs={line.jobs} total={line.total} onMove={line.move} /> : null}
      <PagedList
        label={t("list")}
        query={query}
        items={jobs}
        row={(job) => <JobListRow key={job.id} job={job} />}
        empty={hasNone ? <NoJobs filters={filters} /> : null}
      />
    </>
  );
}
