import { studioNow, watchClock } from "../client/clock.ts";
import { breakRows, justify, type JustifyOptions, type Row, tileHeightPx } from "../pictures/justify.ts";
import type { ListedImage } from "./stack.tsx";

/** Of one page of the list that is read. */
export const galleryPageSize = 100;

/** One line of the virtual list: the heading of a day, a row of pictures of that day, or the room of pictures that are not read. */
export type SheetLine =
  | { readonly type: "day"; readonly day: string; readonly heightPx: number }
  | { readonly type: "gap"; readonly key: "newer" | "older"; readonly heightPx: number }
  | ({
      readonly type: "row";
      readonly key: string;
      /** Of its first picture, in the list. */
      readonly at: number;
    } & Row<ListedImage>);

export const dayHeightPx = 52;
export const gapPx = 4;

/** So many of the newest pictures are in the server's HTML: as many as fill a large screen. */
export const mostFirst = 40;
/** About what a small screen shows at once. */
export const mostUrgent = 8;

/** Local calendar day, `2026-11-21`. */
export function dayOf(iso: string): string {
  const date = new Date(iso);
  const pad = (value: number) => String(value).padStart(2, "0");
  return `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
}

/** Today's date where the browser is. A page that stays open over midnight gets the new date within a minute. */
export const today = {
  get: () => dayOf(new Date(studioNow()).toISOString()),
  watch: (look: () => void) => watchClock(look, 60_000),
};

function groupByDay(images: readonly ListedImage[]): Map<string, ListedImage[]> {
  const days = new Map<string, ListedImage[]>();
  for (const image of images) {
    const day = dayOf(image.createdAt);
    const group = days.get(day);
    if (group === undefined) days.set(day, [image]);
    else group.push(image);
  }
  return days;
}

interface Gaps {
  /** Estimated heights of what is not read, with the space below it. */
  readonly newerPx: number;
  readonly olderPx: number;
  /** Whether the list goes from day to day; true by default. */
  readonly hasDays?: boolean;
}

function gapLine(key: "newer" | "older", heightPx: number, gapPx: number): SheetLine[] {
  return heightPx > gapPx ? [{ type: "gap", key, heightPx: heightPx - gapPx }] : [];
}

export function sheetLines(
  images: readonly ListedImage[],
  options: JustifyOptions,
  { newerPx, olderPx, hasDays = true }: Gaps,
): SheetLine[] {
  let at = 0;
  const groups = hasDays ? [...groupByDay(images)] : [["", images] as const];
  const read = groups.flatMap(([day, group]) => [
    ...(hasDays ? [{ type: "day", day, heightPx: dayHeightPx } satisfies SheetLine] : []),
    ...justify(group, options).map((row): SheetLine => {
      const line = { type: "row", key: row.items[0]?.id ?? day, at, ...row } as const;
      at += row.items.length;
      return line;
    }),
  ]);
  return [...gapLine("newer", newerPx, options.gapPx), ...read, ...gapLine("older", olderPx, options.gapPx)];
}

/** Where each line begins in the list. */
export function topsOf(lines: readonly SheetLine[], gapPx: number): number[] {
  let topPx = 0;
  return lines.map(({ heightPx }) => {
    const own = topPx;
    topPx += heightPx + gapPx;
    return own;
  });
}

/** The line at a height of the list; -1 without lines. */
export function lineAt(tops: readonly number[], topPx: number): number {
  const after = tops.findIndex((top) => top > topPx);
  return after === -1 ? tops.length - 1 : Math.max(0, after - 1);
}

/** So many lines above and below what is in view are there before they are scrolled to. */
const linesAhead = 6;

/** The lines between two heights of the list and some around them, as `[first, end)`. */
export function linesNear(tops: readonly number[], fromPx: number, toPx: number) {
  return {
    first: Math.max(0, lineAt(tops, fromPx) - linesAhead),
    end: Math.min(tops.length, lineAt(tops, toPx) + 1 + linesAhead),
  };
}

interface Rows {
  readonly breakRows: typeof breakRows;
  readonly tileHeightPx: typeof tileHeightPx;
  readonly dayHeightPx: number;
  readonly gapPx: number;
}

/** Its text is a part of the gallery's page, so that it names nothing of this file. */
function placeFirstRows({
  breakRows: breakInto,
  tileHeightPx: heightIn,
  dayHeightPx: dayPx,
  gapPx: gap,
}: Rows): void {
  const list = document.querySelector<HTMLElement>("[data-days]");
  if (!list?.parentElement) return;
  const headings = [...list.querySelectorAll<HTMLElement>("[data-day]")];
  const tiles = [...list.querySelectorAll<HTMLElement>("[data-proportion]")];
  const days = list.dataset["days"]?.split(",").map(Number) ?? [];
  const place = (widthPx: number) => {
    const options = { widthPx, targetHeightPx: heightIn(widthPx), gapPx: gap };
    let [at, topPx] = [0, 0];
    for (const [nth, day] of days.entries()) {
      const heading = headings[nth];
      if (heading) heading.style.cssText = `top:${topPx}px;height:${dayPx}px`;
      topPx += dayPx + gap;
      const proportions = tiles.slice(at, at + day).map((tile) => Number(tile.dataset["proportion"]));
      for (const { count, heightPx } of breakInto(proportions, options)) {
        let startPx = 0;
        for (const tile of tiles.slice(at, at + count)) {
          const tilePx = Number(tile.dataset["proportion"]) * heightPx;
          tile.style.cssText = `top:${topPx}px;inset-inline-start:${startPx}px;width:${tilePx}px;height:${heightPx}px`;
          startPx += tilePx + gap;
        }
        at += count;
        topPx += heightPx + gap;
      }
    }
    // Seen only now: else the browser would take it for a page that moves.
    list.style.cssText = `height:${topPx}px;visibility:visible`;
  };
  // The page is hidden until it is whole. What holds the list keeps its own height, so that this changes nothing of what is observed.
  const observer = new ResizeObserver((entries) => {
    // The page's code has put its own rows here.
    if (!list.isConnected) return observer.disconnect();
    const widthPx = entries[0]?.contentRect.width ?? 0;
    if (widthPx > 0) place(widthPx);
  });
  observer.observe(list.parentElement);
}

/**
 * Places the newest pictures of the server's HTML as the page's code will, which comes later: rows depend on a width that the server
 * does not know. A function, so that no page loads it as code.
 */
export const firstRowsScript = () =>
  `(${placeFirstRows.toString()})({breakRows:${breakRows.toString()},tileHeightPx:${tileHeightPx.toString()},dayHeightPx:${dayHeightPx},gapPx:${gapPx}})`;
