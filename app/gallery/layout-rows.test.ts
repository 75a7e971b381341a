import { expect, test, vi } from "vitest";
import { countByDay } from "@atelier/server/platform";
import { fetchNow } from "../client/clock.ts";
import { proportionOf, tileHeightPx } from "../pictures/justify.ts";
import {
  firstRowsScript,
  gapPx,
  lineAt,
  linesNear,
  mostFirst,
  sheetLines,
  today,
  topsOf,
} from "./layout-rows.ts";
import type { ListedImage } from "./stack.tsx";

test("the line at a height is the last that begins there or above", () => {
  const tops = [0, 40, 280, 520];
  expect([-100, 0, 39, 40, 519, 520, 9_000].map((topPx) => lineAt(tops, topPx))).toEqual([
    0, 0, 0, 1, 2, 3, 3,
  ]);
  expect(lineAt([], 0)).toBe(-1);
});

test("lines in view are there with six above and below, and no others", () => {
  const tops = Array.from({ length: 100 }, (_, index) => index * 100);
  expect(linesNear(tops, 2_000, 2_899)).toEqual({ first: 14, end: 35 });
  expect(linesNear(tops, -300, 599)).toEqual({ first: 0, end: 12 });
  expect(linesNear(tops, 9_500, 10_400)).toEqual({ first: 89, end: 100 });
  expect(linesNear([], 0, 900)).toEqual({ first: 0, end: 0 });
});

test("a page that is open over midnight is told of the new day, once it is there", () => {
  vi.useFakeTimers({ now: new Date(2026, 11, 31, 23, 58, 30) });
  const days: string[] = [];
  const stop = today.watch(() => days.push(today.get()));
  vi.advanceTimersByTime(120_000);
  expect(days).toEqual(["2026-12-31", "2027-01-01"]);
  stop();
  vi.advanceTimersByTime(120_000);
  expect(days).toHaveLength(2);
});

test("today is a day of the studio's clock, at once when an answer tells that the browser's is wrong", async () => {
  const noon = new Date(2026, 10, 29, 12);
  vi.useFakeTimers({ now: new Date(2026, 11, 3, 12) });
  const days: string[] = [];
  const stop = today.watch(() => days.push(today.get()));
  expect(today.get()).toBe("2026-12-03");
  vi.stubGlobal("fetch", () => Promise.resolve(new Response("", { headers: { date: noon.toUTCString() } })));
  await fetchNow("/api/trpc/images.list");
  expect(days).toEqual(["2026-11-29"]);
  stop();
  vi.unstubAllGlobals();
});

const hourMs = 3_600_000;
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** Pictures of several forms, some hours apart; safe cast: a layout reads these alone. */
const images = Array.from({ length: mostFirst }, (_, at) => ({
  id: `${at}`,
  createdAt: new Date(Date.UTC(2026, 10, 29, 12) - at * at * hourMs).toISOString(),
  widthPx: 300 + 170 * (at % 7),
  heightPx: 500,
})) as unknown as ListedImage[];

interface FakeTile {
  readonly dataset: { readonly proportion: string };
  readonly style: { cssText: string };
}

/** The lengths that a style sets. */
const pxOf = (style: string): Readonly<Record<string, number>> =>
  Object.fromEntries(
    style.split(";").map((rule) => {
      const [name = "", value = ""] = rule.split(":");
      return [name, Number.parseFloat(value)];
    }),
  );

/** Runs the script of the page over the server's HTML in a list of this width, and reads where it put the pictures. */
function placeIn(widthPx: number) {
  const tiles = images.map((image): FakeTile => ({
    dataset: { proportion: String(proportionOf(image)) },
    style: { cssText: "" },
  }));
  const days = countByDay(
    zone,
    images.map(({ createdAt }) => new Date(createdAt)),
  );
  const headings = [...days.keys()].map((day) => ({ day, style: { cssText: "" } }));
  const list = {
    dataset: { days: [...days.values()].join() },
    style: { cssText: "" },
    isConnected: true,
    parentElement: {},
    querySelectorAll: (which: string) => (which === "[data-day]" ? headings : tiles),
  };
  let tell: (width: number) => void = () => undefined;
  let isObserved = false;
  class Observer {
    constructor(told: (entries: readonly object[]) => void) {
      tell = (width) => told([{ contentRect: { width } }]);
    }
    observe(): void {
      isObserved = true;
      // A page that is still hidden has no width.
      for (const width of [0, widthPx]) tell(width);
    }
    disconnect(): void {
      isObserved = false;
    }
  }
  // oxlint-disable-next-line no-implied-eval, no-new-func -- as a page runs it
  new Function("document", "ResizeObserver", firstRowsScript())({ querySelector: () => list }, Observer);
  expect(isObserved).toBe(true);
  // The page's own rows come in its place.
  list.isConnected = false;
  tell(widthPx / 2);
  expect(isObserved).toBe(false);
  const boxes = tiles.map(({ style }) => pxOf(style.cssText));
  const placed = headings.map(({ day, style }) => ({ day, ...pxOf(style.cssText) }));
  return { boxes, headings: placed, heightPx: pxOf(list.style.cssText)["height"], rules: list.style.cssText };
}

/** Where the page's own code puts them. */
function laidOutIn(widthPx: number) {
  const options = { widthPx, targetHeightPx: tileHeightPx(widthPx), gapPx };
  const lines = sheetLines(images, options, { newerPx: 0, olderPx: 0 });
  const tops = topsOf(lines, gapPx);
  const boxes = lines.flatMap((line, index) => {
    if (line.type !== "row") return [];
    let startPx = 0;
    return line.widthsPx.map((width) => {
      const box = { top: tops[index], "inset-inline-start": startPx, width, height: line.heightPx };
      startPx += width + gapPx;
      return box;
    });
  });
  const headings = lines.flatMap((line, index) =>
    line.type === "day" ? [{ day: line.day, top: tops[index], height: line.heightPx }] : [],
  );
  return { boxes, headings, heightPx: (tops.at(-1) ?? 0) + (lines.at(-1)?.heightPx ?? 0) + gapPx };
}

test.each([288, 380, 639.5, 640, 1_180, 2_300])(
  "pictures and days of the server's HTML lie where the page's code puts them, in a list of %d px",
  (widthPx) => {
    const [placed, laidOut] = [placeIn(widthPx), laidOutIn(widthPx)];
    expect(placed.boxes).toHaveLength(mostFirst);
    expect(placed.heightPx).toBeCloseTo(laidOut.heightPx, 3);
    expect(placed.headings).toEqual(
      laidOut.headings.map(({ top, ...heading }) => ({
        ...heading,
        top: expect.closeTo(top ?? Number.NaN, 3),
      })),
    );
    expect(placed.rules).toContain("visibility:visible");
    for (const [at, box] of placed.boxes.entries())
      for (const [side, px] of Object.entries(laidOut.boxes[at] ?? {}))
        expect(box[side], `${side} of picture ${at}`).toBeCloseTo(px ?? Number.NaN, 3);
  },
);
