"use client";
import { useTranslations } from "next-intl";
import { TextFilter } from "../frame/filters.tsx";

export function GallerySearch() {
  const t = useTranslations("gallery");
  return (
    <TextFilter
      name="search"
      label={t("search")}
      placeholder={t("searchHint")}
      isSearch
      className="w-40 sm:w-56"
    />
  );
}
