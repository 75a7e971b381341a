import { mkdtemp } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { type CDPSession, chromium, type Page } from "@playwright/test";
import sharp from "sharp";
import { chooseBrowser } from "../e2e/browser.ts";
import { startStudio } from "../e2e/steps/start-studio.ts";
import { findFreePort } from "../scripts/process/tools.ts";
import { quantile, show } from "./start-and-throughput.ts";

const [widthPx, heightPx] = [4_000, 3_000];
/** Points of the stroke, and how many of them the ratio compares at its beginning and its end. */
const [points, compared] = [3_000, 100];
const brushPx = 400;

interface TraceEvent {
  readonly name: string;
  readonly dur?: number;
  readonly args?: { readonly data?: { readonly type?: string } };
}

/** Runs some work under a trace of the browser. */
export async function recordTrace(browser: CDPSession, work: () => Promise<void>): Promise<TraceEvent[]> {
  const events: TraceEvent[] = [];
  // Safe cast: the events of a trace, of which the names and times are read.
  browser.on("Tracing.dataCollected", ({ value }) => events.push(...(value as unknown as TraceEvent[])));
  await browser.send("Tracing.start", {
    traceConfig: { includedCategories: ["devtools.timeline"], recordMode: "recordAsMuchAsPossible" },
    transferMode: "ReportEvents",
  });
  await work();
  const isOver = new Promise<void>((resolve) => browser.once("Tracing.tracingComplete", () => resolve()));
  await browser.send("Tracing.end");
  await isOver;
  return events;
}

/** How long the handlers of each pointer move ran, in ms, in order. */
async function traceMoves(browser: CDPSession, work: () => Promise<void>): Promise<number[]> {
  const events = await recordTrace(browser, work);
  return events
    .filter(({ name, args }) => name === "EventDispatch" && args?.data?.type === "pointermove")
    .map(({ dur = 0 }) => dur / 1_000);
}

async function openEditor(page: Page, origin: string): Promise<void> {
  const headers = { origin };
  const noise = { type: "gaussian", mean: 128, sigma: 40 } as const;
  const photo = sharp({
    create: { width: widthPx, height: heightPx, channels: 3, background: "#888", noise },
  });
  await page.request.post("/api/auth/sign-in/anonymous", { data: {}, headers });
  const file = { name: "photo.jpg", mimeType: "image/jpeg", buffer: await photo.jpeg().toBuffer() };
  const answer = await page.request.post("/api/v1/uploads", {
    multipart: { file },
    headers,
  });
  const { id }: { id: string } = await answer.json();
  await page.goto(`/edit/${id}`);
  await page.getByRole("img", { name: "The picture you edit" }).waitFor();
}

/** Quick: script time of each pointer move while a photo of 12 megapixels is painted by one long stroke of a large brush. */
export async function benchQuick(): Promise<string[]> {
  const port = await findFreePort();
  const stop = await startStudio({
    NODE_ENV: "production",
    PORT: String(port),
    APP_URL: `http://127.0.0.1:${port}`,
    ATELIER_DATA_DIR: await mkdtemp(path.join(os.tmpdir(), "atelier-quick-")),
  });
  const browser = await chromium.launch(await chooseBrowser());
  try {
    const context = await browser.newContext({
      baseURL: `http://127.0.0.1:${port}`,
      viewport: { width: 1_440, height: 900 },
    });
    const page = await context.newPage();
    await openEditor(page, `http://127.0.0.1:${port}`);
    const size = page.getByRole("slider", { name: "Brush size" });
    await size.focus();
    await page.keyboard.press("End");
    const box = await page.getByRole("application", { name: "Picture to paint on" }).boundingBox();
    if (box === null) throw new Error("There is no stage.");
    const middle = { x: box.x + box.width / 2, y: box.y + box.height / 2 };
    const moves = await traceMoves(await browser.newBrowserCDPSession(), async () => {
      await page.mouse.move(middle.x, middle.y);
      await page.mouse.down();
      for (let at = 0; at < points; at += 1) {
        const turn = at / 40;
        const reach = box.height * 0.4 * (0.3 + 0.7 * ((at % 500) / 500));
        await page.mouse.move(middle.x + reach * Math.cos(turn), middle.y + reach * Math.sin(turn));
      }
      await page.mouse.up();
    });
    const [first, last] = [moves.slice(0, compared), moves.slice(-compared)];
    const ratio = quantile(last, 0.5) / quantile(first, 0.5);
    const ms = (share: number) => `${show(quantile(moves, share), 2)} ms`;
    return [
      `${moves.length} pointer moves at 12 MP with a brush of ${brushPx} px: p50 ${ms(0.5)}, p95 ${ms(0.95)} (goal 4), longest ${ms(1)}`,
      `the last ${compared} of the stroke take ${show(ratio, 2)} times what its first ${compared} take (goal 2.0 at most)`,
    ];
  } finally {
    await browser.close();
    await stop();
  }
}
