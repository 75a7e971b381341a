import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { admitInputs, gateModel } from "@atelier/server/gate";
import { modelPath } from "@atelier/server/models";
import { newId, parseConfig } from "@atelier/server/platform";
import { signResult } from "@atelier/server/provenance";
import type { Services } from "@atelier/server/services";
import { findMark, markPixels } from "@atelier/server/watermark";
import { readSample } from "@atelier/testing/pictures";
import { createTestServices } from "@atelier/testing/services";
import { startTestPostgres } from "@atelier/testing/postgres";
import sharp, { type Sharp } from "sharp";
import { quantile, show } from "./start-and-throughput.ts";

const samples = [
  "astronaut.png",
  "chelsea.png",
  "coffee.png",
  "rocket.jpg",
  "garment_dress.jpg",
  "garment_hoodie.jpg",
  "garment_tee.jpg",
  "garment_long_sleeve.jpg",
] as const;
const rounds = 10;

/** What becomes of a picture on its way, of its size. */
const ways: readonly (readonly [string, (png: Sharp, size: Size) => Sharp | Promise<Sharp>])[] = [
  ["as it is", (png) => png.png()],
  ...[95, 75, 50].map((quality) => [`JPEG ${quality}`, (png: Sharp) => png.jpeg({ quality })] as const),
  ["WebP 80", (png) => png.webp({ quality: 80 })],
  ["half the size", (png, { width }) => png.resize(Math.round(width / 2)).png()],
  ["half the size, JPEG 75", (png, { width }) => png.resize(Math.round(width / 2)).jpeg({ quality: 75 })],
  ["a tenth cut off", (png, size) => png.extract(cutOf(size)).png()],
  ...[0.3, 0.4, 0.5, 0.6, 0.75, 0.9, 1, 1.1, 1.3, 1.5].map(
    (scale) =>
      [
        `a tenth cut off, ${scale} of the size, JPEG 75`,
        (png: Sharp, size: Size) => scaled(png.extract(cutOf(size)), cutOf(size), scale),
      ] as const,
  ),
  ["a quarter of the area, JPEG 75", (png, size) => png.extract(quarterOf(size)).jpeg({ quality: 75 })],
  ["turned by one degree, JPEG 75", (png) => png.rotate(1, { background: "#888" }).jpeg({ quality: 75 })],
  ["mirrored", (png) => png.flop().png()],
  [
    "a fifth narrower",
    (png, { width, height }) => png.resize(Math.round(width * 0.8), height, { fit: "fill" }),
  ],
  [
    "screenshot: on a page with margins, JPEG 85",
    (png) =>
      png.extend({ top: 91, bottom: 57, left: 133, right: 79, background: "#f4f4f4" }).jpeg({ quality: 85 }),
  ],
];

/** Each side is rounded by itself. */
async function scaled(picture: Sharp, { width, height }: Size, scale: number): Promise<Sharp> {
  const size = [Math.round(width * scale), Math.round(height * scale)] as const;
  return sharp(await picture.png().toBuffer())
    .resize(...size, { fit: "fill" })
    .jpeg({ quality: 75 });
}

interface Size {
  readonly width: number;
  readonly height: number;
}

const cutOf = ({ width, height }: Size) => ({
  left: Math.round(width * 0.037),
  top: Math.round(height * 0.061),
  width: Math.round(width * 0.95),
  height: Math.round(height * 0.9),
});

const quarterOf = ({ width, height }: Size) => ({
  left: Math.round(width * 0.23),
  top: Math.round(height * 0.29),
  width: Math.round(width / 2),
  height: Math.round(height / 2),
});

/** What a manifest and a watermark cost, what is found after the ways of a picture, and how long the gate looks where its model is given. */
export async function benchProvenance(model: string | undefined): Promise<string[]> {
  const postgres = await startTestPostgres();
  const fixture = await createTestServices();
  try {
    const costs = await timeMarks(fixture.services);
    return [...costs, ...(await countFound()), ...(await timeGate(fixture.services, model))];
  } finally {
    await fixture.close();
    await postgres.stop();
  }
}

async function rawOf(picture: Sharp) {
  const { data, info } = await picture
    .toColourspace("srgb")
    .removeAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  return { data, widthPx: info.width, heightPx: info.height, channels: info.channels };
}

const pngOf = ({ data, widthPx: width, heightPx: height, channels }: Awaited<ReturnType<typeof rawOf>>) =>
  sharp(data, { raw: { width, height, channels } }).png().toBuffer();

async function timeMarks(services: Services): Promise<string[]> {
  const lines: string[] = [];
  for (const width of [1_200, 2_400]) {
    const marks: number[] = [];
    const manifests: number[] = [];
    const processor: number[] = [];
    const pixels = await rawOf(sharp(await readSample("coffee.png")).resize(width));
    const megapixels = (pixels.widthPx * pixels.heightPx) / 1e6;
    const bytes = await pngOf(pixels);
    const madeFile = { path: path.join(services.env.ATELIER_DATA_DIR, "made.png"), mime: "image/png" };
    await writeFile(madeFile.path, bytes);
    for (let round = 0; round <= rounds; round += 1) {
      const copy = { ...pixels, data: Buffer.from(pixels.data) };
      const id = newId();
      const began = process.cpuUsage();
      const beganMs = performance.now();
      markPixels(copy, round);
      const markedMs = performance.now();
      await signResult(services, bytes, {
        id,
        jobId: newId(),
        kind: "text_to_image",
        mime: "image/png",
        nothingGenerated: false,
        isMarked: true,
        madeFile,
        inputFiles: {},
        keyOf: () => "none",
      });
      // The first round loads and makes the key.
      if (round === 0) continue;
      marks.push((markedMs - beganMs) / megapixels);
      manifests.push((performance.now() - markedMs) / megapixels);
      const used = process.cpuUsage(began);
      processor.push((used.user + used.system) / 1_000 / megapixels);
    }
    const both = quantile(marks, 0.5) + quantile(manifests, 0.5);
    lines.push(
      `${show(megapixels, 2)} megapixels, p50 ms a megapixel: watermark ${show(quantile(marks, 0.5), 1)}, manifest ${show(quantile(manifests, 0.5), 1)}, both ${show(both, 1)} (goal 60); both in processor time ${show(quantile(processor, 0.5), 1)}`,
    );
  }
  return lines;
}

async function countFound(): Promise<string[]> {
  const found = new Map<string, number>();
  const alike: Likeness[] = [];
  let unmarked = 0;
  let falsely = 0;
  for (const [at, name] of samples.entries()) {
    const pixels = await rawOf(sharp(await readSample(name)));
    const { widthPx: width, heightPx: height } = pixels;
    const unchanged = Buffer.from(pixels.data);
    const before = await pngOf(pixels);
    const id = 0x1234_5670 + at;
    markPixels(pixels, id);
    const after = await pngOf(pixels);
    alike.push(compare(unchanged, pixels));
    for (const [way, make] of ways) {
      const seen = await findMark(await (await make(sharp(after), { width, height })).toBuffer());
      found.set(way, (found.get(way) ?? 0) + Number(seen?.id === id));
      unmarked += 1;
      const plain = await (await make(sharp(before), { width, height })).toBuffer();
      falsely += Number((await findMark(plain)) !== null);
    }
  }
  const [decibels, ssims] = [alike.map((one) => one.decibels), alike.map((one) => one.ssim)];
  return [
    `PSNR ${show(Math.min(...decibels), 1)} to ${show(Math.max(...decibels), 1)} dB, SSIM ${show(Math.min(...ssims), 4)} to ${show(Math.max(...ssims), 4)}`,
    ...[...found].map(([way, count]) => `${way}: found in ${count} of ${samples.length}`),
    // Where none of n is seen, at most 3 / n are there with a confidence of 95 %.
    `pictures without a mark in which one is found: ${falsely} of ${unmarked} (with none, below ${show(300 / unmarked, 1)} % by 95 %)`,
  ];
}

interface Likeness {
  readonly decibels: number;
  readonly ssim: number;
}

const windowPx = 8;

/** PSNR, and the mean SSIM of the green of windows of 8 px. */
function compare(
  before: Buffer,
  { data, widthPx, heightPx, channels }: Awaited<ReturnType<typeof rawOf>>,
): Likeness {
  const squares = data.reduce((sum, value, at) => sum + (value - (before[at] ?? 0)) ** 2, 0);
  const ssims: number[] = [];
  for (let top = 0; top + windowPx <= heightPx; top += windowPx / 2)
    for (let left = 0; left + windowPx <= widthPx; left += windowPx / 2) {
      const places = Array.from(
        { length: windowPx ** 2 },
        (_, at) => ((top + Math.floor(at / windowPx)) * widthPx + left + (at % windowPx)) * channels + 1,
      );
      ssims.push(ssimOf(places.map((at) => [before[at] ?? 0, data[at] ?? 0])));
    }
  return {
    decibels: 10 * Math.log10(255 ** 2 / (squares / data.length)),
    ssim: ssims.reduce((sum, ssim) => sum + ssim, 0) / ssims.length,
  };
}

function ssimOf(pairs: readonly (readonly [number, number])[]): number {
  const mean = (of: (pair: readonly [number, number]) => number) =>
    pairs.reduce((sum, pair) => sum + of(pair), 0) / pairs.length;
  const [one, other] = [mean(([a]) => a), mean(([, b]) => b)];
  const [oneSpread, otherSpread] = [mean(([a]) => (a - one) ** 2), mean(([, b]) => (b - other) ** 2)];
  const both = mean(([a, b]) => (a - one) * (b - other));
  const [low, high] = [(0.01 * 255) ** 2, (0.03 * 255) ** 2];
  return (
    ((2 * one * other + low) * (2 * both + high)) /
    ((one ** 2 + other ** 2 + low) * (oneSpread + otherSpread + high))
  );
}

async function timeGate(services: Services, model: string | undefined): Promise<string[]> {
  if (model === undefined) return [];
  const target = modelPath(services.env, gateModel);
  await mkdir(path.dirname(target), { recursive: true });
  await cp(model, target);
  const config = parseConfig({ safety: { refuseInputs: { upscale: 1 } } });
  const times: number[] = [];
  for (let round = 0; round <= rounds; round += 1)
    for (const name of samples) {
      const file = path.join(services.env.ATELIER_DATA_DIR, name);
      await writeFile(file, await readSample(name));
      const bytes = await readFile(file);
      const beganMs = performance.now();
      await admitInputs(
        { ...services, config },
        { id: newId(), ownerId: "none", kind: "upscale" },
        { image: file },
      );
      if (round > 0 && bytes.length > 0) times.push(performance.now() - beganMs);
    }
  return [
    `gate, ms a picture (${times.length} looks): p50 ${show(quantile(times, 0.5), 0)}, p95 ${show(quantile(times, 0.95), 0)}`,
  ];
}
