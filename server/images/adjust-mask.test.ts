import { monitorEventLoopDelay } from "node:perf_hooks";
import sharp from "sharp";
import { describe, expect, test } from "vitest";
import { inAll } from "@atelier/testing/cases";
import { adjustMask, type MaskChange } from "./adjust-mask.ts";

const size = { width: 21, height: 15 } as const;

/** A mask from the marked pixels. */
function drawMask(isMarked: (x: number, y: number) => boolean): Promise<Buffer> {
  const data = Buffer.from(
    Array.from({ length: size.width * size.height }, (_, at) =>
      isMarked(at % size.width, Math.floor(at / size.width)) ? 255 : 0,
    ),
  );
  return sharp(data, { raw: { ...size, channels: 1 } })
    .png()
    .toBuffer();
}

async function change(mask: Buffer, operate: MaskChange["operate"], reachPx: number) {
  const png = await adjustMask({ ownerId: "o", bytes: mask, operate, reachPx });
  const { data, info } = await sharp(png).raw().toBuffer({ resolveWithObject: true });
  expect(info).toMatchObject({ ...size, channels: 4 });
  return (x: number, y: number) => [...data.subarray((y * size.width + x) * 4).subarray(0, 4)];
}

const marked = [255, 203, 0, 186];
const clear = [0, 0, 0, 0];

/** Every pixel as the definition says: within the disc around a marked one. */
function isNear(isMarked: (x: number, y: number) => boolean, reachPx: number) {
  return (x: number, y: number) => {
    for (let dy = -reachPx; dy <= reachPx; dy += 1) {
      const half = Math.round(Math.sqrt(reachPx ** 2 - dy ** 2));
      for (let dx = -half; dx <= half; dx += 1) {
        const [px, py] = [x + dx, y + dy];
        const isInside = px >= 0 && px < size.width && py >= 0 && py < size.height;
        if (isInside && isMarked(px, py)) return true;
      }
    }
    return false;
  };
}

const shapes: readonly [string, (x: number, y: number) => boolean][] = [
  ["a point", (x, y) => x === 10 && y === 7],
  ["a corner and a bar at the edge", (x, y) => (x < 2 && y < 2) || x === size.width - 1],
  ["stripes", (x, y) => x % 7 === 0 && y > 4],
  ["nothing", () => false],
];

describe.each(shapes)("D2 a mask of %s", (_name, isMarked) => {
  test.each([0, 1, 3, 5])("grows by %i and shrinks by as much", async (reachPx) => {
    const near = isNear(isMarked, reachPx);
    const far = isNear((x, y) => !isMarked(x, y), reachPx);
    const [grown, shrunk] = [
      await change(await drawMask(isMarked), "expand", reachPx),
      await change(await drawMask(isMarked), "shrink", reachPx),
    ];
    for (let y = 0; y < size.height; y += 1)
      for (let x = 0; x < size.width; x += 1) {
        expect([x, y, grown(x, y)]).toEqual([x, y, near(x, y) ? marked : clear]);
        expect([x, y, shrunk(x, y)]).toEqual([x, y, far(x, y) ? clear : marked]);
      }
  });

  test("is reversed", async () => {
    const reversed = await change(await drawMask(isMarked), "reverse", 5);
    for (const [x, y] of [
      [0, 0],
      [10, 7],
      [20, 14],
    ] as const)
      expect(reversed(x, y)).toEqual(isMarked(x, y) ? clear : marked);
  });
});

test("D2 a mask of too many single pixels is refused instead of holding the process up", async () => {
  const [width, height] = [2_000, 2_000];
  const data = Buffer.alloc(width * height, Buffer.from([255, 0]));
  const bytes = await sharp(data, { raw: { width, height, channels: 1 } })
    .png()
    .toBuffer();
  const adjusted = adjustMask({ ownerId: "o", bytes, operate: "expand", reachPx: 100 });
  await expect(adjusted).rejects.toMatchObject({ code: "upload_too_complex" });
});

test("D2 the process answers others while masks of 49 megapixels are changed", inAll, async () => {
  const black = { width: 7_000, height: 7_000, channels: 3 as const, background: "black" };
  const bytes = await sharp({ create: black }).png().toBuffer();
  /** The longest time without an answer, as a part of the whole. */
  async function longestPart(operate: MaskChange["operate"]): Promise<number> {
    const delays = monitorEventLoopDelay({ resolution: 10 });
    delays.enable();
    const beganMs = performance.now();
    await adjustMask({ ownerId: "o", bytes, operate, reachPx: 5 });
    const tookMs = performance.now() - beganMs;
    delays.disable();
    return delays.max / 1e6 / tookMs;
  }
  for (const operate of ["reverse", "shrink"] as const) {
    // In one piece it would be almost all of the time, each time; the machine itself stands still once.
    let least = Infinity;
    for (let run = 0; run < 3 && least >= 0.5; run += 1) least = Math.min(least, await longestPart(operate));
    expect(least).toBeLessThan(0.5);
  }
});
