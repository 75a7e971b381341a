"use client";
import {
  useCallback,
  useEffect,
  useEffectEvent,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
import { isByDay } from "../client/search-terms.ts";
import { dayOf, lineAt, linesNear, type SheetLine, sheetLines, topsOf } from "./layout-rows.ts";
import { tileHeightPx, usualProportion } from "../pictures/justify.ts";
import type { ListedImage } from "./stack.tsx";
import {
  firstIndexOf,
  indexAt,
  indexOfPlace,
  isJumpRead,
  jumpTo,
  layOutMonths,
  placeOfIndex,
  placeOfPicture,
  sideOfView,
  type Timeline,
  type TimelinePlace,
  topOf,
} from "./timeline.ts";
import type { GalleryWindow } from "./window.ts";

/** The whole list as it is laid out: what is read, between the room of what is not. */
export interface SheetLayout {
  readonly timeline: Timeline | null;
  readonly images: readonly ListedImage[];
  readonly firstIndex: number;
  readonly lines: readonly SheetLine[];
  /** Where each line begins. */
  readonly tops: readonly number[];
  /** Where the read lines begin and end. */
  readonly readTopPx: number;
  readonly readEndPx: number;
}

interface LayoutInput {
  readonly part: GalleryWindow;
  readonly images: readonly ListedImage[];
  readonly widthPx: number;
  readonly gapPx: number;
}

const nothing = { lines: [], tops: [], readTopPx: 0, readEndPx: 0 } as const;

export function useSheetLayout({ part, images, widthPx, gapPx }: LayoutInput): SheetLayout {
  const { timed: months, isFromNewest, isToOldest } = part;
  const hasDays = isByDay(part.search ?? "");
  // Of the pictures that are read first, and kept: heights that were estimated once stay.
  const [proportion] = useState(() => usualProportion(images));
  const targetHeightPx = tileHeightPx(widthPx);
  const timeline = useMemo(
    () =>
      months === null || widthPx === 0
        ? null
        : layOutMonths(months, { widthPx, targetHeightPx, gapPx, proportion }),
    [gapPx, months, proportion, targetHeightPx, widthPx],
  );
  return useMemo(() => {
    const firstIndex = isFromNewest ? 0 : firstIndexOf(images, timeline?.months ?? [], part.firstIndex);
    if (widthPx === 0) return { ...nothing, timeline, images, firstIndex };
    const end = isToOldest ? Infinity : firstIndex + images.length;
    const gaps = timeline === null ? noGaps : gapsOf(timeline, firstIndex, end);
    const lines = sheetLines(images, { widthPx, targetHeightPx, gapPx }, { ...gaps, hasDays });
    const tops = topsOf(lines, gapPx);
    const isRead = (line: SheetLine) => line.type !== "gap";
    const last = lines.findLastIndex(isRead);
    return {
      timeline,
      images,
      firstIndex,
      lines,
      tops,
      readTopPx: tops[lines.findIndex(isRead)] ?? 0,
      readEndPx: (tops[last] ?? 0) + (lines[last]?.heightPx ?? 0) + gapPx,
    };
  }, [gapPx, hasDays, images, isFromNewest, isToOldest, part.firstIndex, targetHeightPx, timeline, widthPx]);
}

/** Of the whole list, in px. */
export function heightOf({ lines, tops }: SheetLayout, gapPx: number): number {
  const last = lines.at(-1);
  return last === undefined ? 0 : (tops.at(-1) ?? 0) + last.heightPx + gapPx;
}

function watchView(listener: () => void): () => void {
  const leaving = new AbortController();
  for (const type of ["scroll", "resize"])
    window.addEventListener(type, listener, { passive: true, signal: leaving.signal });
  return () => leaving.abort();
}

/** The lines to put into the document, `[first, end)`: heights are known, so nothing is measured. */
export function useShownLines({ tops }: SheetLayout, marginPx: number) {
  const near = () => {
    const fromPx = window.scrollY - marginPx;
    return linesNear(tops, fromPx, fromPx + window.innerHeight);
  };
  const first = useSyncExternalStore(
    watchView,
    () => near().first,
    () => 0,
  );
  const end = useSyncExternalStore(
    watchView,
    () => near().end,
    () => 0,
  );
  return { first, end };
}

const noGaps = { newerPx: 0, olderPx: 0 };

/** The room of what is not read, on both sides of what is. */
function gapsOf(timeline: Timeline, firstIndex: number, end: number) {
  return {
    newerPx: firstIndex === 0 ? 0 : topOf(timeline, firstIndex),
    olderPx: timeline.heightPx - topOf(timeline, end),
  };
}

/** The line of a picture of what is read; of the first of a day, its heading. */
function lineOf({ lines }: SheetLayout, at: number): number {
  const row = lines.findLastIndex((line) => line.type === "row" && line.at <= at);
  const line = lines[row];
  return line?.type === "row" && line.at === at && lines[row - 1]?.type === "day" ? row - 1 : row;
}

function placeAt(layout: SheetLayout, topPx: number): TimelinePlace | null {
  const { timeline, lines, tops, firstIndex } = layout;
  if (timeline === null) return null;
  const index = lineAt(tops, topPx);
  const line = lines[index]?.type === "day" ? lines[index + 1] : lines[index];
  const first = line?.type === "row" ? line.items[0] : undefined;
  if (line?.type !== "row" || first === undefined) return placeOfIndex(timeline, indexAt(timeline, topPx));
  return placeOfPicture(timeline, firstIndex + line.at, first.createdAt);
}

/** Where a place of the timeline is: in what is read, else where it would be. */
function topOfPlace(layout: SheetLayout, timeline: Timeline, place: TimelinePlace): number {
  const { images, firstIndex, tops } = layout;
  const index = indexOfPlace(timeline, place);
  const month = timeline.months[place.month];
  const isOfMonth = ({ createdAt }: ListedImage) => dayOf(createdAt).slice(0, 7) <= (month?.month ?? "");
  const at = place.share === 0 ? images.findIndex(isOfMonth) : index - firstIndex;
  const isRead = at > 0 || (at === 0 && index === firstIndex);
  if (!isRead || at >= images.length) return topOf(timeline, index) + 1;
  return tops[lineOf(layout, at)] ?? 0;
}

/** How long nothing moves before what is shown is read, where it is far from all that is. */
const settledMs = 90;

interface ScrollInput {
  readonly part: GalleryWindow;
  readonly layout: SheetLayout;
  /** The picture in the viewer: its line is kept in view. */
  readonly openId: string | null;
  /** Where the list begins on the page. */
  readonly marginPx: number;
}

/** Where something was put by a script: the place is that one, wherever its line is, until something scrolls. */
interface Put {
  readonly place: TimelinePlace;
  readonly scrollPx: number;
}

/** Reads what comes into view, keeps what is in view where it is when lines above change, and goes to places of the timeline. */
export function useSheetScroll({ part, layout, openId, marginPx }: ScrollInput) {
  const put = useRef<Put | null>(null);
  const held = useRef<{ readonly id: string; readonly topPx: number } | null>(null);
  const { query, canReadNewer, canReadOlder, hasFailedJump, jump, search } = part;
  const { timeline, lines, tops, readTopPx, readEndPx } = layout;

  const holdFirst = useEffectEvent(() => {
    const from = window.scrollY - marginPx;
    const index = tops.findIndex((top, at) => lines[at]?.type === "row" && top >= from);
    const [line, topPx] = [lines[index], tops[index]];
    const isInView = topPx !== undefined && topPx < from + window.innerHeight;
    held.current = line?.type === "row" && isInView ? { id: line.key, topPx } : null;
  });
  const readMore = useEffectEvent(() => {
    const from = window.scrollY - marginPx;
    const to = from + window.innerHeight;
    const ahead = window.innerHeight * 1.5;
    const isNear = (edgePx: number) => from < edgePx + ahead && to > edgePx - ahead;
    if (canReadOlder && isNear(readEndPx)) void query.fetchNextPage();
    else if (canReadNewer && isNear(readTopPx)) void query.fetchPreviousPage();
  });
  const readThere = useEffectEvent(() => {
    const from = Math.max(0, window.scrollY - marginPx);
    const { isFromNewest, isToOldest } = part;
    const span = { readTopPx, readEndPx, isFromNewest, isToOldest };
    const side = sideOfView(span, from, from + window.innerHeight);
    if (timeline === null || side === null || query.isFetching || query.isPlaceholderData) return;
    const index = put.current ? indexOfPlace(timeline, put.current.place) : indexAt(timeline, from);
    const to = jumpTo(timeline, index);
    // What was read takes less room than was estimated: reading on fills it, the same jump would not.
    if (!isJumpRead(to, { isFromNewest, pages: query.data?.pages })) jump(to);
    else if (side === "older" && canReadOlder) void query.fetchNextPage();
    else if (side === "newer" && canReadNewer) void query.fetchPreviousPage();
  });

  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const onScroll = () => {
      if (put.current !== null && Math.abs(put.current.scrollPx - window.scrollY) > 2) put.current = null;
      holdFirst();
      readMore();
      clearTimeout(timer);
      timer = setTimeout(readThere, settledMs);
    };
    window.addEventListener("scroll", onScroll, { passive: true });
    return () => {
      clearTimeout(timer);
      window.removeEventListener("scroll", onScroll);
    };
  }, []);

  const scrollTo = useCallback(
    (topPx: number) => window.scrollTo({ top: marginPx + topPx, behavior: "instant" }),
    [marginPx],
  );
  // Before it is painted: what was in view stays where it was.
  useLayoutEffect(() => {
    const { id, topPx } = held.current ?? {};
    const now = id === undefined ? undefined : rowOf(layout, id);
    if (topPx === undefined || now === undefined || window.scrollY <= marginPx) return;
    const byPx = now - topPx;
    if (Math.abs(byPx) >= 1) window.scrollBy({ top: byPx, behavior: "instant" });
  }, [layout, marginPx]);
  useEffect(() => {
    holdFirst();
    readMore();
    // What failed is tried again when something scrolls, and not at once for ever.
    if (hasFailedJump) return undefined;
    const timer = setTimeout(readThere, settledMs);
    return () => clearTimeout(timer);
  }, [layout, canReadNewer, canReadOlder, hasFailedJump]);
  // What another search finds is shown from its newest.
  const shownSearch = useRef(search);
  useEffect(() => {
    if (shownSearch.current === search) return;
    shownSearch.current = search;
    if (window.scrollY > marginPx) scrollTo(0);
  }, [marginPx, scrollTo, search]);
  useEffect(() => {
    const topPx = openId === null ? undefined : rowOf(layout, openId);
    if (topPx === undefined) return;
    const from = window.scrollY - marginPx;
    if (topPx < from || topPx > from + window.innerHeight - 200) scrollTo(topPx - window.innerHeight / 3);
    // Only for another picture: what is scrolled to afterwards stays.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [openId]);

  const go = useCallback(
    (place: TimelinePlace) => {
      if (timeline === null) return;
      held.current = null;
      scrollTo(topOfPlace(layout, timeline, place));
      put.current = { place, scrollPx: window.scrollY };
    },
    [layout, scrollTo, timeline],
  );
  const placeNow = useCallback(
    () => put.current?.place ?? placeAt(layout, Math.max(0, window.scrollY - marginPx)),
    [layout, marginPx],
  );
  return { go, placeNow };
}

/** Where the row of a picture begins; undefined where it is not read. */
function rowOf({ lines, tops }: SheetLayout, id: string): number | undefined {
  const index = lines.findIndex((line) => line.type === "row" && line.items.some((image) => image.id === id));
  return tops[index];
}
