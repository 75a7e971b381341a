import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { stripTypeScriptTypes } from "node:module";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { chromium } from "@playwright/test";
import sharp from "sharp";
import type * as Previews from "../app/edit/adjust/previews.ts";
import { chooseBrowser } from "../e2e/browser.ts";
import { quantile } from "./start-and-throughput.ts";

const root = path.join(import.meta.dirname, "..");

/** Noise over a gradient: a photo in the work that it makes. */
async function makePhoto(width: number, height: number): Promise<Buffer> {
  const noise = { type: "gaussian", mean: 128, sigma: 40 } as const;
  return sharp({ create: { width, height, channels: 3, background: "#888", noise } })
    .jpeg({ quality: 93, chromaSubsampling: "4:4:4" })
    .toBuffer();
}

/** The modules of the editor as a browser can load them: without types, and with the package by its path. */
async function readModule(pathname: string): Promise<string> {
  const source = await readFile(path.join(root, pathname), "utf8");
  return stripTypeScriptTypes(source).replaceAll(`"@atelier/server/retouch"`, `"/server/retouch/index.ts"`);
}

/** A page with the thread and the parts of the previews of the editor, and with two photos; no studio is needed. */
async function serve(photos: ReadonlyMap<string, Buffer>) {
  const server = createServer((request, response) => {
    const pathname = request.url ?? "/";
    const photo = photos.get(pathname);
    if (photo) return void response.setHeader("content-type", "image/jpeg").end(photo);
    if (pathname === "/") return void response.setHeader("content-type", "text/html").end("<!doctype html>");
    response.setHeader("content-type", "text/javascript");
    readModule(pathname).then(
      (text) => response.end(text),
      () => response.writeHead(404).end(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  // Safe cast: it listens on a port.
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/`, close: () => server.close() };
}

interface Case {
  readonly photo: string;
  readonly widthPx: number;
  readonly heightPx: number;
  /** Null fits the whole picture. */
  readonly scale: number | null;
}

const steps = 120;

/** In the page: moves a slider step by step, each in a frame of its own, and waits for what is drawn. */
async function moveSlider({ photo, widthPx, heightPx, scale, steps: count }: Case & { steps: number }) {
  const file = "/app/edit/adjust/previews.ts";
  // Safe cast: the module is that of the editor.
  const { createPreviews, previewParts } = (await import(file)) as typeof Previews;
  const stage = { width: 1_200, height: 800 };
  const fit = Math.min(stage.width / widthPx, stage.height / heightPx);
  const view = scale === null ? { scale: fit, x: 0, y: 0 } : { scale, x: -400, y: -300 };
  const parts = previewParts({ picture: { widthPx, heightPx }, view, stage, density: 1 });
  const canvas = document.body.appendChild(document.createElement("canvas"));
  const context = canvas.getContext("bitmaprenderer");
  let drawn = Promise.withResolvers<void>();
  const previews = createPreviews((_request, made) => {
    const bitmap = made?.at(-1);
    if (bitmap === undefined) return drawn.reject(new Error("there is no preview"));
    [canvas.width, canvas.height] = [bitmap.width, bitmap.height];
    context?.transferFromImageBitmap(bitmap);
    for (const other of made?.slice(0, -1) ?? []) other.close();
    drawn.resolve();
  });
  const adjustments = { contrast: 20, saturation: 10, temperature: -15, sharpness: 40 };
  const ask = async (light: number) => {
    drawn = Promise.withResolvers();
    const startedMs = performance.now();
    previews.ask({ url: photo, widthPx, adjustments: { ...adjustments, light }, parts });
    await drawn.promise;
    return performance.now() - startedMs;
  };
  const nextFrame = () => new Promise<number>((resolve) => requestAnimationFrame(resolve));
  const firstMs = await ask(0);
  const waits: number[] = [];
  const frames: number[] = [];
  let isMoving = true;
  const watch = async () => {
    let before = await nextFrame();
    while (isMoving) {
      const now = await nextFrame();
      frames.push(now - before);
      before = now;
    }
  };
  const watching = watch();
  for (let step = 1; step <= count; step += 1) {
    waits.push(await ask(step % 100));
    await nextFrame();
  }
  isMoving = false;
  await watching;
  previews.close();
  return { firstMs, waits, frames };
}

/** The preview of Adjust while a slider moves: from the change to what is drawn, and whether the page keeps its frames. */
export async function benchAdjustPreview(): Promise<string[]> {
  const photos = new Map([
    ["/large.jpg", await makePhoto(4_000, 3_000)],
    ["/small.jpg", await makePhoto(1_032, 774)],
  ]);
  const large = { photo: "/large.jpg", widthPx: 4_000, heightPx: 3_000 };
  const small = { photo: "/small.jpg", widthPx: 1_032, heightPx: 774 };
  const cases: readonly (readonly [string, Case])[] = [
    ["12 MP, fitted", { ...large, scale: null }],
    ["0.8 MP, fitted", { ...small, scale: null }],
    ["12 MP at 100 %", { ...large, scale: 1 }],
  ];
  const site = await serve(photos);
  const browser = await chromium.launch(await chooseBrowser());
  const lines: string[] = [];
  try {
    const page = await browser.newPage();
    await page.goto(site.url);
    for (const [name, one] of cases) {
      const { firstMs, waits, frames } = await page.evaluate(moveSlider, { ...one, steps });
      const ms = (values: readonly number[], share: number) => `${quantile(values, share).toFixed(0)} ms`;
      lines.push(
        `${name}: drawn after ${ms(waits, 0.5)} (p95 ${ms(waits, 0.95)}), the first after ${firstMs.toFixed(0)} ms; ` +
          `frames of the page p50 ${ms(frames, 0.5)}, p95 ${ms(frames, 0.95)}, longest ${ms(frames, 1)}`,
      );
    }
  } finally {
    await browser.close();
    site.close();
  }
  return lines;
}
