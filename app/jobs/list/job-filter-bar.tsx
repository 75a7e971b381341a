"use client";
import { useTranslations } from "next-intl";
import { useSearchFilter } from "../../frame/use-search-filter.ts";
import { Chip } from "../../ui/chip.tsx";
import { type JobFilters, kindFilters, statusFilters } from "./job-filters.ts";

export function JobFilterBar({ filters }: { readonly filters: JobFilters }) {
  const t = useTranslations("jobs");
  const { set } = useSearchFilter();
  return (
    <div
      role="group"
      aria-label={t("filters")}
      className="no-scrollbar -mx-4 mb-3 flex gap-1.5 overflow-x-auto px-4 py-1 sm:mx-0 sm:px-0"
    >
      {statusFilters.map((status) => (
        <Chip
          key={status}
          pressed={filters.status === status}
          onPress={() => set("status", filters.status === status ? null : status)}
        >
          {t(`filter.${status}`)}
        </Chip>
      ))}
      <span aria-hidden className="mx-1.5 w-px shrink-0 self-stretch bg-line" />
      {kindFilters.map((kind) => (
        <Chip
          key={kind}
          pressed={filters.kind === kind}
          onPress={() => set("kind", filters.kind === kind ? null : kind)}
        >
          {t(`kinds.${kind}`)}
        </Chip>
      ))}
    </div>
  );
}
