import { writeFile } from "node:fs/promises";
import path from "node:path";
import sharp from "sharp";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { inAll } from "@atelier/testing/cases";
import { createBench, sample } from "./fixtures/run-bench.ts";
import { psnr } from "./fixtures/psnr.ts";

const pixels = (file: string) => sharp(file).removeAlpha().raw().toBuffer();

describe("upscale", () => {
  let bench: Awaited<ReturnType<typeof createBench>>;
  beforeAll(async () => {
    bench = await createBench();
  });
  afterAll(() => bench.close());

  it("D1: doubles a picture closer to the original than Lanczos does", async () => {
    const half = path.join(bench.dir, "half.png");
    await sharp(sample("astronaut.png")).resize(256, 256).toFile(half);
    const original = await pixels(sample("astronaut.png"));
    const { output, fractions, stages, previews } = await bench.run(
      "upscale",
      { image: half },
      { params: { scale: 2 } },
    );
    const lanczos = psnr(await sharp(half).removeAlpha().resize(512, 512).raw().toBuffer(), original);
    const ours = psnr(await pixels(output.path), original);
    expect(lanczos).toBeGreaterThan(27);
    expect(lanczos).toBeLessThan(28);
    expect(ours).toBeGreaterThanOrEqual(29.5);
    expect(output.facts).toMatchObject({ model: "medium-x2" });
    expect(new Set(fractions).size).toBeGreaterThanOrEqual(5);
    expect(fractions).toEqual(fractions.toSorted((a, b) => a - b));
    expect(stages.at(-1)).toBe("writing");
    expect(previews.length).toBeGreaterThan(0);
    expect((await sharp(previews.at(-1)).metadata()).format).toBe("jpeg");
  });

  it("keeps the alpha channel, enlarged with Lanczos", async () => {
    const cut = path.join(bench.dir, "cut.png");
    const disc = Buffer.from(
      '<svg width="90" height="70"><circle cx="45" cy="35" r="30" fill="white"/></svg>',
    );
    await sharp(sample("coffee.png"))
      .resize(90, 70, { fit: "fill" })
      .ensureAlpha()
      .composite([{ input: disc, blend: "dest-in" }])
      .toFile(cut);
    const { output } = await bench.run("upscale", { image: cut });
    const { data, info } = await sharp(output.path)
      .extractChannel(3)
      .raw()
      .toBuffer({ resolveWithObject: true });
    const expected = await sharp(cut).extractChannel(3).resize(180, 140, { fit: "fill" }).raw().toBuffer();
    expect(info).toMatchObject({ width: 180, height: 140 });
    expect(data.equals(expected)).toBe(true);
    expect(new Set(data).size).toBeGreaterThan(10);
  });

  it("uses the small network above one megapixel", inAll, async () => {
    const big = path.join(bench.dir, "big.png");
    await sharp(sample("coffee.png")).resize(1_230, 820).toFile(big);
    const { output } = await bench.run("upscale", { image: big });
    expect(output.facts).toMatchObject({ model: "slim-x2", tileCount: 20 });
    expect(await sharp(output.path).metadata()).toMatchObject({ width: 2_460, height: 1_640, format: "png" });
  });

  it("says that a damaged file cannot be read", async () => {
    const image = path.join(bench.dir, "damaged.png");
    await writeFile(image, "no picture");
    await expect(bench.run("upscale", { image })).rejects.toMatchObject({
      code: "upload_unreadable",
    });
  });
});
