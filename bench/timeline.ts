import { mkdtemp } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { type Browser, chromium, type Page } from "@playwright/test";
import pg from "pg";
import sharp from "sharp";
import { countMonths, listImages, type ListImagesInput, removeImages } from "@atelier/server/images";
import { chooseBrowser } from "../e2e/browser.ts";
import { startStudio } from "../e2e/steps/start-studio.ts";
import { openPostgres } from "../scripts/embedded/postgres.ts";
import { findFreePort } from "../scripts/process/tools.ts";
import { seedOwner } from "./find-pictures.ts";
import { recordTrace } from "./quick.ts";
import { openStage, type Stage } from "./stage.ts";
import { quantile, show } from "./start-and-throughput.ts";

const sizes = [1_000, 250_000] as const;
const others = 9;
const othersEach = 25_000;
const calls = 20;
const clicks = 12;
const msPerMonth = 730 * 3_600_000;

/** The timeline of an owner with 250,000 pictures beside nine others: its counts, its jumps, and what a browser makes of them. */
export async function benchTimeline(): Promise<string[]> {
  return [...(await benchServer()), ...(await benchBrowser())];
}

type Call = (stage: Stage, ownerId: string, call: number) => Promise<unknown>;

const jumpOf = (call: number, skip = 0): ListImagesInput["jump"] => {
  const before = new Date(Date.now() - ((call * 7) % 35) * msPerMonth);
  return { from: new Date(before.getTime() - msPerMonth), before, skip };
};
const list = (stage: Stage, input: ListImagesInput) =>
  listImages(stage.services, { stacks: true, limit: 100, ...input });

const measured: Readonly<Record<string, Call>> = {
  "counts of all months": ({ services }, ownerId) => countMonths(services, { ownerId }),
  "counts of all months, one picture to the trash before": async (stage, ownerId) => {
    const [newest] = await stage.query<{ id: string }>(
      `select id from images where owner_id = '${ownerId}' and deleted_at is null order by created_at desc limit 1`,
    );
    await removeImages(stage.services, { ownerId, ids: [String(newest?.id)] });
    return countMonths(stage.services, { ownerId });
  },
  "first page": (stage, ownerId) => list(stage, { ownerId }),
  "jump to a month": (stage, ownerId, call) => list(stage, { ownerId, jump: jumpOf(call) }),
  "jump into the middle of a month": (stage, ownerId, call) =>
    list(stage, { ownerId, jump: jumpOf(call, ownerId.endsWith("-1000") ? 3 : 800) }),
  "page of newer ones": async (stage, ownerId, call) => {
    const { previousCursor } = await list(stage, { ownerId, jump: jumpOf(call + 1), limit: 1 });
    return list(stage, { ownerId, newer: true, cursor: previousCursor ?? undefined });
  },
};

async function benchServer(): Promise<string[]> {
  const stage = await openStage("postgres");
  try {
    return await measureServer(stage);
  } finally {
    await stage.close();
  }
}

async function measureServer(stage: Stage): Promise<string[]> {
  for (const size of sizes) await seedOwner(stage, `owner-${size}`, size);
  for (let other = 0; other < others; other += 1) await seedOwner(stage, `other-${other}`, othersEach);
  await stage.run("vacuum analyze");
  const beganMs = performance.now();
  await countMonths(stage.services, { ownerId: `owner-${sizes[1]}` });
  const firstMs = performance.now() - beganMs;
  const lines = [
    `counts of all months of ${sizes[1]} pictures for the first time: ${show(firstMs, 0)} ms`,
    `p50 and p95 in ms of ${calls} calls at ${sizes.join(" and ")} pictures, and the ratio of the p50`,
  ];
  for (const [name, call] of Object.entries(measured)) {
    const times = new Map<number, number[]>(sizes.map((size) => [size, []]));
    let bytes = 0;
    for (let at = 0; at < calls; at += 1)
      for (const size of sizes) {
        const beganMs = performance.now();
        const answer = await call(stage, `owner-${size}`, at);
        times.get(size)?.push(performance.now() - beganMs);
        bytes = Math.max(bytes, JSON.stringify(answer).length);
      }
    const of = (size: number, share: number) => quantile(times.get(size) ?? [], share);
    const figures = sizes.map((size) => `${show(of(size, 0.5), 1)} / ${show(of(size, 0.95), 1)}`);
    const ratio = of(sizes[1], 0.5) / of(sizes[0], 0.5);
    lines.push(`${name}: ${figures.join(", ")}; ${show(ratio, 2)}; at most ${show(bytes / 1_000, 1)} kB`);
  }
  return lines;
}

/** Whether the screen shows pictures of a month: a heading of it, tiles on half of the screen at least, all of them loaded. */
function isShown({ month, year }: { month: string; year: string }): number | null {
  const { innerHeight, innerWidth } = window;
  const isInView = (element: Element) => {
    const { top, bottom } = element.getBoundingClientRect();
    return bottom > 0 && top < innerHeight;
  };
  const headings = [...document.querySelectorAll("h2")].filter(isInView);
  const names = headings.map(({ textContent }) => textContent ?? "");
  if (!names.some((name) => name.includes(month) && (name.includes(year) || !/\d{4}/.test(name))))
    return null;
  const tiles = [...document.querySelectorAll("[data-tile]")].filter(isInView);
  const areas = tiles.map((tile) => tile.getBoundingClientRect().width * tile.getBoundingClientRect().height);
  if (areas.reduce((sum, area) => sum + area, 0) < (innerHeight * innerWidth) / 2) return null;
  if (!tiles.every((tile) => tile.querySelector("img")?.complete === true)) return null;
  return performance.now();
}

async function clickOn(page: Page, at: number): Promise<number> {
  const label = page.locator("[data-month]").nth(at);
  const month = new Date(`${await label.getAttribute("data-month")}-15T00:00:00Z`);
  const box = await label.boundingBox();
  if (box === null) throw new Error("The month is not shown.");
  await page.evaluate(() => {
    window.addEventListener("pointerdown", () => performance.mark("clicked"), { capture: true, once: true });
  });
  await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
  const name = { month: month.toLocaleString("en", { month: "long" }), year: String(month.getUTCFullYear()) };
  const shown = await page.waitForFunction(isShown, name, { polling: "raf" });
  const shownMs = Number(await shown.jsonValue());
  return (
    shownMs - (await page.evaluate(() => performance.getEntriesByName("clicked").at(-1)?.startTime ?? 0))
  );
}

/** Scrolls in the browser for some seconds, a step a frame; the time between frames and the most elements there were. */
async function scrollOn() {
  const frames: number[] = [];
  let [nodes, tiles] = [0, 0];
  const nextFrame = () => new Promise<number>((resolve) => requestAnimationFrame(resolve));
  let before = await nextFrame();
  for (let step = 0; step < 400; step += 1) {
    window.scrollBy(0, 60);
    const now = await nextFrame();
    frames.push(now - before);
    before = now;
    nodes = Math.max(nodes, document.querySelectorAll("*").length);
    tiles = Math.max(tiles, document.querySelectorAll("[data-tile]").length);
  }
  return { frames, nodes, tiles };
}

async function fill(dataDir: string, ownerId: string): Promise<void> {
  const postgres = await openPostgres({ dataDir });
  const client = new pg.Client({ connectionString: postgres.superuserUrl });
  await client.connect();
  await seedOwner({ run: async (text) => void (await client.query(text)) }, ownerId, sizes[1]);
  await client.query("vacuum analyze images, jobs");
  await client.end();
  await postgres.close();
}

async function openGallery(page: Page, dataDir: string, origin: string): Promise<void> {
  const data = { name: "Ada", email: "ada@example.org", password: "a long enough password" };
  const answer = await page.request.post("/api/auth/sign-up/email", { data, headers: { origin } });
  if (!answer.ok()) throw new Error(await answer.text());
  const { user }: { user: { id: string } } = await answer.json();
  await fill(dataDir, user.id);
  const noise = { type: "gaussian", mean: 128, sigma: 40 } as const;
  const picture = sharp({ create: { width: 320, height: 240, channels: 3, background: "#888", noise } });
  const body = await picture.webp().toBuffer();
  await page.route(/\/api\/v1\/images\/[^/]+\/file/, (route) =>
    route.fulfill({ body, contentType: "image/webp" }),
  );
  await page.goto("/gallery");
  await page.locator("[data-tile]").first().waitFor();
  await page.locator("[data-month]").first().waitFor();
}

async function benchBrowser(): Promise<string[]> {
  const port = await findFreePort();
  const dataDir = await mkdtemp(path.join(os.tmpdir(), "atelier-timeline-"));
  const origin = `http://127.0.0.1:${port}`;
  const stop = await startStudio({
    NODE_ENV: "production",
    PORT: String(port),
    APP_URL: origin,
    ATELIER_DATA_DIR: dataDir,
  });
  let browser: Browser | undefined;
  try {
    browser = await chromium.launch(await chooseBrowser());
    const viewport = { width: 1_440, height: 900 };
    const context = await browser.newContext({ baseURL: origin, viewport, locale: "en" });
    const page = await context.newPage();
    page.setDefaultTimeout(180_000);
    await openGallery(page, dataDir, origin);
    const months = await page.locator("[data-month]").count();
    const waits: number[] = [];
    for (let click = 1; click <= clicks; click += 1)
      waits.push(await clickOn(page, (click * 11) % (months - 1)));
    let scrolled: Awaited<ReturnType<typeof scrollOn>> = { frames: [], nodes: 0, tiles: 0 };
    const events = await recordTrace(await browser.newBrowserCDPSession(), async () => {
      scrolled = await page.evaluate(scrollOn);
    });
    const tasks = events.filter(({ name }) => name === "FireAnimationFrame" || name === "EventDispatch");
    const longestMs = Math.max(...tasks.map(({ dur = 0 }) => dur / 1_000));
    const ms = (values: readonly number[], share: number) => `${quantile(values, share).toFixed(0)} ms`;
    return [
      `first screen after a click on one of ${months} months: p50 ${ms(waits, 0.5)}, p95 ${ms(waits, 0.95)}, longest ${ms(waits, 1)}`,
      `24,000 px scrolled: frames p50 ${ms(scrolled.frames, 0.5)}, p95 ${ms(scrolled.frames, 0.95)}, longest ${ms(scrolled.frames, 1)}; longest script of a frame or an event ${longestMs.toFixed(0)} ms; at most ${scrolled.nodes} elements, ${scrolled.tiles} tiles`,
    ];
  } finally {
    await browser?.close();
    await stop();
  }
}
