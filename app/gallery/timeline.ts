import type { MonthCount } from "@atelier/server/images";
import { dayHeightPx, dayOf } from "./layout-rows.ts";

/** What the height of rows that were never read is estimated by. */
export interface Measures {
  readonly widthPx: number;
  readonly targetHeightPx: number;
  readonly gapPx: number;
  /** Width ÷ height of a usual picture. */
  readonly proportion: number;
}

/** A month in the whole list, also of pictures that were never read. */
export interface Month extends MonthCount {
  /** How many pictures are newer than all of this month. */
  readonly start: number;
  readonly topPx: number;
  readonly heightPx: number;
}

/** Months, the newest first, with the place of each in a list of all pictures. */
export interface Timeline {
  readonly months: readonly Month[];
  readonly pictures: number;
  readonly heightPx: number;
}

/** Pictures of a single month need no way to another one. */
export function hasScrubber(months: readonly unknown[] | null): boolean {
  return (months?.length ?? 0) > 1;
}

/** How high a month would be: its pictures fall on some of its days, and the last row of each day is half full. */
function estimateHeight(pictures: number, days: number, measures: Measures): number {
  const { widthPx, targetHeightPx, gapPx, proportion } = measures;
  const perRow = Math.max(1, Math.ceil((widthPx + gapPx) / (proportion * targetHeightPx + gapPx)));
  const rowPx = Math.min(targetHeightPx, (widthPx - gapPx * (perRow - 1)) / (perRow * proportion));
  const filledDays = Math.max(1, days * (1 - Math.exp(-pictures / days)));
  const rows = Math.max(filledDays, pictures / perRow + filledDays / 2);
  return filledDays * (dayHeightPx + gapPx) + rows * (rowPx + gapPx);
}

const yearAndMonth = (month: string) => [Number(month.slice(0, 4)), Number(month.slice(5)) - 1] as const;

export function layOutMonths(counts: readonly MonthCount[], measures: Measures): Timeline {
  let start = 0;
  let topPx = 0;
  const months = counts.map((count): Month => {
    const [year, month] = yearAndMonth(count.month);
    const days = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
    const placed = { ...count, start, topPx, heightPx: estimateHeight(count.pictures, days, measures) };
    start += placed.pictures;
    topPx += placed.heightPx;
    return placed;
  });
  return { months, pictures: start, heightPx: topPx };
}

/** The last month that begins at or before a place, by `start` or by `topPx`. */
function monthBefore(months: readonly Month[], by: "start" | "topPx", place: number): number {
  let [low, high] = [0, months.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((months[middle]?.[by] ?? 0) <= place) low = middle;
    else high = middle - 1;
  }
  return low;
}

const share = (part: number, whole: number) => (whole === 0 ? 0 : Math.min(1, Math.max(0, part / whole)));

/** Where a picture would be, by how many are newer. */
export function topOf({ months, heightPx, pictures }: Timeline, index: number): number {
  if (index >= pictures) return heightPx;
  const month = months[monthBefore(months, "start", index)];
  return month === undefined ? 0 : month.topPx + share(index - month.start, month.pictures) * month.heightPx;
}

/** The reverse of `topOf`. */
export function indexAt({ months }: Timeline, topPx: number): number {
  const month = months[monthBefore(months, "topPx", topPx)];
  if (month === undefined) return 0;
  return month.start + Math.floor(share(topPx - month.topPx, month.heightPx) * month.pictures);
}

/** A place in a timeline: the number of a month, and how much of its pictures is newer. */
export interface TimelinePlace {
  readonly month: number;
  readonly share: number;
}

export function placeOfIndex({ months }: Timeline, index: number): TimelinePlace {
  const month = monthBefore(months, "start", index);
  const { start = 0, pictures = 0 } = months[month] ?? {};
  return { month, share: share(index - start, pictures) };
}

/** Of a picture that is known: its month is that of its day's heading, which is local and not of UTC. */
export function placeOfPicture(timeline: Timeline, index: number, createdAt: string): TimelinePlace {
  const own = dayOf(createdAt).slice(0, 7);
  const found = timeline.months.findIndex(({ month }) => month <= own);
  const month = found === -1 ? Math.max(0, timeline.months.length - 1) : found;
  const { start = 0, pictures = 0 } = timeline.months[month] ?? {};
  return { month, share: share(index - start, pictures) };
}

export function indexOfPlace({ months }: Timeline, place: TimelinePlace): number {
  const { start = 0, pictures = 0 } = months[place.month] ?? {};
  return start + Math.min(Math.max(0, pictures - 1), Math.floor(place.share * pictures));
}

/** How many pictures are newer than the first of a part of the list; exact where the part holds the first of a month. */
export function firstIndexOf(
  images: readonly { readonly createdAt: string }[],
  months: readonly { readonly month: string; readonly start: number }[],
  presumed: number,
): number {
  const isTurn = (at: number) =>
    at > 0 && images[at]?.createdAt.slice(0, 7) !== images[at - 1]?.createdAt.slice(0, 7);
  const turn = images.findIndex((_, at) => isTurn(at));
  const month = months.find((one) => one.month === images[turn]?.createdAt.slice(0, 7));
  return turn === -1 || month === undefined ? presumed : Math.max(0, month.start - turn);
}

/** What a list of pictures is asked for to begin elsewhere than at its newest. */
export interface Jump {
  readonly from: string;
  readonly before: string;
  readonly skip: number;
  /** How many pictures are newer than its first. */
  readonly index: number;
}

/** What of the list is read, and where. */
interface ReadSpan {
  readonly readTopPx: number;
  readonly readEndPx: number;
  readonly isFromNewest: boolean;
  readonly isToOldest: boolean;
}

/** On which side of all that is read the view is; null where some of it is in view, or the list ends there. */
export function sideOfView(span: ReadSpan, fromPx: number, toPx: number): "newer" | "older" | null {
  if (!span.isToOldest && fromPx >= span.readEndPx) return "older";
  return !span.isFromNewest && toPx <= span.readTopPx ? "newer" : null;
}

interface ReadPages {
  readonly isFromNewest: boolean;
  readonly pages: readonly { readonly jump: Jump | undefined }[] | undefined;
}

/** Whether what a jump leads to is among the pages: the same jump would bring nothing new. */
export function isJumpRead(to: Jump | null, { isFromNewest, pages }: ReadPages): boolean {
  if (to === null) return isFromNewest;
  const isThere = pages?.some(
    ({ jump }) => jump?.from === to.from && jump.before === to.before && jump.skip === to.skip,
  );
  return isThere === true;
}

/** Fewer than this are not skipped: the month is read from its beginning. */
const leastSkipped = 30;

/** The first pictures of a month are read by its local days, as their headings are; those further down by their number. */
export function jumpTo(timeline: Timeline, index: number): Jump | null {
  const place = timeline.months[placeOfIndex(timeline, index).month];
  if (place === undefined || index < leastSkipped) return null;
  const [year, month] = yearAndMonth(place.month);
  const skip = index - place.start;
  if (skip < leastSkipped)
    return {
      from: new Date(year, month, 1).toISOString(),
      before: new Date(year, month + 1, 1).toISOString(),
      skip: 0,
      index: place.start,
    };
  return {
    from: new Date(Date.UTC(year, month, 1)).toISOString(),
    before: new Date(Date.UTC(year, month + 1, 1)).toISOString(),
    skip,
    index,
  };
}
