"use client";
import { Star } from "lucide-react";
import { useTranslations } from "next-intl";
import { FilterChip, FilterChips, FilterDivider } from "../frame/filter-chips.tsx";
import { jobKindOrder } from "../jobs/job-kinds.ts";
import { type GalleryFilters, roleFilters } from "./gallery-filters.ts";

export function FilterBar({ filters }: { readonly filters: GalleryFilters }) {
  const t = useTranslations("gallery");
  const jobs = useTranslations("jobs");
  return (
    <FilterChips label={t("filters")}>
      <FilterChip name="starred" value="1" pressed={filters.starred === true}>
        <Star aria-hidden />
        {t("starred")}
      </FilterChip>
      {roleFilters.map((role) => (
        <FilterChip key={role} name="role" value={role} pressed={filters.role === role}>
          {t(`roles.${role}`)}
        </FilterChip>
      ))}
      <FilterDivider />
      {jobKindOrder.map((kind) => (
        <FilterChip key={kind} name="kind" value={kind} pressed={filters.kind === kind}>
          {jobs(`kinds.${kind}`)}
        </FilterChip>
      ))}
    </FilterChips>
  );
}
