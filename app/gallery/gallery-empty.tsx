"use client";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { buttonStyle } from "../ui/button-style.ts";
import { EmptyState } from "../ui/display.tsx";
import { type GalleryFilters, isFiltered } from "./gallery-filters.ts";
import { UploadButton } from "./upload-button.tsx";

export function GalleryEmpty({ filters }: { readonly filters: GalleryFilters }) {
  const t = useTranslations("gallery");
  if (isFiltered(filters)) {
    return (
      <EmptyState title={t("nothingFoundTitle")} text={t("nothingFoundText")}>
        <Link href="/gallery" className={buttonStyle("plain")}>
          {t("showAll")}
        </Link>
      </EmptyState>
    );
  }
  return (
    <EmptyState title={t("emptyTitle")} text={t("emptyText")}>
      <UploadButton />
      <Link href="/" className={buttonStyle("quiet")}>
        {t("emptyAction")}
      </Link>
    </EmptyState>
  );
}
