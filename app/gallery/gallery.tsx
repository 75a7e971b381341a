"use client";
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { Star, Upload } from "lucide-react";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { useMemo } from "react";
import type { JobKind } from "@atelier/server/engines";
import { api } from "../client/api.ts";
import { byCursor, keys, retryLoad } from "../client/queries.ts";
import { FilterChip, FilterChips, FilterDivider, TextFilter, useSearchFilter } from "../parts/filters.tsx";
import { LoadFailed, PageHeader } from "../parts/page-parts.tsx";
import { jobKindOrder, readKind } from "../jobs/text.ts";
import { useRemoving } from "../pictures/actions.tsx";
import { Button, buttonStyle } from "../ui/button.tsx";
import { EmptyState } from "../ui/display.tsx";
import { useFilePicker, useUploadBatch } from "../uploads/drop.tsx";
import { SelectionBar, useSelection } from "./selection.tsx";
import { Sheet, SheetSkeleton } from "./sheet.tsx";
import { useViewerAddress, Viewer } from "./viewer/viewer.tsx";

const roleFilters = ["upload", "result"] as const;
/** A selection makes a mask, which is no picture of the gallery. */
const kindFilters = jobKindOrder.filter((kind) => kind !== "segment");

interface GalleryFilters {
  readonly role?: (typeof roleFilters)[number];
  readonly kind?: JobKind;
  readonly starred?: boolean;
  readonly search?: string;
}

interface ListFilters extends GalleryFilters {
  /** One picture of each stack. */
  readonly stacks?: boolean;
}

/** Reads the filters from the URL; unknown values are left out. */
function readGalleryFilters(params: URLSearchParams): GalleryFilters {
  const search = params.get("search") ?? "";
  return {
    role: roleFilters.find((role) => role === params.get("role")),
    kind: readKind(params.get("kind")),
    starred: params.get("starred") === "1" ? true : undefined,
    search: search === "" ? undefined : search,
  };
}

function isFiltered(filters: GalleryFilters): boolean {
  return Object.values(filters).some((value) => value !== undefined);
}

function FilterBar({ filters }: { readonly filters: GalleryFilters }) {
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
      {kindFilters.map((kind) => (
        <FilterChip key={kind} name="kind" value={kind} pressed={filters.kind === kind}>
          {jobs(`kinds.${kind}`)}
        </FilterChip>
      ))}
    </FilterChips>
  );
}

function UploadButton() {
  const t = useTranslations("uploads");
  const pick = useFilePicker(useUploadBatch());
  return (
    <Button className="pointer-coarse:h-11" onClick={() => pick({ multiple: true })}>
      <Upload aria-hidden />
      {t("upload")}
    </Button>
  );
}

function GalleryEmpty({ filters }: { readonly filters: GalleryFilters }) {
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

function GallerySearch() {
  const t = useTranslations("gallery");
  return (
    <TextFilter
      name="search"
      label={t("search")}
      placeholder={t("searchHint")}
      isSearch
      className="min-w-40 flex-1 sm:max-w-56"
    />
  );
}

const pageSize = 100;

/** The pictures that match the filters, newest first, loaded page by page. */
export function useGalleryImages(filters: ListFilters) {
  const query = useInfiniteQuery({
    queryKey: keys.imageList(filters),
    queryFn: ({ pageParam }) =>
      api.images.list.query({ ...filters, cursor: pageParam ?? undefined, limit: pageSize }),
    ...byCursor,
    placeholderData: keepPreviousData,
  });
  const removing = useRemoving();
  const images = useMemo(
    () => query.data?.pages.flatMap(({ items }) => items.filter(({ id }) => !removing.has(id))),
    [query.data, removing],
  );
  return { ...query, images };
}

function GalleryHeader({ hasPictures }: { readonly hasPictures: boolean }) {
  const t = useTranslations("frame");
  return (
    <PageHeader title={t("pages.gallery")}>
      {hasPictures ? (
        <>
          <GallerySearch />
          <UploadButton />
        </>
      ) : null}
    </PageHeader>
  );
}

export function Gallery() {
  const { params } = useSearchFilter();
  const filters = useMemo(() => readGalleryFilters(params), [params]);
  const listed = useMemo(() => ({ ...filters, stacks: true }), [filters]);
  const query = useGalleryImages(listed);
  const { images } = query;
  const viewer = useViewerAddress();
  // Bare walls have nothing to search, and their own way to upload.
  const hasPictures = images?.length !== 0 || isFiltered(filters);
  const selection = useSelection(images ?? [], viewer.imageId === null);

  return (
    <>
      <GalleryHeader hasPictures={hasPictures} />
      <div className="px-4 sm:px-6 wide:px-8">
        {hasPictures ? <FilterBar filters={filters} /> : null}
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
        {query.isError ? <LoadFailed error={query.error} onRetry={() => retryLoad(query)} /> : null}
      </div>
      <SelectionBar selection={selection} />
      <Viewer images={images ?? []} address={viewer} stacks />
    </>
  );
}
