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
const ways: readonly (readonly [string, (png: Sharp, size: Size) => Sharp])[] = [
  ["as it is", (png) => png.png()],
  ...[95, 85, 75, 65, 50].map(
    (quality) => [`JPEG ${quality}`, (png: Sharp) => png.jpeg({ quality })] as const,
  ),
  ["WebP 80", (png) => png.webp({ quality: 80 })],
  ["half the size", (png, { width }) => png.resize(Math.round(width / 2)).png()],
  ["three quarters of the size", (png, { width }) => png.resize(Math.round(width * 0.75)).png()],
  ["a tenth cut off", (png, size) => png.extract(cutOf(size)).png()],
  ["a tenth cut off, JPEG 75", (png, size) => png.extract(cutOf(size)).jpeg({ quality: 75 })],
  ["half the size, JPEG 75", (png, { width }) => png.resize(Math.round(width / 2)).jpeg({ quality: 75 })],
  [
    "screenshot: on a page with margins, JPEG 85",
    (png) =>
      png.extend({ top: 91, bottom: 57, left: 133, right: 79, background: "#f4f4f4" }).jpeg({ quality: 85 }),
  ],
];

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
    const pixels = await rawOf(sharp(await readSample("coffee.png")).resize(width));
    const megapixels = (pixels.widthPx * pixels.heightPx) / 1e6;
    const bytes = await pngOf(pixels);
    const madeFile = { path: path.join(services.env.ATELIER_DATA_DIR, "made.png"), mime: "image/png" };
    await writeFile(madeFile.path, bytes);
    for (let round = 0; round <= rounds; round += 1) {
      const copy = { ...pixels, data: Buffer.from(pixels.data) };
      const id = newId();
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
    }
    const both = quantile(marks, 0.5) + quantile(manifests, 0.5);
    lines.push(
      `${show(megapixels, 2)} megapixels, p50 ms a megapixel: watermark ${show(quantile(marks, 0.5), 1)}, manifest ${show(quantile(manifests, 0.5), 1)}, both ${show(both, 1)} (goal 60)`,
    );
  }
  return lines;
}

async function countFound(): Promise<string[]> {
  const found = new Map<string, number>();
  let unmarked = 0;
  let falsely = 0;
  for (const [at, name] of samples.entries()) {
    const pixels = await rawOf(sharp(await readSample(name)));
    const { widthPx: width, heightPx: height } = pixels;
    const before = await pngOf(pixels);
    const id = 0x1234_5670 + at;
    markPixels(pixels, id);
    const after = await pngOf(pixels);
    for (const [way, make] of ways) {
      const seen = await findMark(await make(sharp(after), { width, height }).toBuffer());
      found.set(way, (found.get(way) ?? 0) + Number(seen?.id === id));
      unmarked += 1;
      falsely += Number((await findMark(await make(sharp(before), { width, height }).toBuffer())) !== null);
    }
  }
  return [
    ...[...found].map(([way, count]) => `${way}: found in ${count} of ${samples.length}`),
    `pictures without a mark in which one is found: ${falsely} of ${unmarked}`,
  ];
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
