import { readdir, readFile, stat } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";

/** Every handler that Next serves. What is behind each is covered by the access tests of the server. */
const handlers: readonly string[] = [
  "(clients)/controlnet/[...path]/route.ts",
  "(clients)/image/raw/[...key]/route.ts",
  "(clients)/images/[userId]/route.ts",
  "(clients)/inpaint/route.ts",
  "(clients)/iopaint/[...path]/route.ts",
  "(clients)/jobChangeOutfit/route.ts",
  "(clients)/jobResult/route.ts",
  "(clients)/jobsRedis/route.ts",
  "(clients)/mcp/route.ts",
  "(clients)/model/route.ts",
  "(clients)/rembg/route.ts",
  "(clients)/run_plugin/route.ts",
  "(clients)/sdapi/[...path]/route.ts",
  "(clients)/server_config/route.ts",
  "(clients)/upload/route.ts",
  "(clients)/v1/[...path]/route.ts",
  "api/auth/[...all]/route.ts",
  "api/clients/jobs/route.ts",
  "api/generations/[id]/route.ts",
  "api/generations/create/route.ts",
  "api/health/route.ts",
  "api/query/[id]/status/route.ts",
  "api/query/route.ts",
  "api/ready/route.ts",
  "api/trpc/[trpc]/route.ts",
  "api/v1/[[...path]]/route.ts",
  "api/webhooks/[provider]/[token]/route.ts",
  "l/[...path]/route.ts",
  "manifest.webmanifest/route.ts",
  "metrics/route.ts",
  "shared/take/route.ts",
];

/** Every page; pages hold no data of users, which they ask for over tRPC. */
const pages = [
  "admin/assistant/page.tsx",
  "admin/audit/page.tsx",
  "admin/deliveries/page.tsx",
  "admin/jobs/[id]/page.tsx",
  "admin/jobs/page.tsx",
  "admin/nodes/page.tsx",
  "admin/page.tsx",
  "admin/providers/page.tsx",
  "admin/queues/page.tsx",
  "admin/users/[id]/page.tsx",
  "admin/users/page.tsx",
  "assistant/memory/page.tsx",
  "assistant/page.tsx",
  "batches/[id]/page.tsx",
  "boards/[id]/page.tsx",
  "compare/page.tsx",
  "create/page.tsx",
  "edit/[image]/page.tsx",
  "edit/page.tsx",
  "gallery/duplicates/page.tsx",
  "gallery/page.tsx",
  "jobs/[id]/page.tsx",
  "jobs/page.tsx",
  "lookbook/page.tsx",
  "origin/page.tsx",
  "page.tsx",
  "settings/page.tsx",
  "shared/page.tsx",
  "sign-in/new-password/page.tsx",
  "sign-in/page.tsx",
  "wardrobe/page.tsx",
];

const served =
  /^(route|page|default|sitemap|robots|manifest|icon|apple-icon|opengraph-image|twitter-image)\d*\.[jt]sx?$/;

async function sourcesOf(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && /\.[jt]sx?$/.test(entry.name))
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)))
    .toSorted();
}

const read = (file: string) => readFile(path.join(import.meta.dirname, file), "utf8");

/** Each handler answers every method itself, since Next refuses one without saying which are taken. */
const methods = ["DELETE", "GET", "OPTIONS", "PATCH", "POST", "PUT"];

test("S1 every route and page that Next serves is declared, and answers every method through the services", async () => {
  const files = (await sourcesOf(import.meta.dirname)).filter((file) => served.test(path.basename(file)));
  expect(files).toEqual([...handlers, ...pages].toSorted());
  for (const file of handlers) {
    const source = await read(file);
    expect([file, source.includes("const handler = withServices(")]).toEqual([file, true]);
    const exported = source.match(/export [^;]*;/g)?.join("\n") ?? "";
    const found = exported.match(/\b(GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS)\b/g) ?? [];
    expect([file, found.toSorted()]).toEqual([file, methods]);
  }
});

test("S1 no file makes a server action, which Next would serve beside the routes", async () => {
  for (const file of await sourcesOf(import.meta.dirname)) {
    if (/\.test\.tsx?$/.test(file)) continue;
    expect([file, /^\s*["']use server["']/m.test(await read(file))]).toEqual([file, false]);
  }
});

test("U1 no page shows a sample picture of more than 60 kB, and each that may be taken has a small one", async () => {
  const sources = (await sourcesOf(import.meta.dirname)).filter((file) => file.endsWith(".tsx"));
  const texts = (await Promise.all(sources.map(read))).join("\n");
  const shown = [...texts.matchAll(/src=[{"`]+(\/samples\/[^"`]*)/g)].map(([, file]) => String(file));
  const taken = [...(await read("studio/inputs.tsx")).matchAll(/file: "([\w.]+)"/g)].map(([, file]) =>
    String(file).replace(/\.\w+$/, ".webp"),
  );
  expect([shown.length, taken.length]).toEqual([1, 5]);
  for (const file of [...shown, ...taken.map((name) => `/samples/small/${name}`)]) {
    const { size } = await stat(path.join(import.meta.dirname, "../public", file));
    expect([file, size < 60_000]).toEqual([file, true]);
  }
});
