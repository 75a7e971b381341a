/**
 * Makes the pictures of README.md: `npx -y pnpm@12.21.0 build`, then `npx -y pnpm@12.21.0 pictures`. A studio of its own is
 * started in an empty folder, filled by `atelier seed`, and each room is photographed in the browser that the journeys use.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { type Browser, chromium, type Page } from "@playwright/test";
import sharp from "sharp";
import { chooseBrowser } from "../e2e/browser.ts";
import { filmRetouch, orderLookbook } from "./picture-scenes.ts";
import { findFreePort, waitUntil } from "./process/tools.ts";

const rootDir = path.resolve(import.meta.dirname, "..");
const targetDir = path.join(rootDir, "docs", "pictures");
const viewport = { width: 1440, height: 900 } as const;
const pictureWidthPx = 1_200;
const quality = 80;

interface Part {
  readonly child: ChildProcess;
  /** What is on its standard output by now. */
  readonly output: () => string;
}

/** Starts a process of the studio and waits until it prints what says that it is ready. */
async function startPart(args: readonly string[], env: NodeJS.ProcessEnv, ready: RegExp): Promise<Part> {
  const child = spawn(process.execPath, args, { cwd: rootDir, env, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (part: string) => (output += part));
  await new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (part: string) => {
        said += part;
        if (ready.test(said)) resolve();
      });
    child.once("exit", () => reject(new Error(`${args.join(" ")} ended: ${said}`)));
  });
  return { child, output: () => output };
}

async function endPart({ child }: Part): Promise<void> {
  const ended = once(child, "exit");
  child.kill("SIGINT");
  await ended;
}

interface Room {
  readonly name: string;
  readonly open: (page: Page) => Promise<unknown>;
  /** Of the page; all of it by default. */
  readonly heightPx?: number;
  /** Makes a picture of several moments instead. */
  readonly film?: (page: Page) => Promise<Buffer>;
}

/** Opens an upload of the seed in the editor, and waits until it has its size. */
async function openEditor(page: Page, title: string): Promise<void> {
  const answer = await page.request.get("/api/v1/images", {
    params: { search: `is:upload ${title}`, limit: 1 },
  });
  const [id]: string[] = (await answer.json()).items.map((image: { id: string }) => image.id);
  await page.goto(`/edit/${id}`);
  await shown(page.getByRole("img", { name: "The picture you edit" }));
  await settle(page);
}

/** Waits for what shows that a page is complete. */
const shown = (locator: ReturnType<Page["locator"]>) => locator.first().waitFor({ timeout: 60_000 });

const rooms: readonly Room[] = [
  {
    name: "studio",
    heightPx: 720,
    async open(page) {
      await page.goto("/");
      await page
        .getByRole("button", { name: /astronaut/i })
        .first()
        .click();
      await page.getByRole("button", { name: "Use the sample: T-shirt" }).click();
      await page.getByRole("checkbox", { name: /shows an adult who agrees/ }).click();
      await page.getByRole("button", { name: "Change outfit" }).click();
      const slider = page.getByRole("slider", { name: "Before and after" });
      await shown(slider);
      for (let step = 0; step < 3; step += 1) await slider.press("ArrowLeft");
      await page.getByRole("heading", { name: "Studio" }).click();
    },
  },
  {
    name: "create",
    async open(page) {
      await page.goto("/create");
      await page.getByRole("textbox", { name: "Prompt", exact: true }).fill("Wide hills in the evening sun");
      await shown(page.locator("main img"));
    },
  },
  {
    name: "gallery",
    async open(page) {
      await page.goto("/gallery");
      await shown(page.getByRole("button", { name: /^Outfit change, / }));
    },
  },
  {
    name: "edit",
    async open(page) {
      await openEditor(page, "rocket");
      const picture = page.getByRole("img", { name: "The picture you edit" });
      const box = await picture.boundingBox();
      if (!box) throw new Error("the picture is not shown");
      const at = (x: number, y: number) => [box.x + x * box.width, box.y + y * box.height] as const;
      await page.mouse.move(...at(0.08, 0.3));
      await page.mouse.down();
      await page.mouse.move(...at(0.1, 0.9), { steps: 12 });
      await page.mouse.up();
    },
  },
  {
    name: "retouch",
    open: (page) => openEditor(page, "rocket"),
    film: (page) => filmRetouch({ page, settle: () => settle(page) }),
  },
  {
    name: "wardrobe",
    async open(page) {
      await page.goto("/wardrobe");
      await shown(page.getByText("hoodie", { exact: false }));
    },
  },
  {
    name: "lookbook",
    async open(page) {
      await page.goto("/lookbook");
      await page.goto(`/batches/${await orderLookbook(page)}`);
      await shown(page.getByRole("table").getByRole("img"));
    },
  },
  {
    name: "jobs",
    async open(page) {
      await page.goto("/jobs");
      await shown(page.getByRole("list", { name: "Jobs" }).getByRole("listitem"));
    },
  },
  {
    name: "assistant",
    async open(page) {
      await page.goto("/assistant");
      await page.getByRole("link", { name: "Show me my last landscapes" }).click();
      await shown(page.getByText("These are your last landscapes"));
    },
  },
  {
    name: "admin",
    async open(page) {
      await page.goto("/admin");
      await shown(page.getByRole("table", { name: "Queues" }).getByRole("row"));
      await page.getByRole("radio", { name: "24 h" }).click();
    },
  },
];

/** Until every picture of the page is there and nothing moves any more. */
async function settle(page: Page): Promise<void> {
  await page.waitForLoadState("networkidle").catch(() => undefined);
  await page.waitForFunction(() => {
    const inView = [...document.images].filter((image) => image.getBoundingClientRect().top < innerHeight);
    return inView.every((image) => image.complete);
  });
  await page.evaluate(() =>
    Promise.all(document.getAnimations().map((one) => one.finished.catch(() => undefined))),
  );
}

async function photograph(
  page: Page,
  { name, open, film, heightPx: height = viewport.height }: Room,
): Promise<void> {
  await open(page);
  await settle(page);
  const clip = { ...viewport, height, x: 0, y: 0 };
  await store(name, film ? await film(page) : await page.screenshot({ animations: "disabled", clip }));
}

async function store(name: string, png: Buffer): Promise<void> {
  const webp = await sharp(png).resize({ width: pictureWidthPx }).webp({ quality, effort: 6 }).toBuffer();
  await writeFile(path.join(targetDir, `${name}.webp`), webp);
  console.log(`${name}.webp ${Math.round(webp.length / 1024)} kB`);
}

async function photographAll(browser: Browser, baseURL: string, password: string): Promise<void> {
  const context = await browser.newContext({
    baseURL,
    viewport,
    reducedMotion: "reduce",
    colorScheme: "light",
  });
  const page = await context.newPage();
  const data = { email: "ada@seed.example", password };
  const answer = await page.request.post("/api/auth/sign-in/email", { data, headers: { origin: baseURL } });
  if (!answer.ok()) throw new Error(`the sign-in answered ${answer.status()}`);
  const wanted = process.argv.slice(2);
  for (const room of rooms)
    if (wanted.length === 0 || wanted.includes(room.name)) await photograph(page, room);
}

const dataDir = await mkdtemp(path.join(os.tmpdir(), "atelier-pictures-"));
const port = await findFreePort();
const baseURL = `http://127.0.0.1:${port}`;
const env: NodeJS.ProcessEnv = {
  // Nothing of a developer's own settings gets in: only what a process needs to run.
  NODE_ENV: "production",
  PATH: process.env["PATH"],
  HOME: process.env["HOME"],
  ATELIER_DATA_DIR: dataDir,
  APP_URL: baseURL,
  HOST: "127.0.0.1",
  PORT: String(port),
  WORKER_NAME: "this-computer",
  // Named so that the assistant's page is as it is with a model; nobody is asked anything.
  LLM_BASE_URL: "http://127.0.0.1:9/v1",
  LLM_RESPONDER_MODEL: "local/none",
};
const parts: Part[] = [];
try {
  parts.push(await startPart(["scripts/start.ts"], env, /Atelier is ready/));
  parts.push(await startPart(["scripts/worker.ts"], env, /The worker is running/));
  const seed = await startPart(["cli/main.ts", "seed", "--stay"], env, /stay until/);
  parts.push(seed);
  // The two outputs of a process arrive in any order.
  await waitUntil(() => seed.output().endsWith("\n"), 10_000);
  const browser = await chromium.launch(await chooseBrowser());
  try {
    await photographAll(browser, baseURL, seed.output().trim());
  } finally {
    await browser.close();
  }
} finally {
  for (const part of parts.toReversed()) await endPart(part);
  await rm(dataDir, { recursive: true, force: true });
}
