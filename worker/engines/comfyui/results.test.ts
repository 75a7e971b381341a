import { randomBytes } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import sharp, { type Sharp } from "sharp";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { InputRole } from "@atelier/server/engines";
import { isAppError } from "@atelier/server/platform";
import { forCasesInTurn } from "@atelier/testing/cases";
import { grownBy, pngChunk, withPngChunk, withTextBombs } from "@atelier/testing/pictures";
import { preparePictures } from "./canvas.ts";
import { newContext, openScene, type Scene } from "./fixtures/open-scene.ts";
import { featherInside } from "../paste.ts";
import { forwardPreviews, requirePixels } from "./results.ts";

describe("forward previews", () => {
  const paint = (background: string, sidePx = 64) =>
    sharp({ create: { width: sidePx, height: sidePx, channels: 3, background } })
      .png()
      .toBuffer();

  async function colorOf(preview: Uint8Array): Promise<number[]> {
    const { channels } = await sharp(preview).stats();
    return channels.map(({ mean }) => Math.round(mean / 255));
  }

  test("A12 a preview of many megabytes is dropped, and one that is no picture holds up none", async () => {
    const { context, previews } = newContext();
    const forward = forwardPreviews(context);
    const noise = { width: 1_024, height: 1_024, channels: 3 as const };
    const large = await sharp(randomBytes(1_024 * 1_024 * 3), { raw: noise })
      .png()
      .toBuffer();
    forward(large);
    const small = await paint("#00f");
    forward(small);
    await vi.waitUntil(() => previews.length > 0);
    expect(await Promise.all(previews.map(colorOf))).toEqual([[0, 0, 1]]);
    forward(Buffer.from("no picture"));
    await vi.waitUntil(() => {
      forward(small);
      return previews.length > 1;
    });
  });

  test("S6 A12 a preview with texts that fill the memory is shown without them", async () => {
    const { context, previews } = newContext();
    const bombs = withTextBombs(await paint("#f00"));
    const show = async () => {
      forwardPreviews(context)(bombs);
      await vi.waitUntil(() => previews.length > 0);
    };
    expect(await grownBy(show)).toBeLessThan(150);
    expect(await Promise.all(previews.map(colorOf))).toEqual([[1, 0, 0]]);
  });
});

describe("results", () => {
  let scene: Scene;
  beforeEach(async () => {
    scene = await openScene();
  });
  afterEach(() => scene.close());

  interface Drawn {
    readonly width: number;
    readonly height: number;
  }

  /** A picture in which no two neighbours are alike. */
  async function drawPicture(
    role: InputRole,
    { width, height }: Drawn,
    channels: 3 | 4 = 3,
  ): Promise<string> {
    const data = Buffer.alloc(width * height * channels);
    for (let i = 0; i < data.length; i++) data[i] = (i * 37 + Math.floor(i / (width * channels)) * 11) % 251;
    const file = path.join(scene.folder, role);
    await sharp(data, { raw: { width, height, channels } }).png().toFile(file);
    return file;
  }

  async function drawMask(
    size: Drawn,
    marked: { left: number; top: number } & Drawn,
    grey = 255,
  ): Promise<string> {
    const file = path.join(scene.folder, "mask");
    const filled = { ...marked, channels: 3 as const, background: { r: grey, g: grey, b: grey } };
    const spot = await sharp({ create: filled }).png().toBuffer();
    const ground = { ...size, channels: 3 as const, background: "#000000" };
    const picture = sharp({ create: ground }).composite([
      { input: spot, left: marked.left, top: marked.top },
    ]);
    await picture.toColourspace("b-w").png().toFile(file);
    return file;
  }

  async function readRaw(file: string) {
    const { data, info } = await sharp(file)
      .toColourspace("srgb")
      .raw()
      .toBuffer({ resolveWithObject: true });
    return { data, width: info.width, height: info.height, channels: info.channels };
  }

  /** Pixels that differ, by whether the mask is black there. */
  async function differences(before: string, after: string, mask: string) {
    const [old, made] = [await readRaw(before), await readRaw(after)];
    expect(made).toMatchObject({ width: old.width, height: old.height, channels: old.channels });
    const { data: share } = await sharp(mask).extractChannel(0).raw().toBuffer({ resolveWithObject: true });
    const count = { outside: 0, inside: 0 };
    for (let at = 0; at < old.width * old.height; at++) {
      const span = [at * old.channels, (at + 1) * old.channels] as const;
      if (old.data.subarray(...span).equals(made.data.subarray(...span))) continue;
      count[share[at] === 0 ? "outside" : "inside"] += 1;
    }
    return count;
  }

  test("D3 a hard edge rises over a few pixels inside the mask, a thin stroke keeps its weight, outside nothing changes", () => {
    const [width, height] = [40, 20];
    const data = new Uint8Array(width * height);
    const mark = (x: number, y: number) => void (data[y * width + x] = 255);
    for (let y = 5; y < 15; y++) for (let x = 5; x < 20; x++) mark(x, y);
    for (let y = 0; y < height; y++) mark(30, y);
    const made = featherInside({ data, width, height });
    const row = [...made.data.subarray(10 * width, 11 * width)];
    expect(row.slice(3, 12)).toEqual([0, 0, 64, 128, 191, 255, 255, 255, 255]);
    expect([row[29], row[30], row[31]]).toEqual([0, 255, 0]);
    expect(made.data.every((value, at) => data[at] !== 0 || value === 0)).toBe(true);
    const soft = { data: data.map((value, at) => (at % 7 === 0 ? 100 : value)), width, height };
    expect(featherInside(soft)).toBe(soft);
    const whole = { data: new Uint8Array(width * height).fill(255), width, height };
    expect(featherInside(whole).data.every((value) => value === 255)).toBe(true);
  });

  test.each(["upscale", "restore_faces"] as const)(
    "D1 a result of %s keeps the transparency",
    async (kind) => {
      const size = { width: 65, height: 47 };
      const picture = await drawPicture("image", size, 4);
      const scale = kind === "upscale" ? 2 : 1;
      const task = { ...scene.newTask({ workflow: "upscale_model", inputs: { image: picture } }), kind };
      const { workflow } = task;
      if (!workflow) throw new Error("the workflow is missing");
      const prepared = await preparePictures(task, workflow);
      const sent = await sharp(prepared.files.image).metadata();
      const result = path.join(scene.folder, "server.png");
      const [width, height] = [(sent.width ?? 0) * scale, (sent.height ?? 0) * scale];
      await sharp({ create: { width, height, channels: 3, background: "#ff0000" } })
        .png()
        .toFile(result);
      const target = path.join(scene.folder, "target.png");
      await prepared.finish(result, target);
      const made = await sharp(target).raw().toBuffer({ resolveWithObject: true });
      expect(made.info).toMatchObject({ width: 65 * scale, height: 47 * scale, channels: 4 });
      const { data: alpha } = await sharp(picture)
        .extractChannel("alpha")
        .resize(65 * scale, 47 * scale, { fit: "fill" })
        .raw()
        .toBuffer({ resolveWithObject: true });
      expect(alpha.every((value, at) => made.data[at * 4 + 3] === value)).toBe(true);
    },
  );

  const small = {
    what: "small and of odd sides",
    size: { width: 333, height: 257 },
    marked: { left: 40, top: 50, width: 31, height: 77 },
  };
  const large = [
    {
      what: "large with a small spot",
      size: { width: 2_401, height: 1_803 },
      marked: { left: 2_300, top: 30, width: 90, height: 60 },
    },
    {
      what: "large and marked all over",
      size: { width: 1_999, height: 1_501 },
      marked: { left: 10, top: 10, width: 1_900, height: 1_400 },
    },
  ];
  forCasesInTurn(
    "D1 inpainting a picture that is $what leaves every pixel outside the mask as it was",
    { usual: [small], others: large },
    async ({ size, marked }) => {
      const server = await scene.startServer();
      const { engine } = await scene.openEngine(server);
      const image = await drawPicture("image", size);
      const mask = await drawMask(size, marked);
      const maskPath = path.join(scene.folder, "told-mask.png");
      const task = scene.newTask({ workflow: "inpaint_any_differential", inputs: { image, mask }, maskPath });
      const [output] = await engine.run(task, newContext().context);
      const { outside, inside } = await differences(image, output?.path ?? "", mask);
      expect(outside).toBe(0);
      expect(inside).toBeGreaterThan(0.9 * marked.width * marked.height);
      expect(await readFile(maskPath)).toEqual(await readFile(mask));
      const sent = await sharp(path.join(scene.folder, "canvas.png")).metadata();
      expect([sent.width % 8, sent.height % 8]).toEqual([0, 0]);
      expect(sent.width * sent.height).toBeLessThan(1_700_000);
    },
  );

  test("D1 a mask without a pixel of at least half of white is empty, and one with it blends softly", async () => {
    const server = await scene.startServer();
    const { engine } = await scene.openEngine(server);
    const size = { width: 80, height: 60 };
    const image = await drawPicture("image", size);
    const bounds = { left: 10, top: 10, width: 40, height: 30 };
    const run = async (mask: string) => {
      const task = scene.newTask({ workflow: "inpaint_any_differential", inputs: { image, mask } });
      const [output] = await engine.run(task, newContext().context);
      return output?.path ?? "";
    };
    await expect(run(await drawMask(size, bounds, 127))).rejects.toMatchObject({ code: "mask_empty" });
    const [old, half] = [await readRaw(image), await readRaw(await run(await drawMask(size, bounds, 128)))];
    const full = await readRaw(await run(await drawMask(size, bounds)));
    const change = ({ data }: typeof old) =>
      data.reduce((sum, value, at) => sum + Math.abs(value - (old.data[at] ?? 0)), 0);
    expect(change(half)).toBeGreaterThan(0);
    expect(change(half)).toBeLessThan(0.6 * change(full));
  });

  test("D1 an outfit change with a painted mask keeps to it, transparency included", async () => {
    const server = await scene.startServer();
    const { engine } = await scene.openEngine(server);
    const size = { width: 400, height: 620 };
    const person = await drawPicture("person", size, 4);
    const garment = await drawPicture("garment", { width: 90, height: 120 });
    const mask = await drawMask(size, { left: 100, top: 200, width: 150, height: 200 });
    const task = scene.newTask({ workflow: "tryon_flux_fill_redux", inputs: { person, garment, mask } });
    const [output] = await engine.run(task, newContext().context);
    const { outside, inside } = await differences(person, output?.path ?? "", mask);
    expect(outside).toBe(0);
    expect(inside).toBeGreaterThan(0);
  });

  test("D1 the workflow without a model pastes into the whole picture", async () => {
    const server = await scene.startServer({ device: { type: "cpu", vramTotalBytes: 8 * 1024 ** 3 } });
    const { engine } = await scene.openEngine(server);
    const size = { width: 301, height: 203 };
    const image = await drawPicture("image", size);
    const reference = await drawPicture("reference", { width: 64, height: 64 });
    const mask = await drawMask(size, { left: 20, top: 20, width: 100, height: 80 });
    const task = scene.newTask({
      workflow: "cpu_composite_no_model",
      inputs: { image, reference, mask },
      params: {},
    });
    const [output] = await engine.run(task, newContext().context);
    const { outside, inside } = await differences(image, output?.path ?? "", mask);
    expect(outside).toBe(0);
    expect(inside).toBeGreaterThan(7_000);
  });

  test("D1 the workflow without a model lays a second picture of the same size in as it is", async () => {
    const server = await scene.startServer();
    const { engine } = await scene.openEngine(server);
    const size = { width: 300, height: 200 };
    const image = await drawPicture("image", size);
    const ramp = Buffer.alloc(size.width * size.height * 3);
    // A ramp in both directions: scaling or cutting moves every value.
    for (let at = 0; at < size.width * size.height; at++) {
      const [x, y] = [at % size.width, Math.trunc(at / size.width)];
      ramp.set([Math.trunc((x * 255) / size.width), y, 0], at * 3);
    }
    const reference = path.join(scene.folder, "reference");
    await sharp(ramp, { raw: { ...size, channels: 3 } })
      .png()
      .toFile(reference);
    const mask = await drawMask(size, { left: 0, top: 0, ...size });
    const task = scene.newTask({
      workflow: "cpu_composite_no_model",
      inputs: { image, reference, mask },
      params: {},
    });
    const [output] = await engine.run(task, newContext().context);
    const [made, wanted] = [await readRaw(output?.path ?? ""), await readRaw(reference)];
    expect(made.data).toHaveLength(wanted.data.length);
    const deviations = made.data.map((value, at) => Math.abs(value - (wanted.data[at] ?? 0)));
    expect(deviations.reduce((most, each) => Math.max(most, each))).toBeLessThanOrEqual(2);
  });

  test("S3 a plain PNG is taken without its texts and not encoded again, any other becomes RGB", async () => {
    const task = scene.newTask({ workflow: "t2i_sd15" });
    if (!task.workflow) throw new Error("there is no workflow");
    const pictures = await preparePictures(task, task.workflow);
    const drawn = await drawPicture("image", { width: 64, height: 48 });
    const target = path.join(scene.folder, "target.png");
    const dataOf = (png: Buffer) => png.subarray(png.indexOf("IDAT"));

    const plain = await sharp(drawn).png({ compressionLevel: 1 }).toBuffer();
    await writeFile(drawn, withPngChunk(plain, pngChunk("tEXt", Buffer.from("prompt\0a red chair"))));
    await pictures.finish(drawn, target);
    const taken = await readFile(target);
    expect(dataOf(taken)).toEqual(dataOf(plain));
    expect(taken.includes("red chair")).toBe(false);

    const grey = await sharp(drawn).greyscale().png().toBuffer();
    await writeFile(drawn, withPngChunk(grey, pngChunk("tEXt", Buffer.from("prompt\0a red chair"))));
    await pictures.finish(drawn, target);
    expect(await sharp(target).metadata()).toMatchObject({ channels: 3, format: "png" });
    expect((await readRaw(target)).data).toEqual((await readRaw(drawn)).data);
    expect((await readFile(target)).includes("red chair")).toBe(false);
  });

  test.each(["upscale_hires_fix", "upscale_model"])("D1 %s doubles each side exactly", async (workflow) => {
    const server = await scene.startServer();
    const { engine } = await scene.openEngine(server);
    const image = await drawPicture("image", { width: 133, height: 95 });
    const task = scene.newTask({ workflow, inputs: { image }, params: { scale: 2, seed: 1 } });
    const [output] = await engine.run(task, newContext().context);
    expect(await sharp(output?.path).metadata()).toMatchObject({ width: 266, height: 190 });
  });

  test("D1 an outfit change without a mask sends both pictures", async () => {
    const server = await scene.startServer();
    const { engine } = await scene.openEngine(server);
    const person = await drawPicture("person", { width: 120, height: 160 });
    const garment = await drawPicture("garment", { width: 90, height: 90 });
    const inputs = { person, garment };
    const outputs = await engine.run(
      scene.newTask({ workflow: "tryon_qwen_edit_2511", inputs }),
      newContext().context,
    );
    expect(outputs).toHaveLength(1);
    expect(server.stats().uploads).toBe(2);
  });

  test.each([
    {
      by: "clicks",
      params: {
        clicks: [
          { x: 20, y: 10, mode: "include" },
          { x: 24, y: 10, mode: "exclude" },
        ],
      },
      // Discs of six pixels.
      marked: [15, 10],
      free: [22, 10],
    },
    {
      by: "box",
      params: { box: { left: 30, top: 20, width: 10, height: 5 } },
      marked: [35, 22],
      free: [45, 22],
    },
    { by: "text", params: { prompt: "the cup" }, marked: [30, 20], free: [1, 1] },
  ])(
    "D2 a selection by $by becomes a grey mask of the picture's size",
    async ({ by, params, marked, free }) => {
      const server = await scene.startServer({ mode: "new" });
      const { engine } = await scene.openEngine(server);
      const image = await drawPicture("image", { width: 60, height: 40 });
      const workflow = by === "clicks" ? "select_click_sam3" : `select_${by}_sam3`;
      const [output] = await engine.run(
        scene.newTask({ workflow, inputs: { image }, params }),
        newContext().context,
      );
      const mask = sharp(output?.path);
      expect(await mask.metadata()).toMatchObject({ width: 60, height: 40, channels: 1 });
      const data = await mask.extractChannel(0).raw().toBuffer();
      const at = ([x = 0, y = 0]: number[]) => data[y * 60 + x];
      expect([at(marked), at(free)]).toEqual([255, 0]);
    },
  );

  test("D2 a selection that finds nothing says so, and the server stays well", async () => {
    const server = await scene.startServer({ mode: "new" });
    const { engine, pool } = await scene.openEngine(server);
    const image = await drawPicture("image", { width: 60, height: 40 });
    const clicks = [
      { x: 20, y: 10, mode: "include" },
      { x: 20, y: 10, mode: "exclude" },
    ];
    const task = scene.newTask({ workflow: "select_click_sam3", inputs: { image }, params: { clicks } });
    await expect(engine.run(task, newContext().context)).rejects.toMatchObject({ code: "mask_empty" });
    expect(pool.list()).toMatchObject([{ state: "healthy", lastError: null }]);
  });

  test("D1 a cut-out of a server holds no colour of what was cut away", async () => {
    const server = await scene.startServer({ mode: "new" });
    const { engine } = await scene.openEngine(server);
    const image = await drawPicture("image", { width: 60, height: 40 });
    const task = scene.newTask({ workflow: "cutout_birefnet", inputs: { image }, params: {} });
    const [output] = await engine.run(task, newContext().context);
    const { data, info } = await sharp(output?.path).raw().toBuffer({ resolveWithObject: true });
    expect(info.channels).toBe(4);
    const corner = [...data.subarray(0, 4)];
    const middle = (20 * 60 + 30) * 4;
    expect([corner, data[middle + 3]]).toEqual([[255, 255, 255, 0], 255]);
  });

  test.each(["expand_flux_fill", "expand_flux2_klein_4b"])(
    "D1 %s adds exactly what was asked for, and but for the seam the picture stays as it was",
    async (workflow) => {
      const server = await scene.startServer();
      const { engine } = await scene.openEngine(server);
      const image = await drawPicture("image", { width: 1501, height: 1003 });
      const params = { left: 333, top: 0, right: 7, bottom: 250, seed: 1 };
      const task = scene.newTask({ workflow, inputs: { image }, params });
      const [output] = await engine.run(task, newContext().context);
      expect(await sharp(output?.path).metadata()).toMatchObject({ width: 1841, height: 1253 });
      // The seam is at most 16 pixels of the picture that the model sees, which is smaller by a fifth.
      const inner = { left: 25, top: 0, width: 1400, height: 950 };
      const part = async (file: string | undefined, dx: number) =>
        sharp(file)
          .extract({ ...inner, left: inner.left + dx })
          .removeAlpha()
          .raw()
          .toBuffer();
      expect((await part(output?.path, 333)).equals(await part(image, 0))).toBe(true);
      const sent = Object.values(server.prompts()[0]?.graph ?? {}).find(
        ({ class_type: name }) => name === "ImagePadForOutpaint",
      );
      expect(sent?.inputs).toMatchObject({ top: 0, left: expect.any(Number) });
      const added = await sharp(output?.path).extract({ left: 0, top: 0, width: 300, height: 900 }).stats();
      // Not the ground that the picture is laid on, which is of one colour.
      expect(added.channels.some(({ stdev }) => stdev > 2)).toBe(true);
    },
  );

  test("D1 SeedVR2 enlarges an odd picture exactly", async () => {
    const server = await scene.startServer({ mode: "new" });
    const { engine } = await scene.openEngine(server);
    const image = await drawPicture("image", { width: 133, height: 95 });
    const task = scene.newTask({
      workflow: "upscale_seedvr2_3b",
      inputs: { image },
      params: { scale: 4, seed: 1 },
    });
    const [output] = await engine.run(task, newContext().context);
    expect(await sharp(output?.path).metadata()).toMatchObject({ width: 532, height: 380 });
  });

  test.each(["tryon_flux2_klein_4b_lora", "tryon_flux2_klein_4b", "tryon_qwen_edit_2511"])(
    "D1 %s takes two garments in one run",
    async (workflow) => {
      const server = await scene.startServer({ mode: "new" });
      const { engine } = await scene.openEngine(server);
      const person = await drawPicture("person", { width: 120, height: 160 });
      const garment = await drawPicture("garment", { width: 90, height: 90 });
      const garment2 = await drawPicture("garment2", { width: 80, height: 90 });
      const inputs = { person, garment, garment2 };
      const outputs = await engine.run(scene.newTask({ workflow, inputs }), newContext().context);
      expect(outputs).toHaveLength(1);
      expect([server.stats().uploads, server.prompts().length]).toEqual([3, 1]);
    },
  );

  test("A12 a picture that is too large for a server's proxy is another server's, and the server stays well", async () => {
    const server = await scene.startServer();
    const { engine, pool } = await scene.openEngine(server);
    server.inject({ kind: "html", status: 413, path: "POST /upload" });
    const image = await drawPicture("image", { width: 64, height: 64 });
    const task = scene.newTask({ workflow: "upscale_model", inputs: { image } });
    await expect(engine.run(task, newContext().context)).rejects.toMatchObject({
      code: "request_too_large",
      details: { server: server.url },
    });
    expect(pool.list()).toMatchObject([{ state: "healthy", lastError: null }]);
  });

  test("A12 a result that our own disk does not take is not the server's fault", async () => {
    const server = await scene.startServer();
    const { engine, pool } = await scene.openEngine(server);
    const report = vi.spyOn(pool, "report");
    // Nothing can be written where a folder is.
    await mkdir(path.join(scene.folder, "result-0.png"));
    const run = engine.run(scene.newTask({ workflow: "t2i_sd15" }), newContext().context);
    expect(isAppError(await run.catch((thrown: unknown) => thrown))).toBe(false);
    expect(report.mock.calls.map(([, outcome]) => outcome)).toEqual(["begun"]);
  });

  test("A12 a picture whose end is missing is the server's fault, one that our disk does not give is not", async () => {
    const whole = await drawPicture("image", { width: 64, height: 64 });
    await expect(requirePixels(whole)).resolves.toBeUndefined();
    const bytes = await readFile(whole);
    const cut = path.join(scene.folder, "cut");
    await writeFile(cut, bytes.subarray(0, bytes.length / 2));
    await expect(requirePixels(cut)).rejects.toMatchObject({ code: "engine_failed" });
    await expect(requirePixels(`${cut}-gone`)).rejects.toMatchObject({ code: "ENOENT" });
    const said = new Error("VipsJpeg: Insufficient memory (case 4)");
    const spy = vi.spyOn(Object.getPrototypeOf(sharp(bytes)) as Sharp, "stats").mockRejectedValue(said);
    const reading = requirePixels(whole).finally(() => spy.mockRestore());
    await expect(reading).rejects.toMatchObject({ code: "out_of_memory", details: { reason: "own_memory" } });
  });
});
