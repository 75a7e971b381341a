import { describe, expect, test } from "vitest";
import { previewParts } from "./previews.ts";

const stage = { width: 1_200, height: 800 };
const photo = { widthPx: 4_000, heightPx: 3_000 };
const pixelsOf = (parts: ReturnType<typeof previewParts>) =>
  parts.reduce((sum, { outWidth, outHeight }) => sum + outWidth * outHeight, 0);
const fit = { scale: 0.25, x: 100, y: 25 };

describe("the parts of a preview", () => {
  test("a picture that is seen whole is computed once, at the size of the screen", () => {
    expect(previewParts({ picture: photo, view: fit, stage, density: 1 })).toEqual([
      { left: 0, top: 0, width: 4_000, height: 3_000, outWidth: 1_000, outHeight: 750 },
    ]);
  });

  test("at 100 % what is seen has each of its pixels, so that it is what the worker will make", () => {
    const view = { scale: 1, x: -500, y: -300 };
    const [around, seen] = previewParts({ picture: photo, view, stage, density: 1 });
    expect(seen).toEqual({ left: 498, top: 298, width: 1_204, height: 804, outWidth: 1_204, outHeight: 804 });
    expect(around).toMatchObject({ left: 0, width: 4_000 });
  });

  test("a small picture is never computed larger than it is", () => {
    const picture = { widthPx: 100, heightPx: 80 };
    const view = { scale: 8, x: 0, y: 0 };
    expect(previewParts({ picture, view, stage, density: 2 })).toEqual([
      { left: 0, top: 0, width: 100, height: 80, outWidth: 100, outHeight: 80 },
    ]);
  });

  test("the work depends on the screen, not on the picture, however fine and large both are", () => {
    const huge = { widthPx: 16_000, heightPx: 12_000 };
    for (const scale of [0.01, 0.1, 0.7, 1, 3])
      for (const at of [0, -2_000, -20_000])
        for (const picture of [photo, huge])
          expect(
            pixelsOf(previewParts({ picture, view: { scale, x: at, y: at }, stage, density: 2 })),
          ).toBeLessThanOrEqual(1_210_000);
  });
});
