"use client";
import { useTranslations } from "next-intl";
import { useMemo } from "react";
import { askAgain } from "../data/may-ask-for-more.ts";
import { LoadFailed } from "../frame/load-failed.tsx";
import { PageHeader } from "../frame/page-header.tsx";
import { useSearchFilter } from "../frame/use-search-filter.ts";
import { FilterBar } from "./filter-bar.tsx";
import { GalleryEmpty } from "./gallery-empty.tsx";
import { readGalleryFilters } from "./gallery-filters.ts";
import { GallerySearch } from "./gallery-search.tsx";
import { SelectionBar } from "./selection-bar.tsx";
import { Sheet } from "./sheet.tsx";
import { SheetSkeleton } from "./sheet-skeleton.tsx";
import { UploadButton } from "./upload-button.tsx";
import { useGalleryImages } from "./use-gallery-images.ts";
import { useSelection } from "./selection.tsx";
import { Viewer } from "./viewer/viewer.tsx";
import { useViewerAddress } from "./viewer/use-viewer-address.ts";

export function Gallery() {
  const t = useTranslations("frame");
  const { params } = useSearchFilter();
  const filters = useMemo(() => readGalleryFilters(params), [params]);
  const query = useGalleryImages(filters);
  const { images } = query;
  const viewer = useViewerAddress();
  const selection = useSelection(images ?? [], viewer.imageId === null);

  return (
    <>
      <PageHeader title={t("pages.gallery")}>
        <GallerySearch />
        <UploadButton />
      </PageHeader>
      <div className="px-4 sm:px-6 wide:px-8">
        <FilterBar filters={filters} />
        {query.isPending ? <SheetSkeleton /> : null}
        {images?.length === 0 ? <GalleryEmpty filters={filters} /> : null}
        {images === undefined || images.length === 0 ? null : (
          <Sheet
            images={images}
            selection={selection}
            openId={viewer.imageId}
            onOpen={viewer.open}
            query={query}
          />
        )}
        {query.isError ? <LoadFailed error={query.error} onRetry={() => askAgain(query)} /> : null}
      </div>
      <SelectionBar selection={selection} />
      <Viewer images={images ?? []} address={viewer} />
    </>
  );
}
