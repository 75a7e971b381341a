import { describe, expect, test } from "vitest";
import {
  type Area,
  emptyHistory,
  hasPaint,
  type Mark,
  noteRaster,
  rasterOf,
  selectionOf,
  stepHistory,
  type Stroke,
} from "./marks.ts";
import { drawLine } from "./draw.ts";
import { bandsOf, draftOf, emptyRaster } from "./raster.ts";
import { type Click, toSelection } from "./selection.ts";

const size = { widthPx: 300, heightPx: 280 };

/** The greys of marks as they are drawn, by their place. */
function draw(...marks: readonly Mark[]) {
  const greys = Buffer.concat([...bandsOf(rasterOf(marks, size))]);
  return (x: number, y: number) => greys[y * size.widthPx + x] ?? -1;
}

const stroke = (sizePx: number, mode: Stroke["mode"] = "paint"): Stroke => ({
  mode,
  sizePx,
  points: [{ x: 1, y: 1 }],
});
const line = (mode: Stroke["mode"], sizePx: number, ...points: Stroke["points"]): Stroke => ({
  mode,
  sizePx,
  points,
});
const area = (effect: Area["effect"], left: number, top: number, sidePx: number): Area => ({
  mode: "area",
  effect,
  points: [
    { x: left, y: top },
    { x: left + sidePx, y: top },
    { x: left + sidePx, y: top + sidePx },
    { x: left, y: top + sidePx },
  ],
});

describe("history", () => {
  test("undo takes marks back in order and redo brings them again", () => {
    let history = stepHistory(emptyHistory, { type: "add", mark: stroke(1) });
    history = stepHistory(history, { type: "add", mark: stroke(2) });
    history = stepHistory(stepHistory(history, { type: "undo" }), { type: "undo" });
    expect(history.marks).toEqual([]);
    history = stepHistory(history, { type: "redo" });
    expect(history.marks).toEqual([stroke(1)]);
  });

  test("a new stroke ends what could be redone", () => {
    let history = stepHistory(emptyHistory, { type: "add", mark: stroke(1) });
    history = stepHistory(stepHistory(history, { type: "undo" }), { type: "add", mark: stroke(3) });
    expect(stepHistory(history, { type: "redo" })).toBe(history);
  });

  test("a mask that was cleared comes back by one undo", () => {
    const painted = stepHistory(emptyHistory, { type: "add", mark: stroke(9) });
    const cleared = stepHistory(painted, { type: "add", mark: { mode: "none" } });
    expect(hasPaint(cleared, size)).toBe(false);
    expect(hasPaint(stepHistory(cleared, { type: "undo" }), size)).toBe(true);
  });
});

describe("strokes", () => {
  const from = { x: 10, y: 10 };
  const to = { x: 200, y: 80 };

  test("erasing alone marks nothing", () => {
    expect(hasPaint({ marks: [stroke(4, "erase")] }, size)).toBe(false);
  });

  test("paint that was erased in full marks nothing, and marks again once it is painted over", () => {
    const painted = line("paint", 20, from, to);
    const erased = [painted, line("erase", 22, to, from)];
    expect(hasPaint({ marks: erased }, size)).toBe(false);
    expect(hasPaint({ marks: [painted, line("erase", 400, { x: 100, y: 50 })] }, size)).toBe(false);
    expect(hasPaint({ marks: [...erased, painted] }, size)).toBe(true);
  });

  test("an eraser of the same size on the same way leaves nothing that an engine would count", () => {
    expect(hasPaint({ marks: [line("paint", 20, from, to), line("erase", 20, from, to)] }, size)).toBe(false);
  });

  test("paint that was erased in part, beside or before it was made still marks", () => {
    const painted = line("paint", 20, from, to);
    const half = { x: 105, y: 45 };
    expect(hasPaint({ marks: [painted, line("erase", 20, from, half)] }, size)).toBe(true);
    expect(hasPaint({ marks: [painted, line("erase", 12, from, to)] }, size)).toBe(true);
    expect(hasPaint({ marks: [painted, line("erase", 60, { x: 290, y: 270 })] }, size)).toBe(true);
    expect(hasPaint({ marks: [line("erase", 400, half), painted] }, size)).toBe(true);
  });

  test("a stroke reaches over the edges of tiles and beside the picture, and is as wide as the brush", () => {
    const at = draw(line("paint", 40, { x: -30, y: 256 }, { x: 400, y: 256 }));
    for (const x of [0, 255, 256, 299]) {
      expect([at(x, 237), at(x, 255), at(x, 256), at(x, 274)]).toEqual([255, 255, 255, 255]);
      expect([at(x, 233), at(x, 278)]).toEqual([0, 0]);
    }
  });

  test("a soft brush fades from its middle to its edge, a harder one later", () => {
    const softly = (hardness: number) => draw({ ...line("paint", 100, { x: 150, y: 140 }), hardness });
    const [soft, half, hard] = [softly(0), softly(0.5), softly(1)];
    expect([soft(150, 140), half(150, 140), hard(150, 140)]).toEqual([255, 255, 255]);
    expect(soft(175, 140)).toBeGreaterThan(100);
    expect(soft(175, 140)).toBeLessThan(160);
    expect([half(172, 140), hard(197, 140)]).toEqual([255, 255]);
    expect([soft(202, 140), half(202, 140), hard(202, 140)]).toEqual([0, 0, 0]);
  });

  test("the pressure of a pen makes the stroke wider along its way", () => {
    const at = draw({
      mode: "paint",
      sizePx: 100,
      points: [
        { x: 50, y: 140, pressure: 0 },
        { x: 250, y: 140, pressure: 1 },
      ],
    });
    expect([at(50, 145), at(50, 150)]).toEqual([255, 0]);
    expect([at(250, 185), at(250, 193)]).toEqual([255, 0]);
    expect([at(150, 165), at(150, 175)]).toEqual([255, 0]);
  });

  test("every px of a line has the grey of its distance, at any angle, width and hardness", () => {
    const small = { widthPx: 90, heightPx: 70 };
    for (let round = 0; round < 60; round += 1) {
      const random = (most: number) => ((Math.sin(round * 12.9898 + (seed += 1) * 78.233) + 1) / 2) * most;
      let seed = 0;
      const dab = () => ({ x: random(100) - 5, y: random(80) - 5, radiusPx: 1 + random(30) });
      const from = dab();
      const to = round % 5 === 0 ? from : dab();
      const hardness = [0, 0.4, 1][round % 3] ?? 1;
      const draft = draftOf(emptyRaster(small));
      drawLine(draft, { from, to, hardness, effect: "add" });
      const greys = Buffer.concat([...bandsOf(draft.done())]);
      const wrong = [...greys.entries()].filter(([at, grey]) => {
        const point = { x: (at % small.widthPx) + 0.5, y: Math.floor(at / small.widthPx) + 0.5 };
        const length2 = (to.x - from.x) ** 2 + (to.y - from.y) ** 2;
        const dot = (point.x - from.x) * (to.x - from.x) + (point.y - from.y) * (to.y - from.y);
        const along = length2 === 0 ? 0 : Math.min(1, Math.max(0, dot / length2));
        const radius = from.radiusPx + (to.radiusPx - from.radiusPx) * along;
        const x = point.x - from.x - (to.x - from.x) * along;
        const y = point.y - from.y - (to.y - from.y) * along;
        const inner = Math.max(0, radius * hardness - 0.5);
        const part = Math.min(1, Math.max(0, (Math.hypot(x, y) - inner) / (radius + 0.5 - inner)));
        return Math.abs(grey - 255 * (1 - part * part * (3 - 2 * part))) > 1;
      });
      expect(wrong, `line ${round}`).toEqual([]);
    }
  });

  test("a stroke that was drawn in parts is the same as in one, and is not drawn again", () => {
    const points = Array.from({ length: 50 }, (_, at) => ({
      x: 20 + at * 5,
      y: 140 + 80 * Math.sin(at / 5),
    }));
    const whole = line("paint", 30, ...points);
    const parts = points.slice(1).map((point, at) => line("paint", 30, points[at] ?? point, point));
    expect([...bandsOf(rasterOf([whole], size))]).toEqual([...bandsOf(rasterOf(parts, size))]);
    const marks = [whole, stroke(7)];
    const drawn = rasterOf([stroke(7)], size);
    noteRaster(marks, drawn);
    expect(rasterOf(marks, size) === drawn).toBe(true);
  });
});

describe("areas and changes", () => {
  test("an area is filled to its edges and taken away by another", () => {
    const at = draw(area("add", 40, 40, 100), area("subtract", 60, 60, 20));
    expect([at(40, 40), at(139, 139), at(39, 90), at(140, 90)]).toEqual([255, 255, 0, 0]);
    expect([at(60, 60), at(79, 79), at(80, 80)]).toEqual([0, 0, 255]);
  });

  test("an edge between two px covers as much of them as it should", () => {
    const at = draw(area("add", 10.5, 10.25, 20));
    expect(at(10, 15)).toBe(128);
    expect(at(15, 10)).toBe(191);
    expect(at(15, 30)).toBe(64);
  });

  test("a line that crosses itself fills all that it encloses", () => {
    const star = [0, 2, 4, 1, 3].map((corner) => ({
      x: 150 + 100 * Math.sin((corner * 2 * Math.PI) / 5),
      y: 140 - 100 * Math.cos((corner * 2 * Math.PI) / 5),
    }));
    const at = draw({ mode: "area", effect: "add", points: star });
    expect([at(150, 140), at(150, 60), at(60, 60)]).toEqual([255, 255, 0]);
  });

  test("invert, all and none change the whole picture", () => {
    const painted = area("add", 40, 40, 100);
    const inverted = draw(painted, { mode: "invert" });
    expect([inverted(90, 90), inverted(10, 10), inverted(299, 279)]).toEqual([0, 255, 255]);
    const all = draw(painted, { mode: "all" });
    expect([all(90, 90), all(299, 279)]).toEqual([255, 255]);
    expect(hasPaint({ marks: [painted, { mode: "all" }, { mode: "invert" }] }, size)).toBe(false);
  });

  test("grow and shrink move the edge by so many px, round at corners; the side of the picture is no edge", () => {
    const grown = draw(area("add", 100, 100, 50), { mode: "grow", px: 20 });
    expect([grown(81, 125), grown(79, 125), grown(169, 125), grown(171, 125)]).toEqual([255, 0, 255, 0]);
    expect([grown(82, 82), grown(90, 90)]).toEqual([0, 255]);
    const shrunk = draw(area("add", 100, 100, 50), { mode: "shrink", px: 20 });
    expect([shrunk(119, 125), shrunk(121, 125), shrunk(128, 125), shrunk(131, 125)]).toEqual([
      0, 255, 255, 0,
    ]);
    const atSide = draw(area("add", -10, -10, 110), { mode: "shrink", px: 20 });
    expect([atSide(0, 0), atSide(78, 50), atSide(81, 50)]).toEqual([255, 255, 0]);
    const isLeft = hasPaint({ marks: [area("add", 100, 100, 30), { mode: "shrink", px: 20 }] }, size);
    expect(isLeft).toBe(false);
  });

  test("feather makes the edge soft at both sides and leaves what is far from it", () => {
    const at = draw(area("add", 100, 100, 100), { mode: "feather", px: 12 });
    expect([at(150, 150), at(80, 150)]).toEqual([255, 0]);
    expect(at(100, 150)).toBeGreaterThan(110);
    expect(at(100, 150)).toBeLessThan(150);
    expect(at(95, 150)).toBeGreaterThan(10);
    expect(at(105, 150)).toBeLessThan(245);
  });
});

describe("D2 selections", () => {
  const click: Click = { x: 12, y: 9, mode: "include" };
  const boxed = (left: number, clicks: readonly Click[]) =>
    toSelection(
      [
        Uint8Array.from({ length: size.widthPx * size.heightPx }, (_, at) =>
          at % size.widthPx >= left && at % size.widthPx < left + 50 && at < size.widthPx * 100 ? 255 : 127,
        ),
      ],
      size,
      clicks,
    );
  const first = boxed(10, [click]);
  const second = boxed(100, [click, { x: 14, y: 9, mode: "exclude" }]);

  test("one undo takes it back with its click, and redo brings both", () => {
    let history = stepHistory(emptyHistory, { type: "add", mark: first });
    history = stepHistory(history, { type: "add", mark: stroke(5) });
    history = stepHistory(history, { type: "add", mark: second });
    expect(selectionOf(history.marks)?.clicks).toHaveLength(2);
    history = stepHistory(history, { type: "undo" });
    expect(selectionOf(history.marks)).toBe(first);
    history = stepHistory(history, { type: "redo" });
    expect(selectionOf(history.marks)).toBe(second);
    history = stepHistory(history, { type: "add", mark: { mode: "none" } });
    expect(selectionOf(history.marks)).toBeNull();
  });

  test("that of a further click takes the place of the one before, below what was drawn since", () => {
    const erased = line("erase", 30, { x: 30, y: 50 }, { x: 130, y: 50 });
    const before = draw(first, erased);
    expect([before(30, 20), before(30, 50), before(130, 20)]).toEqual([255, 0, 0]);
    const after = draw(first, erased, second);
    expect([after(30, 20), after(120, 20), after(120, 50)]).toEqual([0, 255, 0]);
  });

  test("one without clicks is added to, and taken from, what is there", () => {
    const byWords = boxed(100, []);
    const both = draw(first, byWords);
    expect([both(30, 20), both(120, 20)]).toEqual([255, 255]);
    const less = draw({ mode: "all" }, { ...byWords, effect: "subtract" });
    expect([less(30, 20), less(120, 20)]).toEqual([255, 0]);
    expect(selectionOf([first, byWords])).toBe(first);
  });

  test("after a change a click begins anew", () => {
    const marks: Mark[] = [first, { mode: "invert" }];
    expect(selectionOf(marks)).toBeNull();
    const at = draw(...marks, boxed(10, [click]));
    expect([at(30, 20), at(200, 200)]).toEqual([255, 255]);
  });

  test("it marks something until erasers have covered all of it", () => {
    const erased = line("erase", 240, { x: 10, y: 50 }, { x: 60, y: 50 });
    expect(hasPaint({ marks: [first] }, size)).toBe(true);
    expect(hasPaint({ marks: [first, stroke(30, "erase")] }, size)).toBe(true);
    expect(hasPaint({ marks: [first, erased] }, size)).toBe(false);
    expect(hasPaint({ marks: [erased, first] }, size)).toBe(false);
  });
});
