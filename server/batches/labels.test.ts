import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { inspectEnv } from "../platform/index.ts";
import { openLabels, writable } from "./labels.ts";

test("a label is one line, without what the fonts have no shape for", () => {
  expect(writable("Seed 7,\n Größe & «Сила» λ 🐈 7 €")).toBe(
    "Seed 7, Größe & «Сила» λ 7 €".replace("λ 7", "λ  7"),
  );
  expect(writable("猫")).toBe("");
});

/** What the drawing library knows of fonts belongs to its process, so a process without any font of the machine draws. */
test("labels are drawn without a font of the machine, whose packed files are unpacked once", async ({
  onTestFinished,
}) => {
  const folder = await mkdtemp(path.join(os.tmpdir(), "labels-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const noFonts = path.join(folder, "none.conf");
  await writeFile(noFonts, `<fontconfig><cachedir>${folder}</cachedir></fontconfig>`);
  const code = `
    import sharp from "sharp";
    import { openLabels } from "./batches/labels.ts";
    const draw = await openLabels({ env: { ATELIER_DATA_DIR: ${JSON.stringify(folder)} } });
    const widths = [];
    for (const text of ["iiiiii", "wwwwww", "гггггг", "шшшшшш", "<&>"])
      widths.push((await sharp(await draw(text, { widthPx: 200, heightPx: 40 })).metadata()).width);
    const long = await sharp(await draw("word ".repeat(60), { widthPx: 90, heightPx: 30 })).metadata();
    const filled = [];
    for (const text of ["i".repeat(36_000), "' ".repeat(18_000), "a\u0316\u0301".repeat(12_000)])
      filled.push(await sharp(await draw(text, { widthPx: 192, heightPx: 200 })).metadata());
    console.log(JSON.stringify([...widths, long.width, long.height, ...filled.map(({ height }) => height)]));`;
  const draw = async (): Promise<number[]> => {
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", code], {
      cwd: path.join(import.meta.dirname, ".."),
      env: { NODE_ENV: "test", PATH: process.env["PATH"], FONTCONFIG_FILE: noFonts },
    });
    return JSON.parse(stdout);
  };
  const first = await draw();
  const [i = 0, w = 0, narrow = 0, wide = 0, signs = 0, width = 0, height = 0, ...filled] = first;
  // Boxes in place of letters would be of one width.
  expect(w).toBeGreaterThan(2 * i);
  expect(wide).toBeGreaterThan(1.3 * narrow);
  expect(signs).toBeGreaterThan(0);
  expect([width <= 90, height <= 30]).toEqual([true, true]);
  // Very long texts fill their box, and are not laid out beyond it, which would take minutes.
  expect(filled).toEqual([200, 200, 200]);
  const fonts = await readdir(path.join(folder, "tmp/fonts"));
  expect(fonts.every((name) => name.endsWith(".ttf"))).toBe(true);
  expect(await draw()).toEqual(first);
});

test("fonts that a full or closed disk kept from being unpacked are there once it takes files again", async ({
  onTestFinished,
}) => {
  const folder = await mkdtemp(path.join(os.tmpdir(), "labels-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const { env } = inspectEnv({ ATELIER_DATA_DIR: folder });
  const services = { env };
  const fonts = path.join(folder, "tmp/fonts");
  await mkdir(path.dirname(fonts));
  await writeFile(fonts, "in the way");
  await expect(openLabels(services)).rejects.toThrow("EEXIST");
  for (const inTheWay of [fonts, path.join(fonts, "noto-sans-5.3.0-latin.ttf")]) {
    await rm(inTheWay);
    await openLabels(services);
    expect(await readdir(fonts)).toHaveLength(6);
  }
});
