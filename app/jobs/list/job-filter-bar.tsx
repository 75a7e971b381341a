"use client";
import { useTranslations } from "next-intl";
import { FilterChip, FilterChips, FilterDivider } from "../../frame/filter-chips.tsx";
import { jobKindOrder } from "../job-kinds.ts";
import { type JobFilters, statusFilters } from "./job-filters.ts";

export function JobFilterBar({ filters }: { readonly filters: JobFilters }) {
  const t = useTranslations("jobs");
  return (
    <div className="mb-3">
      <FilterChips label={t("filters")}>
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
      </FilterChips>
    </div>
  );
}
