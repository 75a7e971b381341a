import { describe, expect, test } from "vitest";
import { adjustBand, type Adjustments, neutral, planAdjust } from "./adjust.ts";
import { cropBand, isFilled, largestRect, rectOf, straightenedSize } from "./crop.ts";
import { bandsOf, type Rgba } from "./picture.ts";
import { restoreBand } from "./restore.ts";

/** A picture of steps of all channels, with an alpha that is 255 without `alphaOf`. */
function draw(width: number, height: number, alphaOf: (x: number, y: number) => number = () => 255): Rgba {
  const data = new Uint8Array(width * height * 4);
  for (let at = 0; at < width * height; at += 1) {
    const [x, y] = [at % width, Math.floor(at / width)];
    data.set([(x * 255) / (width - 1), (y * 255) / (height - 1), ((x * y) % 16) * 16, alphaOf(x, y)], at * 4);
  }
  return { data, width, height };
}

function adjust(picture: Rgba, wanted: Partial<Adjustments>, rowsAtOnce = picture.height): Rgba {
  const plan = planAdjust({ ...neutral, ...wanted });
  const data = new Uint8ClampedArray(picture.data.length);
  for (const band of bandsOf(picture.height, rowsAtOnce))
    data.set(adjustBand(picture, plan, band), band.top * picture.width * 4);
  return { ...picture, data };
}

const pixelAt = ({ data, width }: Rgba, x: number, y: number) =>
  Array.from(data.subarray((y * width + x) * 4, (y * width + x) * 4 + 4));

const farthest = (a: Rgba, b: Rgba) =>
  Array.from(a.data).reduce((most, value, at) => Math.max(most, Math.abs(value - (b.data[at] ?? -255))), 0);

describe("adjusting", () => {
  test("nothing asked for changes no value", () => {
    const picture = draw(256, 32, (x) => x);
    expect(farthest(adjust(picture, {}), picture)).toBe(0);
  });

  test("bands give what the whole picture gives, sharpened across their edges and beside transparency", () => {
    const wanted = { light: 20, contrast: -30, saturation: 40, temperature: -50, sharpness: 80 };
    for (const picture of [draw(31, 23), draw(31, 23, (x, y) => (y < 12 ? 255 : (x * 8) % 256))])
      expect(farthest(adjust(picture, wanted, 5), adjust(picture, wanted))).toBeLessThanOrEqual(1);
  });

  test("light keeps black and white, brightens what is between, and is taken back by its opposite", () => {
    const picture = draw(256, 2);
    const lighter = adjust(picture, { light: 60 });
    expect([pixelAt(lighter, 0, 0)[0], pixelAt(lighter, 255, 0)[0]]).toEqual([0, 255]);
    expect(pixelAt(lighter, 128, 0)[0]).toBeGreaterThan(155);
    expect(farthest(adjust(lighter, { light: -60 }), picture)).toBeLessThanOrEqual(3);
  });

  test("each adjustment does what its name says", () => {
    const colour = (...rgb: number[]): Rgba => ({ data: Uint8Array.of(...rgb, 255), width: 1, height: 1 });
    const [grey, red] = [colour(128, 128, 128), colour(180, 90, 60)];
    const only = (picture: Rgba, wanted: Partial<Adjustments>) => pixelAt(adjust(picture, wanted), 0, 0);
    expect(new Set(only(red, { saturation: -100 }).slice(0, 3)).size).toBe(1);
    const [warmRed = 0, , warmBlue = 0] = only(grey, { temperature: 50 });
    expect(warmRed).toBeGreaterThan(130);
    expect(warmBlue).toBeLessThan(120);
    const [high = 0, , low = 0] = only(red, { contrast: 60 });
    expect(high).toBeGreaterThan(180);
    expect(low).toBeLessThan(60);
    const [flat = 0, , lifted = 0] = only(red, { contrast: -60 });
    expect(flat).toBeLessThan(180);
    expect(lifted).toBeGreaterThan(60);
  });

  test("sharpness steepens an edge and its opposite softens it; an even area stays", () => {
    const edge: Rgba = { data: new Uint8Array(16 * 4 * 4), width: 16, height: 4 };
    for (let at = 0; at < 64; at += 1)
      edge.data.set(at % 16 < 8 ? [90, 90, 90, 255] : [160, 160, 160, 255], at * 4);
    const across = (sharpness: number) =>
      [7, 8].map((x) => pixelAt(adjust(edge, { sharpness }), x, 1)[0] ?? 0) as [number, number];
    expect(across(60)[1] - across(60)[0]).toBeGreaterThan(90);
    expect(across(-60)[1] - across(-60)[0]).toBeLessThan(60);
    expect(pixelAt(adjust(edge, { sharpness: 100 }), 1, 1)).toEqual([90, 90, 90, 255]);
  });

  test("the white under transparent pixels leaves no mark on what is beside them", () => {
    const cut: Rgba = { data: new Uint8Array(16 * 4 * 4), width: 16, height: 4 };
    for (let at = 0; at < 64; at += 1)
      cut.data.set(at % 16 < 8 ? [90, 90, 90, 255] : [255, 255, 255, 0], at * 4);
    expect(pixelAt(adjust(cut, { sharpness: 100 }), 7, 1)).toEqual([90, 90, 90, 255]);
  });
});

function crop(picture: Rgba, wanted: Partial<Parameters<typeof cropBand>[1]>): Rgba {
  const whole = { turns: 0, mirror: false, angle: 0, ...wanted };
  const { width, height } = rectOf(picture, whole);
  const data = new Uint8ClampedArray(width * height * 4);
  for (const band of bandsOf(height, 3)) data.set(cropBand(picture, whole, band), band.top * width * 4);
  return { data, width, height };
}

describe("cropping", () => {
  const picture = draw(9, 6, (x) => 255 - x);

  test("without an angle it moves pixels and changes none", () => {
    const part = crop(picture, { rect: { left: 2, top: 1, width: 5, height: 4 } });
    expect(pixelAt(part, 0, 0)).toEqual(pixelAt(picture, 2, 1));
    expect(pixelAt(part, 4, 3)).toEqual(pixelAt(picture, 6, 4));
    const turned = crop(picture, { turns: 1 });
    expect(turned).toMatchObject({ width: 6, height: 9 });
    expect(pixelAt(turned, 5, 0)).toEqual(pixelAt(picture, 0, 0));
    expect(pixelAt(turned, 0, 0)).toEqual(pixelAt(picture, 0, 5));
    expect(pixelAt(crop(picture, { mirror: true }), 0, 0)).toEqual(pixelAt(picture, 8, 0));
    expect(pixelAt(crop(picture, { turns: 3, mirror: true }), 5, 8)).toEqual(pixelAt(picture, 0, 0));
    const around = [1, 1, 1, 1].reduce((now, turns) => crop(now, { turns }), picture);
    expect(farthest(around, picture)).toBe(0);
    expect(farthest(crop(crop(picture, { turns: 2 }), { turns: 2 }), picture)).toBe(0);
  });

  test("a straightened picture of one colour keeps it everywhere, by default without an empty corner", () => {
    const data = new Uint8Array(40 * 30 * 4);
    for (let at = 0; at < 1_200; at += 1) data.set([10, 120, 240, 255], at * 4);
    for (const [angle, turns] of [
      [7.3, 0],
      [-31, 1],
      [45, 2],
      [-0.4, 3],
    ] as const) {
      const made = crop({ data, width: 40, height: 30 }, { angle, turns });
      for (let at = 0; at < made.data.length; at += 4)
        expect(Array.from(made.data.subarray(at, at + 4))).toEqual([10, 120, 240, 255]);
      expect(made.width / made.height).toBeCloseTo(turns % 2 === 0 ? 4 / 3 : 3 / 4, 0);
    }
  });

  test("the whole straightened picture has transparent corners", () => {
    const pose = { turns: 0, mirror: false, angle: 20 };
    const size = straightenedSize(picture, pose);
    const made = crop(picture, { ...pose, rect: { left: 0, top: 0, ...size } });
    expect(pixelAt(made, 0, 0)).toEqual([255, 255, 255, 0]);
    expect(isFilled(picture, pose, { left: 0, top: 0, ...size })).toBe(false);
    expect(isFilled(picture, pose, largestRect(picture, pose))).toBe(true);
  });

  test("the angle turns clockwise: what was in the middle of the right side goes down", () => {
    const dark = draw(101, 101);
    dark.data.fill(255);
    dark.data.set([0, 0, 0, 255], (50 * 101 + 90) * 4);
    const made = crop(dark, {
      angle: 30,
      rect: { left: 0, top: 0, ...straightenedSize(dark, { turns: 0, angle: 30 }) },
    });
    const at =
      made.data.findIndex((value, index) => index % 4 === 0 && value < 128 && made.data[index + 3] === 255) /
      4;
    const [x, y] = [(at % made.width) - made.width / 2, Math.floor(at / made.width) - made.height / 2];
    expect(Math.round((Math.atan2(y, x) * 180) / Math.PI / 5) * 5).toBe(30);
  });
});

describe("restoring", () => {
  test("full mask gives the base, none the picture, and between them both are mixed by what is visible", () => {
    const picture: Rgba = {
      data: Uint8Array.of(10, 20, 30, 255, 10, 20, 30, 255, 0, 0, 0, 255, 9, 9, 9, 40),
      width: 4,
      height: 1,
    };
    const base: Rgba = {
      data: Uint8Array.of(200, 100, 50, 7, 1, 2, 3, 4, 100, 200, 50, 255, 255, 255, 255, 0),
      width: 4,
      height: 1,
    };
    const made = restoreBand({ picture, base, mask: Uint8Array.of(255, 0, 51, 128) }, { top: 0, rows: 1 });
    expect(Array.from(made.subarray(0, 12))).toEqual([200, 100, 50, 7, 10, 20, 30, 255, 20, 40, 10, 255]);
    // The hidden white of the base has no part in the colour.
    expect(Array.from(made.subarray(12))).toEqual([9, 9, 9, 20]);
  });
});
