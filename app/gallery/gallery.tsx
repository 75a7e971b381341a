"use client";
import { Upload } from "lucide-react";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { useEffect } from "react";
import { useFailureToast } from "../ui/failures.ts";
import { searchOf, useBoards } from "../client/boards.ts";
import { retryLoad } from "../client/queries.ts";
import { useSearchFilter } from "../parts/filters.tsx";
import { LoadFailed, PageHeader } from "../parts/page-parts.tsx";
import { Button, buttonStyle, cx } from "../ui/button.tsx";
import { EmptyState } from "../ui/display.tsx";
import { RowsSkeleton } from "../pictures/skeleton.tsx";
import { later } from "../ui/later.tsx";
import { useFilePicker, useUploadWithOffer } from "../uploads/drop.tsx";
import { BoardStrip } from "./board-strip.tsx";
import { FilterBar } from "./filter-bar.tsx";
import { SearchTools } from "./search-line.tsx";
import { hasTerm, isBoardAlone, isByMeaning, readableSearch, withoutOrder } from "../client/search-terms.ts";
import { useSelection } from "./selection.tsx";
import { Sheet } from "./sheet.tsx";
import { type ListedImage, tileKey } from "./stack.tsx";
import { hasScrubber } from "./timeline.ts";
import { useViewerAddress, Viewer } from "./viewer/door.tsx";
import { type FirstPictures, type GalleryWindow, useGalleryWindow } from "./window.ts";

const trashTerm = "is:trashed";

function UploadButton() {
  const t = useTranslations("uploads");
  const pick = useFilePicker(useUploadWithOffer());
  return (
    <Button className="pointer-coarse:h-11" onClick={() => pick({ multiple: true })}>
      <Upload aria-hidden />
      {t("upload")}
    </Button>
  );
}

function GalleryEmpty({ search }: { readonly search: string | undefined }) {
  const t = useTranslations("gallery");
  if (search?.toLowerCase() === trashTerm)
    return <EmptyState title={t("emptyTrashTitle")} text={t("emptyTrashText")} />;
  if (search !== undefined && isBoardAlone(search))
    return <EmptyState title={t("emptyBoardTitle")} text={t("emptyBoardText")} />;
  if (search !== undefined) {
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
      <Link href={`/gallery?search=${trashTerm}`} className={buttonStyle("quiet")}>
        {t("trash")}
      </Link>
    </EmptyState>
  );
}

interface HeaderProps {
  readonly hasPictures: boolean;
  readonly search: string | undefined;
  readonly months: GalleryWindow["months"];
}

/** The name of the board or the saved search that is shown, in whichever order; the page is called by it. */
function useBoardName(search: string | undefined): string | undefined {
  const boards = useBoards();
  const shown = withoutOrder(search)?.toLowerCase();
  const name = boards?.find((board) => searchOf(board).toLowerCase() === shown)?.name;
  useEffect(() => {
    if (name === undefined) return undefined;
    const before = document.title;
    // As the title of every page: its name, then that of the studio.
    const title = before.replace(/^[^·]*(?= · )/u, () => name);
    document.title = title;
    return () => {
      // Another page has set its own.
      if (document.title === title) document.title = before;
    };
  }, [name]);
  return name;
}

function GalleryHeader({ hasPictures, search, months }: HeaderProps) {
  const t = useTranslations("frame");
  const gallery = useTranslations("gallery");
  const board = useBoardName(search);
  // A status for screen readers only with a search: without one each new picture would be read out.
  const count = months?.reduce((sum, { pictures }) => sum + pictures, 0);
  const note = (
    <p role={search && "status"} className="tabular text-xs text-quiet sm:max-[1180px]:sr-only">
      {hasPictures && count !== undefined ? gallery("countPictures", { count }) : null}
    </p>
  );
  return (
    <PageHeader title={board ?? t("pages.gallery")} note={note}>
      {hasPictures ? (
        <>
          <SearchTools search={search} />
          <UploadButton />
        </>
      ) : null}
    </PageHeader>
  );
}

const TrashNote = later(async () => (await import("./trash.tsx")).TrashNote);
const TrashBar = later(async () => (await import("./trash.tsx")).TrashBar);

/** What can be chosen among: filters, and what the trash says of itself. */
function Choices({ search, isEmpty }: { readonly search: string; readonly isEmpty: boolean }) {
  const showFailure = useFailureToast();
  return (
    <>
      <FilterBar search={search} />
      {hasTerm(search, trashTerm) ? <TrashNote isWanted onFailure={showFailure} props={{ isEmpty }} /> : null}
    </>
  );
}

const none: readonly ListedImage[] = [];

/** What the address asks for: the line as it is typed, and what of it can be read. */
function useSearchOfPage() {
  const { params } = useSearchFilter();
  const text = params.get("search") ?? "";
  return { text, search: readableSearch(text).search };
}

interface WaitingProps {
  readonly isPending: boolean;
  readonly isEmpty: boolean;
  readonly search: string | undefined;
}

/** In place of pictures that are not read yet, or are not there. */
function Waiting({ isPending, isEmpty, search }: WaitingProps) {
  if (isPending) return <RowsSkeleton className="pt-12" />;
  return isEmpty ? <GalleryEmpty search={search} /> : null;
}

interface PicturesProps {
  readonly first: FirstPictures | null;
  readonly text: string;
  readonly part: GalleryWindow;
  readonly selection: ReturnType<typeof useSelection>;
  readonly openId: string | null;
  readonly onOpen: (id: string) => void;
}

const ListActs = later(async () => (await import("./list-acts.tsx")).ListActs);
const NearGrid = later(async () => (await import("./near.tsx")).NearGrid);
const NearSection = later(async () => (await import("./near.tsx")).NearSection);

/** Day by day, or what is near in meaning in the order of its nearness. */
function Pictures({ first, text, part, selection, openId, onOpen }: PicturesProps) {
  const showFailure = useFailureToast();
  const { images = none } = part;
  if (images.length === 0) return null;
  return (
    <>
      {isByMeaning(text) ? (
        <NearGrid isWanted onFailure={showFailure} props={{ images, onOpen }} />
      ) : (
        <Sheet
          first={first}
          part={part}
          images={images}
          selection={selection}
          openId={openId}
          onOpen={onOpen}
        />
      )}
      <ListActs isWanted onFailure={showFailure} props={{ part, selection }} />
    </>
  );
}

const SelectionBar = later(async () => (await import("./selection-bar.tsx")).SelectionBar);

/** The boards stand beside the pictures. */
const withSide = "xl:grid xl:grid-cols-[208px_minmax(0,1fr)] xl:gap-x-8";

/** `first`: the newest pictures, if the page came with them. */
export function Gallery({ first }: { readonly first: FirstPictures | null }) {
  const showFailure = useFailureToast();
  const { text, search } = useSearchOfPage();
  const part = useGalleryWindow(search, first);
  const { query, images = none } = part;
  const isEmpty = part.images !== undefined && images.length === 0;
  const viewer = useViewerAddress();
  // Bare walls have nothing to search, and their own way to upload.
  const hasPictures = !isEmpty || text !== "";
  const isTrash = hasTerm(text, trashTerm);
  const selection = useSelection({
    part: { ...part, images },
    isReading: query.isFetching,
    isInFront: viewer.imageId === null && !isTrash,
  });
  // A deleted picture is chosen by a click: there is nothing else to do with it than to restore it, or not.
  const choose = (id: string) => {
    const chosen = images.find((image) => image.id === id);
    if (chosen !== undefined) selection.toggle(tileKey(chosen), false);
  };

  const hasSelection = selection.ids.size > 0;
  const bar = (
    <SelectionBar
      isWanted={hasSelection}
      isShown={hasSelection}
      onFailure={showFailure}
      props={{ selection }}
    />
  );

  return (
    <div className={hasScrubber(part.timed) ? "wide:pe-14" : undefined}>
      <GalleryHeader hasPictures={hasPictures} search={search} months={part.months} />
      <div className={cx("px-4 sm:px-6 wide:px-8", hasPictures && withSide)}>
        {hasPictures ? <BoardStrip search={text} /> : null}
        <div className="min-w-0">
          {hasPictures ? <Choices search={text} isEmpty={isEmpty} /> : null}
          <Waiting isPending={query.isPending} isEmpty={isEmpty} search={search} />
          <Pictures
            first={first}
            text={text}
            part={part}
            selection={selection}
            openId={viewer.imageId}
            onOpen={isTrash ? choose : viewer.open}
          />
          <NearSection
            isWanted={text !== ""}
            isShown={text !== ""}
            onFailure={showFailure}
            props={{ search: text, list: part, onOpen: viewer.open }}
          />
          {query.isError ? <LoadFailed error={query.error} onRetry={() => retryLoad(query)} /> : null}
        </div>
      </div>
      {isTrash ? <TrashBar isWanted onFailure={showFailure} props={{ selection }} /> : bar}
      <Viewer images={images} address={viewer} part={part} />
    </div>
  );
}
