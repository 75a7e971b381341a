"use client";
import { useQuery } from "@tanstack/react-query";
import { X } from "lucide-react";
import { useTranslations } from "next-intl";
import { api } from "../../client/api.ts";
import { useSearchFilter } from "../../frame/use-search-filter.ts";
import { jobKindOrder } from "../../jobs/job-kinds.ts";
import { Button } from "../../ui/button.tsx";
import { SelectFilter } from "../parts/select-filter.tsx";
import { TextFilter } from "../../frame/filters.tsx";
import { causes, filterNames, statuses } from "./job-search-filters.ts";

const same = (value: string) => ({ value, label: value });

/** Names of queues and nodes for the choices; they change rarely. */
function usePlaces() {
  const { data } = useQuery({
    queryKey: ["admin-places"],
    queryFn: () => api.admin.nodes.list.query(),
    staleTime: 60_000,
  });
  const nodes = [...new Set(data?.items.map(({ name }) => name))];
  const queues = [...new Set(data?.items.flatMap((node) => node.queues.map(({ queue }) => queue)))];
  return { nodes, queues };
}

export function JobSearchBar() {
  const t = useTranslations("admin.jobs");
  const jobs = useTranslations("jobs");
  const { params, set } = useSearchFilter();
  const { nodes, queues } = usePlaces();
  const isFiltered = filterNames.some((name) => params.has(name));
  return (
    <div
      role="search"
      aria-label={t("search")}
      className="grid grid-cols-2 gap-2 md:grid-cols-4 xl:grid-cols-[2fr_1.3fr_1fr_1fr_1fr_1fr_1fr_1.3fr_auto]"
    >
      <TextFilter
        name="text"
        label={t("text")}
        placeholder={t("text")}
        isSearch
        className="max-md:col-span-2"
      />
      <TextFilter
        name="owner"
        label={t("owner")}
        placeholder={`${t("owner")}: ${t("ownerHint").toLowerCase()}`}
        className="max-md:col-span-2"
      />
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
      <SelectFilter name="queue" label={t("queue")} options={queues.map(same)} />
      <SelectFilter name="node" label={t("node")} options={nodes.map(same)} />
      <SelectFilter
        name="code"
        label={t("cause")}
        options={causes.map((value) => ({ value, label: value.replaceAll("_", " ") }))}
      />
      <TextFilter
        name="server"
        label={t("server")}
        placeholder={`${t("server")}: ${t("serverHint").toLowerCase()}`}
      />
      <Button
        look="quiet"
        disabled={!isFiltered}
        aria-label={t("clear")}
        className="max-xl:justify-self-start"
        onClick={() => {
          for (const name of filterNames) set(name, null);
        }}
      >
        <X aria-hidden />
        <span className="xl:sr-only">{t("clear")}</span>
      </Button>
    </div>
  );
}
