"use client";
import { useFormatter, useTranslations } from "next-intl";
import { useState, useSyncExternalStore } from "react";
import { useFailureToast } from "../ui/failures.ts";
import { useBoxSize } from "../ui/box-size.ts";
import { cx } from "../ui/button.tsx";
import { later } from "../ui/later.tsx";
import { isByDay } from "../client/search-terms.ts";
import { DayHeading } from "./day-heading.tsx";
import { gapPx, mostFirst, type SheetLine, today } from "./layout-rows.ts";
import type { Row } from "../pictures/justify.ts";
import { RowsSkeleton } from "../pictures/skeleton.tsx";
import type { Selection } from "./selection.tsx";
import { heightOf, useSheetLayout, useSheetScroll, useShownLines } from "./sheet-scroll.ts";
import { type ListedImage, tileKey } from "./stack.tsx";
import { Tile } from "./tile.tsx";
import { hasScrubber } from "./timeline.ts";
import type { FirstPictures, GalleryWindow } from "./window.ts";

const DayCheck = later(async () => (await import("./day-check.tsx")).DayCheck);

interface DayHeaderProps extends Pick<SheetProps, "part" | "selection"> {
  readonly day: string;
}

function DayHeader(props: DayHeaderProps) {
  const t = useTranslations("gallery");
  const { dateTime } = useFormatter();
  const now = useSyncExternalStore(today.watch, today.get);
  const names = { today: t("today"), yesterday: t("yesterday") };
  return (
    <div className="group flex h-full">
      <DayHeading day={props.day} today={now} names={names} dateTime={dateTime} />
      <DayCheck isWanted={false} onFailure={useFailureToast()} props={props} />
    </div>
  );
}

interface SheetRowProps {
  readonly row: Row<ListedImage> & { readonly at: number };
  readonly selection: Selection;
  readonly openId: string | null;
  readonly onOpen: (id: string) => void;
}

function SheetRow({ row, selection, openId, onOpen }: SheetRowProps) {
  return (
    <div className="flex h-full" style={{ gap: gapPx }}>
      {row.items.map((image, index) => (
        <Tile
          key={image.id}
          image={image}
          widthPx={row.widthsPx[index] ?? 0}
          isFirst={row.at + index < mostFirst}
          isSelected={selection.ids.has(tileKey(image))}
          isSelecting={selection.ids.size > 0}
          isOpen={image.id === openId}
          onToggle={selection.toggle}
          onOpen={onOpen}
        />
      ))}
    </div>
  );
}

interface SheetProps {
  readonly first: FirstPictures | null;
  readonly part: GalleryWindow;
  readonly images: readonly ListedImage[];
  readonly selection: Selection;
  readonly openId: string | null;
  readonly onOpen: (id: string) => void;
}

/** The room of pictures that are not read yet, as empty tiles; only what is near the visible area is drawn by the browser. */
function Gap() {
  const rows = "repeating-linear-gradient(to bottom, transparent 0 204px, var(--paper) 204px 208px)";
  const tiles = "repeating-linear-gradient(to right, var(--well) 0 204px, var(--paper) 204px 208px)";
  return <div aria-hidden className="h-full" style={{ backgroundImage: `${rows}, ${tiles}` }} />;
}

interface LineProps extends Omit<SheetRowProps, "row"> {
  readonly line: SheetLine;
  readonly part: GalleryWindow;
}

function Line({ line, part, ...row }: LineProps) {
  if (line.type === "day") return <DayHeader day={line.day} part={part} selection={row.selection} />;
  return line.type === "gap" ? <Gap /> : <SheetRow row={line} {...row} />;
}

const SelectionRectangle = later(async () => (await import("./rectangle.tsx")).SelectionRectangle);
const Scrubber = later(async () => (await import("./scrubber.tsx")).Scrubber);

/** The grid of pictures, virtualised: only rows near the visible area are in the document. */
export function Sheet({ first, part, images, selection, openId, onOpen }: SheetProps) {
  const t = useTranslations("gallery");
  const showFailure = useFailureToast();
  const [element, setElement] = useState<HTMLDivElement | null>(null);
  const { width } = useBoxSize(element);
  const layout = useSheetLayout({ part, images, widthPx: width, gapPx });
  const { lines, timeline } = layout;
  const marginPx = element?.offsetTop ?? 0;
  const shown = useShownLines(layout, marginPx);
  const { go, placeNow } = useSheetScroll({ part, layout, openId, marginPx });

  return (
    <>
      <div
        ref={setElement}
        role="group"
        aria-label={t("pictures")}
        // Without the headings of days the first row would touch the filters.
        className={cx("relative", !isByDay(part.search ?? "") && "mt-2")}
        style={{ height: heightOf(layout, gapPx) }}
      >
        {width > 0 ? null : (first?.tiles ?? <RowsSkeleton className="pt-12" />)}
        {lines.slice(shown.first, shown.end).map((line, at) => (
          <div
            key={line.type === "day" ? line.day : line.key}
            className="absolute inset-x-0 top-0"
            style={{
              height: line.heightPx,
              transform: `translateY(${layout.tops[shown.first + at] ?? 0}px)`,
            }}
          >
            <Line line={line} part={part} selection={selection} openId={openId} onOpen={onOpen} />
          </div>
        ))}
        <SelectionRectangle
          isWanted={element !== null}
          onFailure={showFailure}
          props={{ list: element, selection, lines, tops: layout.tops, gapPx }}
        />
      </div>
      {timeline !== null && hasScrubber(timeline.months) ? (
        <Scrubber isWanted onFailure={showFailure} props={{ timeline, placeNow, onGo: go }} />
      ) : null}
    </>
  );
}
