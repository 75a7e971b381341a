import { crc32, inflateSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import {
  emptyHistory,
  encodeGreyPng,
  hasPaint,
  requireMarked,
  selectionOf,
  stepHistory,
  type Stroke,
  strokesOf,
} from "./mask.ts";
import { type Click, drawSelection, toSelection } from "./selection.ts";

describe("grey png", () => {
  interface Chunk {
    readonly type: string;
    readonly data: Buffer;
  }

  function* readChunks(png: Buffer): Generator<Chunk> {
    for (let at = 8; at < png.length;) {
      const length = png.readUInt32BE(at);
      const body = png.subarray(at + 4, at + 8 + length);
      expect(png.readUInt32BE(at + 8 + length)).toBe(crc32(body));
      yield { type: body.toString("latin1", 0, 4), data: body.subarray(4) };
      at += length + 12;
    }
  }

  test("a mask is a grey 8-bit PNG that reads back bit for bit", async () => {
    const widthPx = 37;
    const heightPx = 23;
    const pixels = Uint8Array.from({ length: widthPx * heightPx }, (_, index) => (index * 31) % 256);
    const bands = [pixels.slice(0, widthPx * 10), pixels.slice(widthPx * 10)];
    const blob = await encodeGreyPng(widthPx, heightPx, bands);
    const [header, body, end] = [...readChunks(Buffer.from(await blob.arrayBuffer()))];

    expect([header?.type, body?.type, end?.type]).toEqual(["IHDR", "IDAT", "IEND"]);
    expect([header?.data.readUInt32BE(0), header?.data.readUInt32BE(4)]).toEqual([widthPx, heightPx]);
    expect([...(header?.data.subarray(8) ?? [])]).toEqual([8, 0, 0, 0, 0]);

    const rows = inflateSync(body?.data ?? Buffer.alloc(0));
    for (let row = 0; row < heightPx; row += 1) {
      const at = row * (widthPx + 1);
      expect(rows[at]).toBe(0);
      expect([...rows.subarray(at + 1, at + 1 + widthPx)]).toEqual([
        ...pixels.subarray(row * widthPx, (row + 1) * widthPx),
      ]);
    }
  });
});

test("a mask without a pixel of at least half of white is refused as empty before it is sent", async () => {
  const encode = (grey: number) =>
    encodeGreyPng(2, 2, requireMarked([Uint8Array.of(0, 0), Uint8Array.of(0, grey)]));
  expect((await encode(128)).size).toBeGreaterThan(0);
  await expect(encode(127)).rejects.toMatchObject({ code: "mask_empty" });
});

describe("mask", () => {
  const stroke = (sizePx: number, mode: Stroke["mode"] = "paint"): Stroke => ({
    mode,
    sizePx,
    points: [{ x: 1, y: 1 }],
  });

  test("undo takes marks back in order and redo brings them again", () => {
    let history = stepHistory(emptyHistory, { type: "add", mark: stroke(1) });
    history = stepHistory(history, { type: "add", mark: stroke(2) });
    history = stepHistory(stepHistory(history, { type: "undo" }), { type: "undo" });
    expect(history.marks).toEqual([]);
    history = stepHistory(history, { type: "redo" });
    expect(strokesOf(history.marks).map(({ sizePx }) => sizePx)).toEqual([1]);
  });

  test("a new stroke ends what could be redone", () => {
    let history = stepHistory(emptyHistory, { type: "add", mark: stroke(1) });
    history = stepHistory(stepHistory(history, { type: "undo" }), { type: "add", mark: stroke(3) });
    expect(stepHistory(history, { type: "redo" })).toBe(history);
  });

  test("erasing alone marks nothing", () => {
    expect(hasPaint(stepHistory(emptyHistory, { type: "add", mark: stroke(4, "erase") }))).toBe(false);
  });

  const line = (mode: Stroke["mode"], sizePx: number, ...points: Stroke["points"]): Stroke => ({
    mode,
    sizePx,
    points,
  });
  const from = { x: 10, y: 10 };
  const to = { x: 200, y: 80 };

  test("paint that was erased in full marks nothing, and marks again once it is painted over", () => {
    const painted = line("paint", 20, from, to);
    const erased = [painted, line("erase", 20, to, from)];
    expect(hasPaint({ marks: erased })).toBe(false);
    expect(hasPaint({ marks: [painted, line("erase", 400, { x: 100, y: 50 })] })).toBe(false);
    expect(hasPaint({ marks: [...erased, painted] })).toBe(true);
  });

  test("paint that was erased in part, beside or before it was made still marks", () => {
    const painted = line("paint", 20, from, to);
    const half = { x: 105, y: 45 };
    expect(hasPaint({ marks: [painted, line("erase", 20, from, half)] })).toBe(true);
    expect(hasPaint({ marks: [painted, line("erase", 12, from, to)] })).toBe(true);
    expect(hasPaint({ marks: [painted, line("erase", 60, { x: 300, y: 300 })] })).toBe(true);
    expect(hasPaint({ marks: [line("erase", 400, half), painted] })).toBe(true);
  });
});

describe("D2 a selection by click", () => {
  const size = { widthPx: 37, heightPx: 23 };
  const click: Click = { x: 12, y: 9, mode: "include" };
  const box = { left: 10, top: 8, width: 9, height: 5 };
  const isIn = (x: number, y: number) =>
    x >= box.left && x < box.left + box.width && y >= box.top && y < box.top + box.height;
  const grey = Uint8Array.from({ length: size.widthPx * size.heightPx }, (_, at) =>
    isIn(at % size.widthPx, Math.floor(at / size.widthPx)) ? 255 : 127,
  );
  const bands = [grey.subarray(0, size.widthPx * 9), grey.subarray(size.widthPx * 9)];
  const selection = toSelection(bands, size, [click]);
  const stroke = (mode: Stroke["mode"], ...points: Stroke["points"]): Stroke => ({ mode, sizePx: 8, points });
  const across = [
    { x: 8, y: 10 },
    { x: 20, y: 10 },
  ];

  test("it is drawn in its colour at its own size, in any part and smaller", () => {
    const rgb = [255, 90, 54] as const;
    const shownAt = (width: number, height: number, top: number, rows: number) => {
      const rgba = drawSelection(selection, { width, height, top, rows, rgb });
      expect(rgba.length).toBe(width * rows * 4);
      return (x: number, y: number) => [...rgba.subarray((y * width + x) * 4).subarray(0, 4)];
    };
    const whole = shownAt(37, 23, 0, 23);
    for (let y = 0; y < 23; y += 1)
      for (let x = 0; x < 37; x += 1) expect(whole(x, y)).toEqual(isIn(x, y) ? [...rgb, 255] : [0, 0, 0, 0]);
    const band = shownAt(37, 23, 8, 2);
    expect([band(9, 0), band(10, 0)]).toEqual([
      [0, 0, 0, 0],
      [...rgb, 255],
    ]);
    const half = shownAt(18, 11, 0, 11);
    expect([half(7, 5)[3], half(2, 5)[3], half(7, 9)[3]]).toEqual([255, 0, 0]);
  });

  test("one undo takes it back with its click, and redo brings both", () => {
    const more = toSelection(bands, size, [click, { x: 14, y: 9, mode: "exclude" }]);
    let history = stepHistory(emptyHistory, { type: "add", mark: selection });
    history = stepHistory(history, { type: "add", mark: stroke("paint", { x: 1, y: 1 }) });
    history = stepHistory(history, { type: "add", mark: more });
    expect(selectionOf(history.marks)?.clicks).toHaveLength(2);
    history = stepHistory(history, { type: "undo" });
    expect(selectionOf(history.marks)).toBe(selection);
    expect(strokesOf(history.marks)).toHaveLength(1);
    history = stepHistory(history, { type: "redo" });
    expect(selectionOf(history.marks)).toBe(more);
    expect(selectionOf(stepHistory(history, { type: "clear" }).marks)).toBeNull();
  });

  test("it marks something until erasers have covered all of it; brushes work on top", () => {
    expect(hasPaint({ marks: [selection] })).toBe(true);
    expect(hasPaint({ marks: [selection, stroke("erase", { x: 30, y: 20 })] })).toBe(true);
    expect(hasPaint({ marks: [selection, stroke("erase", ...across)] })).toBe(false);
    expect(hasPaint({ marks: [stroke("erase", ...across), selection] })).toBe(false);
    expect(hasPaint({ marks: [selection, stroke("erase", ...across), stroke("paint", ...across)] })).toBe(
      true,
    );
  });
});
