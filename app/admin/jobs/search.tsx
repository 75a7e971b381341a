"use client";
import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { SlidersHorizontal, X } from "lucide-react";
import { useFormatter, useTranslations } from "next-intl";
import { useState } from "react";
import type { ErrorCode } from "@atelier/server/platform";
import { api } from "../../client/api.ts";
import { useFailureText } from "../../ui/failures.ts";
import { byCursor, retryLoad } from "../../client/queries.ts";
import { TextFilter, useSearchFilter } from "../../parts/filters.tsx";
import { LoadFailed } from "../../parts/page-parts.tsx";
import { jobKindOrder, readKind } from "../../client/kinds.ts";
import { Button, cx } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/display.tsx";
import { SelectFilter } from "../controls.tsx";
import { Loading, useInPhrase } from "../parts.tsx";
import { JobTable, timeOfId } from "./job-table.tsx";

const statuses = [
  "open",
  "pending",
  "queued",
  "waiting_for_engine",
  "processing",
  "completed",
  "failed",
  "cancelled",
] as const;

/** Error codes with which an accepted job can fail. */
const causes = [
  "displaced",
  "engine_blocked",
  "engine_crashed",
  "engine_failed",
  "engine_interrupted",
  "engine_timeout",
  "garment_unsuitable",
  "gate_unavailable",
  "gpu_out_of_memory",
  "graph_invalid",
  "input_missing",
  "input_refused",
  "internal",
  "mask_empty",
  "model_missing",
  "no_person_found",
  "node_missing",
  "nothing_stands_out",
  "out_of_memory",
  "person_unsuitable",
  "proxy_error",
  "result_refused",
  "server_busy",
  "server_lost",
  "storage_unavailable",
  "worker_lost",
] as const satisfies readonly ErrorCode[];

const textFilters = ["text", "owner", "session", "queue", "node", "server"] as const;
const filterNames = [...textFilters, "status", "kind", "code"] as const;

/** Reads the filters from the URL; unknown values are left out. */
function readSearch(params: URLSearchParams) {
  const texts = textFilters.flatMap((name) => {
    const value = params.get(name)?.trim();
    return value ? [[name, value] as const] : [];
  });
  const code = params.get("code");
  return {
    ...(Object.fromEntries(texts) as Partial<Record<(typeof textFilters)[number], string>>),
    status: statuses.find((status) => status === params.get("status")),
    kind: readKind(params.get("kind")),
    // Safe cast: the server refuses a text that is no error code.
    code: code === null || code === "" ? undefined : (code as ErrorCode),
  };
}

const toOption = (value: string) => ({ value, label: value });

/** Names of all queues and nodes, as choices of the filters; they change rarely. */
function useQueueAndNodeNames() {
  const { data } = useQuery({
    queryKey: ["admin-names"],
    queryFn: () => api.admin.nodes.list.query(),
    staleTime: 60_000,
  });
  const nodes = [...new Set(data?.items.map(({ name }) => name))];
  const queues = [...new Set(data?.items.flatMap((node) => node.queues.map(({ queue }) => queue)))];
  return { nodes, queues };
}

/** All filters of the search, and "Clear". */
function JobSearchBar() {
  const t = useTranslations("admin.jobs");
  const causeOf = useFailureText();
  const jobs = useTranslations("jobs");
  const inPhrase = useInPhrase();
  const { params, set } = useSearchFilter();
  const { nodes, queues } = useQueueAndNodeNames();
  const isFiltered = filterNames.some((name) => params.has(name));
  // On a phone the rest is folded, so that the jobs are in sight.
  const [isOpen, setOpen] = useState(false);
  return (
    <div
      role="search"
      aria-label={t("search")}
      className="grid grid-cols-[minmax(0,1fr)_auto] gap-2 md:grid-cols-4 xl:grid-cols-5"
    >
      <TextFilter name="text" label={t("text")} placeholder={t("text")} isSearch />
      <Button
        className="md:hidden pointer-coarse:h-11"
        aria-expanded={isOpen}
        aria-controls="job-filters"
        onClick={() => setOpen(!isOpen)}
      >
        <SlidersHorizontal aria-hidden />
        {t("filters")}
      </Button>
      <div
        id="job-filters"
        className={cx(
          "col-span-2 grid-cols-2 gap-2 md:contents",
          isOpen || isFiltered ? "max-md:grid" : "max-md:hidden",
        )}
      >
        <TextFilter
          name="owner"
          label={t("owner")}
          placeholder={`${t("owner")}: ${inPhrase(t("ownerHint"))}`}
          className="max-md:col-span-2"
        />
        <TextFilter name="session" label={t("session")} placeholder={t("session")} />
        <SelectFilter
          name="status"
          label={t("status")}
          options={statuses.map((value) => ({
            value,
            label: value === "open" ? t("open") : jobs(`status.${value}`),
          }))}
        />
        <SelectFilter
          name="kind"
          label={t("kind")}
          options={jobKindOrder.map((value) => ({ value, label: jobs(`kinds.${value}`) }))}
        />
        <SelectFilter name="queue" label={t("queue")} options={queues.map(toOption)} />
        <SelectFilter name="node" label={t("node")} options={nodes.map(toOption)} />
        <SelectFilter
          name="code"
          label={t("cause")}
          options={causes.map((value) => ({ value, label: causeOf({ code: value, message: "" }).title }))}
        />
        <TextFilter
          name="server"
          label={t("server")}
          placeholder={`${t("server")}: ${inPhrase(t("serverHint"))}`}
        />
        <Button
          look="quiet"
          disabled={!isFiltered}
          aria-label={t("clear")}
          className="justify-self-start"
          onClick={() => {
            for (const name of filterNames) set(name, null);
          }}
        >
          <X aria-hidden />
          {t("clear")}
        </Button>
      </div>
    </div>
  );
}

const refetchMs = 2_000;
const pageSize = 30;

function useJobSearch() {
  const { params } = useSearchFilter();
  const search = readSearch(params);
  return useInfiniteQuery({
    queryKey: ["admin", "jobs", search],
    queryFn: ({ pageParam }) =>
      api.admin.jobs.search.query({ ...search, cursor: pageParam ?? undefined, limit: pageSize }),
    ...byCursor,
    placeholderData: keepPreviousData,
    staleTime: 0,
    // Refetched only on the first page: with more pages loaded the admin reads old jobs, and rows must not move.
    refetchInterval: ({ state }) => (state.data?.pages.length ?? 0) <= 1 && refetchMs,
  });
}

function joinPages(data: ReturnType<typeof useJobSearch>["data"]) {
  const pages = data?.pages ?? [];
  return { jobs: pages.flatMap(({ items }) => items), next: pages.at(-1)?.nextCursor ?? null };
}

interface OlderJobsProps {
  readonly cursor: string;
  readonly isBusy: boolean;
  readonly onMore: () => void;
}

/** "Load more", and the creation time down to which jobs were searched. */
function OlderJobs({ cursor, isBusy, onMore }: OlderJobsProps) {
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

/** Jobs of all users that match the filters in the address. */
export function JobSearch() {
  const t = useTranslations("admin.jobs");
  const query = useJobSearch();
  const { error, isPending } = query;
  const { jobs, next } = joinPages(query.data);
  const isEmpty = !isPending && error === null && jobs.length === 0 && next === null;
  return (
    <div className="flex flex-col gap-5">
      <JobSearchBar />
      {error === null ? null : <LoadFailed error={error} onRetry={() => retryLoad(query)} />}
      {isPending && error === null ? <Loading /> : null}
      {isEmpty ? <EmptyState title={t("emptyTitle")} text={t("emptyText")} /> : null}
      {jobs.length > 0 ? <JobTable jobs={jobs} /> : null}
      {next === null ? null : (
        <OlderJobs
          cursor={next}
          isBusy={query.isFetchingNextPage}
          onMore={() => void query.fetchNextPage()}
        />
      )}
    </div>
  );
}
