import path from "node:path";
import sharp, { type Region } from "sharp";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { inAll } from "@atelier/testing/cases";
import { createBench, sample } from "../fixtures/run-bench.ts";
import { psnr } from "../fixtures/psnr.ts";

const raw = (file: string) => sharp(file).raw().toBuffer();

async function drawMask(file: string, size: { width: number; height: number }, shapes: string) {
  const { width, height } = size;
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"><rect width="100%" height="100%"/>${shapes}</svg>`;
  await sharp(Buffer.from(svg)).flatten().toColourspace("b-w").png().toFile(file);
  return file;
}

async function meanOf(file: string, region: Region): Promise<number> {
  const bytes = await sharp(file).extract(region).raw().toBuffer();
  return bytes.reduce((sum, value) => sum + value, 0) / bytes.length;
}

/** Counts pixels that differ outside the mask. */
async function differencesOutside(before: string, after: string, mask: string): Promise<number> {
  const [a, b, allowed] = await Promise.all([raw(before), raw(after), raw(mask)]);
  const channels = a.length / allowed.length;
  expect(b.length).toBe(a.length);
  let count = 0;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i] && !allowed[Math.floor(i / channels)]) count++;
  return count;
}

describe("inpaint", () => {
  let bench: Awaited<ReturnType<typeof createBench>>;
  beforeAll(async () => {
    bench = await createBench();
  });
  afterAll(() => bench.close());

  it("D1: removes the rocket and leaves the sky, every pixel outside the mask untouched", async () => {
    const image = path.join(bench.dir, "rocket.png");
    await sharp(sample("rocket.jpg")).toFile(image);
    const mask = await drawMask(
      path.join(bench.dir, "mask.png"),
      { width: 640, height: 427 },
      '<rect x="310" y="70" width="34" height="280" fill="white"/>',
    );
    const { output, maskPath, fractions, previews } = await bench.run("inpaint", { image, mask });
    expect(await differencesOutside(image, output.path, maskPath)).toBe(0);
    const region = { left: 312, top: 150, width: 18, height: 150 };
    const sky = await meanOf(image, { ...region, left: 250 });
    expect(await meanOf(image, region)).toBeGreaterThan(sky + 20);
    expect(Math.abs((await meanOf(output.path, region)) - sky)).toBeLessThan(12);
    expect(new Set(fractions).size).toBeGreaterThanOrEqual(5);
    expect(fractions).toEqual(fractions.toSorted((x, y) => x - y));
    expect(previews.length).toBeGreaterThanOrEqual(2);
  });

  it("repairs a hole in a pattern better than blurring over it", async () => {
    const size = { width: 300, height: 240 };
    const image = path.join(bench.dir, "pattern.png");
    const pixels = Buffer.alloc(size.width * size.height * 3);
    for (let i = 0; i < pixels.length; i++) {
      const pixel = Math.floor(i / 3);
      const isDark =
        (Math.floor((pixel % size.width) / 6) + Math.floor(Math.floor(pixel / size.width) / 6)) % 2;
      pixels[i] = isDark ? 40 : 215;
    }
    await sharp(pixels, { raw: { ...size, channels: 3 } })
      .png()
      .toFile(image);
    const mask = await drawMask(
      path.join(bench.dir, "pattern-mask.png"),
      size,
      '<circle cx="150" cy="120" r="26" fill="white"/>',
    );
    const { output } = await bench.run("inpaint", { image, mask });
    const blurred = await sharp(image).blur(12).raw().toBuffer();
    expect(psnr(await raw(output.path), pixels)).toBeGreaterThan(psnr(blurred, pixels) + 6);
  });

  it("gives the same bytes on each run", async () => {
    const mask = await drawMask(
      path.join(bench.dir, "twice.png"),
      { width: 451, height: 300 },
      '<circle cx="90" cy="60" r="25" fill="white"/>',
    );
    const inputs = { image: sample("chelsea.png"), mask };
    const [first, second] = [await bench.run("inpaint", inputs), await bench.run("inpaint", inputs)];
    expect((await raw(first.output.path)).equals(await raw(second.output.path))).toBe(true);
  });

  it("keeps the rest of a large picture with alpha, though it works at a smaller scale", inAll, async () => {
    const size = { width: 1_800, height: 1_200 };
    const image = path.join(bench.dir, "large.png");
    const disc = Buffer.from(
      '<svg width="1800" height="1200"><ellipse cx="900" cy="600" rx="860" ry="570" fill="white"/></svg>',
    );
    await sharp(sample("coffee.png"))
      .resize(size.width, size.height)
      .ensureAlpha()
      .composite([{ input: disc, blend: "dest-in" }])
      .toFile(image);
    // As stored pictures are: white where nothing is to be seen.
    const pixels = await raw(image);
    for (let i = 0; i < pixels.length; i += 4) if (pixels[i + 3] === 0) pixels.fill(255, i, i + 3);
    await sharp(pixels, { raw: { ...size, channels: 4 } })
      .png()
      .toFile(image);
    const mask = await drawMask(
      path.join(bench.dir, "large-mask.png"),
      size,
      '<circle cx="860" cy="640" r="310" fill="white"/>',
    );
    const { output, maskPath } = await bench.run("inpaint", { image, mask });
    expect(await differencesOutside(image, output.path, maskPath)).toBe(0);
    const [before, after] = await Promise.all([raw(image), raw(output.path)]);
    const middle = (640 * size.width + 860) * 4;
    expect(after.subarray(middle, middle + 3)).not.toEqual(before.subarray(middle, middle + 3));
    for (let i = 3; i < before.length; i += 4) if (before[i] !== after[i]) throw new Error("alpha changed");
  });

  it("D1 counts a mask from half of white on, and a darker one as empty", async () => {
    const image = sample("chelsea.png");
    const draw = (grey: number) =>
      drawMask(
        path.join(bench.dir, `grey-${grey}.png`),
        { width: 451, height: 300 },
        `<rect x="60" y="60" width="20" height="20" fill="rgb(${grey},${grey},${grey})"/>`,
      );
    const { output, maskPath } = await bench.run("inpaint", { image, mask: await draw(128) });
    expect(await differencesOutside(image, output.path, maskPath)).toBe(0);
    const dark = bench.run("inpaint", { image, mask: await draw(127) });
    await expect(dark).rejects.toMatchObject({ code: "mask_empty" });
  });

  it("refuses a mask of another size, an empty one and one that covers everything", async () => {
    const image = sample("chelsea.png");
    const size = { width: 451, height: 300 };
    const other = await drawMask(
      path.join(bench.dir, "other.png"),
      { width: 300, height: 451 },
      '<rect width="50" height="50" fill="white"/>',
    );
    const empty = await drawMask(path.join(bench.dir, "empty.png"), size, "");
    const full = await drawMask(
      path.join(bench.dir, "full.png"),
      size,
      '<rect width="451" height="300" fill="white"/>',
    );
    await expect(bench.run("inpaint", { image, mask: other })).rejects.toMatchObject({ code: "mask_size" });
    await expect(bench.run("inpaint", { image, mask: empty })).rejects.toMatchObject({ code: "mask_empty" });
    await expect(bench.run("inpaint", { image, mask: full })).rejects.toMatchObject({ code: "bad_request" });
  });
});
