"use client";
import type { ImageView } from "@atelier/server/images";
import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { useTranslations } from "next-intl";
import { useEffect, useMemo, useState } from "react";
import { useBoxSize } from "../ui/use-box-size.ts";
import { DayHeader } from "./day-header.tsx";
import { type MoreQuery, mayAskForMore } from "../data/may-ask-for-more.ts";
import { SheetRow } from "./sheet-row.tsx";
import { sheetLines } from "./sheet-lines.ts";
import type { Selection } from "./selection.tsx";

interface Props {
  readonly images: readonly ImageView[];
  readonly selection: Selection;
  readonly openId: string | null;
  readonly onOpen: (id: string) => void;
  readonly query: MoreQuery;
}

const gapPx = 4;
const linesAhead = 6;

/** The contact sheet: only the rows near the view are in the document. */
export function Sheet({ images, selection, openId, onOpen, query }: Props) {
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
  const needsMore = isNearEnd && lines.length > 0 && mayAskForMore(query);
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
