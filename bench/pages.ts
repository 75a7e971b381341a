import { link, mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { type BrowserContext, chromium } from "@playwright/test";
import pg from "pg";
import { type PageReport, readPage } from "@atelier/testing/lighthouse";
import { chooseBrowser } from "../e2e/browser.ts";
import { startStudio } from "../e2e/steps/start-studio.ts";
import { startSimulator } from "../e2e/steps/start-simulator.ts";
import { openPostgres } from "../scripts/embedded/postgres.ts";
import { findFreePort } from "../scripts/process/tools.ts";
import { quantile, show } from "./start-and-throughput.ts";

const pictures = 1_000;
const rounds = 3;
/** The worker looks for its server every ten seconds. */
const serverFoundMs = 60_000;

const measured = { gallery: "/gallery", studio: "/", "sign-in": "/sign-in", create: "/create" } as const;

const samplesDir = path.join(import.meta.dirname, "../public/samples");
const samples = ["astronaut.png", "chelsea.png", "coffee.png", "rocket.jpg", "garment_dress.jpg"] as const;

/** Uploads the samples as a new account; its id. */
async function upload(context: BrowserContext, origin: string): Promise<string> {
  const headers = { origin };
  const data = { name: "Ada", email: "ada@example.org", password: "a long enough password" };
  const signedUp = await context.request.post("/api/auth/sign-up/email", { data, headers });
  if (!signedUp.ok()) throw new Error(await signedUp.text());
  const { user }: { user: { id: string } } = await signedUp.json();
  for (const name of samples) {
    const mimeType = name.endsWith(".png") ? "image/png" : "image/jpeg";
    const file = { name, mimeType, buffer: await readFile(path.join(samplesDir, name)) };
    const answer = await context.request.post("/api/v1/uploads", { multipart: { file }, headers });
    if (!answer.ok()) throw new Error(await answer.text());
  }
  return user.id;
}

/** Pictures of three years, each with files of its own, which are those of an uploaded one. */
async function fill(dataDir: string, ownerId: string): Promise<void> {
  const postgres = await openPostgres({ dataDir });
  const client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  const { rows } = await client.query<{ id: string; key: string }>(
    "select id, storage_key as key from images where owner_id = $1 order by id",
    [ownerId],
  );
  const files = path.join(dataDir, "files");
  const keys: string[] = [];
  for (let n = rows.length; n < pictures; n += 1) {
    const from = rows[n % rows.length]?.key ?? "";
    const key = `${from}-${n}`;
    await mkdir(path.join(files, key));
    for (const name of await readdir(path.join(files, from)))
      await link(path.join(files, from, name), path.join(files, key, name));
    keys.push(key);
  }
  await client.query(
    `insert into images (id, owner_id, role, storage_key, stored_sha256, mime, width_px, height_px, size_bytes, thumbhash, title, created_at)
     select uuidv7(made.age), owner_id, role, made.key, stored_sha256, mime, width_px, height_px, size_bytes, thumbhash, 'picture ' || made.n, now() + made.age
     from (select n, key, -(n * interval '26 hours') as age from unnest($2::text[]) with ordinality as listed (key, n)) made
       join (select *, row_number() over (order by id) - 1 as at from images where owner_id = $1) uploaded
         on uploaded.storage_key = regexp_replace(made.key, '-[0-9]+$', '')`,
    [ownerId, keys],
  );
  await client.query("analyze images");
  await client.end();
  await postgres.close();
}

function describe(name: string, reports: readonly PageReport[]): string[] {
  const median = (of: (report: PageReport) => number) => quantile(reports.map(of), 0.5);
  const score = (id: keyof PageReport["scores"]) => median(({ scores }) => scores[id]);
  const all = reports.map(({ scores }) => scores.performance).join(", ");
  const failed = new Set(reports.flatMap((report) => report.failed));
  return [
    `${name}: performance ${score("performance")} (${all}), accessibility ${score("accessibility")}, best practices ${score("best-practices")}; LCP ${show(median(({ lcpMs }) => lcpMs) / 1_000, 1)} s, TBT ${show(
      median(({ tbtMs }) => tbtMs),
      0,
    )} ms (by processor time ${show(
      median(({ blockingCpuMs }) => blockingCpuMs),
      0,
    )}), CLS ${show(
      median(({ cls }) => cls),
      3,
    )}; script ${show(median(({ scriptBytes }) => scriptBytes) / 1_000, 1)} kB; machine ${show(
      median(({ machine }) => machine),
      0,
    )}`,
    ...[...failed].map((audit) => `  ${audit}`),
  ];
}

async function untilCreateIsOffered(context: BrowserContext): Promise<void> {
  const page = await context.newPage();
  await page.goto("/create");
  await page.getByRole("textbox", { name: "Prompt", exact: true }).waitFor({ timeout: serverFoundMs });
  await page.close();
}

/** Lighthouse on the pages of an account with 1,000 pictures, as a phone: the median of some loads of each, in turn. */
export async function benchPages(): Promise<string[]> {
  const [port, comfyPort, debugPort] = [await findFreePort(), await findFreePort(), await findFreePort()];
  const [dataDir, profile] = await Promise.all(
    ["atelier-pages-", "atelier-profile-"].map((name) => mkdtemp(path.join(os.tmpdir(), name))),
  );
  if (dataDir === undefined || profile === undefined) throw new Error("There is no folder.");
  const origin = `http://127.0.0.1:${port}`;
  const stopComfy = await startSimulator(comfyPort);
  let stop: Awaited<ReturnType<typeof startStudio>> | undefined;
  let context: BrowserContext | undefined;
  try {
    stop = await startStudio({
      NODE_ENV: "production",
      PORT: String(port),
      APP_URL: origin,
      ATELIER_DATA_DIR: dataDir,
      COMFYUI_URLS: `http://127.0.0.1:${comfyPort}`,
    });
    const { args = [], ...chosen } = await chooseBrowser();
    context = await chromium.launchPersistentContext(profile, {
      ...chosen,
      args: [...args, `--remote-debugging-port=${debugPort}`],
      baseURL: origin,
      locale: "en",
    });
    await fill(dataDir, await upload(context, origin));
    await untilCreateIsOffered(context);
    const reports = new Map<string, PageReport[]>();
    for (let round = 0; round < rounds; round += 1)
      for (const [name, page] of Object.entries(measured))
        reports.set(name, [...(reports.get(name) ?? []), await readPage(`${origin}${page}`, debugPort)]);
    const load = os.loadavg().map((value) => value.toFixed(1));
    return [
      ...[...reports].flatMap(([name, of]) => describe(name, of)),
      `load of the machine at the end: ${load.join(", ")} (1, 5, 15 minutes)`,
    ];
  } finally {
    await context?.close();
    await stop?.();
    await stopComfy();
    await rm(profile, { recursive: true, force: true });
  }
}
