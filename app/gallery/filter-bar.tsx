"use client";
import { Star } from "lucide-react";
import { useTranslations } from "next-intl";
import { useSearchFilter } from "../frame/use-search-filter.ts";
import { Chip } from "../ui/chip.tsx";
import { type GalleryFilters, kindFilters, roleFilters } from "./gallery-filters.ts";

export function FilterBar({ filters }: { readonly filters: GalleryFilters }) {
  const t = useTranslations("gallery");
  const jobs = useTranslations("jobs");
  const { set } = useSearchFilter();
  return (
    <div
      role="group"
      aria-label={t("filters")}
      className="no-scrollbar -mx-4 flex gap-1.5 overflow-x-auto px-4 py-1 sm:mx-0 sm:px-0.5"
    >
      <Chip
        pressed={filters.starred === true}
        onPress={() => set("starred", filters.starred === true ? null : "1")}
      >
        <Star aria-hidden />
        {t("starred")}
      </Chip>
      {roleFilters.map((role) => (
        <Chip
          key={role}
          pressed={filters.role === role}
          onPress={() => set("role", filters.role === role ? null : role)}
        >
          {t(`roles.${role}`)}
        </Chip>
      ))}
      <span aria-hidden className="mx-1.5 w-px shrink-0 self-stretch bg-line" />
      {kindFilters.map((kind) => (
        <Chip
          key={kind}
          pressed={filters.kind === kind}
          onPress={() => set("kind", filters.kind === kind ? null : kind)}
        >
          {jobs(`kinds.${kind}`)}
        </Chip>
      ))}
    </div>
  );
}
