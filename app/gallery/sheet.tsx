"use client";
import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { useFormatter, useTranslations } from "next-intl";
import { useEffect, useMemo, useState } from "react";
import { canLoadMore, type PagedQuery } from "../client/queries.ts";
import { useBoxSize } from "../ui/hooks.ts";
import { dayOf, type Row, sheetLines } from "./layout-rows.ts";
import type { Selection } from "./selection.tsx";
import type { ListedImage } from "./stack.tsx";
import { Tile } from "./tile.tsx";

const dayMs = 86_400_000;

function DayHeader({ day }: { readonly day: string }) {
  const t = useTranslations("gallery");
  const format = useFormatter();
  const [now] = useState(() => Date.now());
  const today = dayOf(new Date(now).toISOString());
  const yesterday = dayOf(new Date(now - dayMs).toISOString());
  const date = new Date(`${day}T12:00:00`);
  const sameYear = day.slice(0, 4) === today.slice(0, 4);
  const dateText = format.dateTime(date, {
    weekday: "long",
    day: "numeric",
    month: "long",
    year: sameYear ? undefined : "numeric",
  });
  return (
    <h2 className="flex h-full items-end gap-2 pb-2.5 text-sm">
      {day === today ? <span className="font-medium">{t("today")}</span> : null}
      {day === yesterday ? <span className="font-medium">{t("yesterday")}</span> : null}
      <span className={day === today || day === yesterday ? "text-quiet" : "font-medium"}>{dateText}</span>
    </h2>
  );
}

interface SheetRowProps {
  readonly row: Row<ListedImage>;
  readonly gapPx: number;
  readonly selection: Selection;
  readonly openId: string | null;
  readonly onOpen: (id: string) => void;
}

function SheetRow({ row, gapPx, selection, openId, onOpen }: SheetRowProps) {
  return (
    <div className="flex h-full" style={{ gap: gapPx }}>
      {row.items.map((image, index) => (
        <Tile
          key={image.id}
          image={image}
          widthPx={row.widthsPx[index] ?? 0}
          isSelected={selection.ids.has(image.stackId)}
          isSelecting={selection.ids.size > 0}
          isOpen={image.id === openId}
          onToggle={selection.toggle}
          onOpen={onOpen}
        />
      ))}
    </div>
  );
}

const widths = [180, 240, 130, 200, 160, 260, 150, 210, 190, 140];

export function SheetSkeleton() {
  return (
    <div aria-hidden className="mt-12 flex flex-wrap gap-1">
      {widths.map((width) => (
        <span key={width} className="h-52 animate-breathe bg-well" style={{ flex: `1 1 ${width}px` }} />
      ))}
    </div>
  );
}

interface SheetProps {
  readonly images: readonly ListedImage[];
  readonly selection: Selection;
  readonly openId: string | null;
  readonly onOpen: (id: string) => void;
  readonly query: PagedQuery;
}

const gapPx = 4;
const linesAhead = 6;

/** The grid of pictures, virtualised: only rows near the visible area are in the document. */
export function Sheet({ images, selection, openId, onOpen, query }: SheetProps) {
  const t = useTranslations("gallery");
  const [element, setElement] = useState<HTMLDivElement | null>(null);
  const { width } = useBoxSize(element);
  const lines = useMemo(
    () =>
      width === 0
        ? []
        : sheetLines(images, { widthPx: width, targetHeightPx: width < 640 ? 148 : 236, gapPx }),
    [images, width],
  );
  // oxlint-disable-next-line react/incompatible-library -- the React compiler, which this warns about, is not in use
  const virtual = useWindowVirtualizer({
    count: lines.length,
    estimateSize: (index) => (lines[index]?.heightPx ?? 0) + gapPx,
    overscan: linesAhead,
    scrollMargin: element?.offsetTop ?? 0,
    getItemKey: (index) => {
      const line = lines[index];
      return line?.type === "row" ? line.key : (line?.day ?? index);
    },
  });
  useEffect(() => virtual.measure(), [lines, virtual]);

  const shown = virtual.getVirtualItems();
  const isNearEnd = (shown.at(-1)?.index ?? 0) >= lines.length - linesAhead;
  const needsMore = isNearEnd && lines.length > 0 && canLoadMore(query);
  useEffect(() => {
    if (needsMore) void query.fetchNextPage();
  }, [needsMore, query]);

  return (
    <div
      ref={setElement}
      role="group"
      aria-label={t("pictures")}
      className="relative"
      style={{ height: virtual.getTotalSize() }}
    >
      {shown.map((item) => {
        const line = lines[item.index];
        if (line === undefined) return null;
        return (
          <div
            key={item.key}
            className="absolute inset-x-0 top-0"
            style={{
              height: line.heightPx,
              transform: `translateY(${item.start - virtual.options.scrollMargin}px)`,
            }}
          >
            {line.type === "day" ? (
              <DayHeader day={line.day} />
            ) : (
              <SheetRow row={line} gapPx={gapPx} selection={selection} openId={openId} onOpen={onOpen} />
            )}
          </div>
        );
      })}
    </div>
  );
}
