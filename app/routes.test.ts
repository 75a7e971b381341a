import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";

/** Every handler that Next serves, with its methods. What is behind each is covered by the access tests of the server. */
const handlers: Readonly<Record<string, readonly string[]>> = {
  "(clients)/image/raw/[...key]/route.ts": ["GET"],
  "(clients)/images/[userId]/route.ts": ["GET"],
  "(clients)/inpaint/route.ts": ["POST"],
  "(clients)/iopaint/[...path]/route.ts": ["GET", "POST"],
  "(clients)/jobChangeOutfit/route.ts": ["POST"],
  "(clients)/jobResult/route.ts": ["GET"],
  "(clients)/jobsRedis/route.ts": ["POST"],
  "(clients)/model/route.ts": ["GET", "POST"],
  "(clients)/run_plugin/route.ts": ["POST"],
  "(clients)/server_config/route.ts": ["GET"],
  "(clients)/upload/route.ts": ["POST"],
  "api/auth/[...all]/route.ts": ["GET", "POST"],
  "api/clients/jobs/route.ts": ["POST"],
  "api/generations/[id]/route.ts": ["GET"],
  "api/generations/create/route.ts": ["POST"],
  "api/health/route.ts": ["GET"],
  "api/query/[id]/status/route.ts": ["GET"],
  "api/query/route.ts": ["POST"],
  "api/ready/route.ts": ["GET"],
  "api/trpc/[trpc]/route.ts": ["GET", "POST"],
  "api/v1/[[...path]]/route.ts": ["DELETE", "GET", "PATCH", "POST", "PUT"],
  "api/webhooks/[provider]/[token]/route.ts": ["POST"],
  "metrics/route.ts": ["GET"],
};

/** Every page; pages hold no data of users, which they ask for over tRPC. */
const pages = [
  "admin/assistant/page.tsx",
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
  "create/page.tsx",
  "edit/[image]/page.tsx",
  "gallery/page.tsx",
  "jobs/[id]/page.tsx",
  "jobs/page.tsx",
  "page.tsx",
  "settings/page.tsx",
  "sign-in/new-password/page.tsx",
  "sign-in/page.tsx",
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

test("S1 every route and page that Next serves is declared, with its methods", async () => {
  const files = (await sourcesOf(import.meta.dirname)).filter((file) => served.test(path.basename(file)));
  expect(files).toEqual([...Object.keys(handlers), ...pages].toSorted());
  for (const [file, methods] of Object.entries(handlers)) {
    const exported = (await read(file)).match(/export [^;]*;/g)?.join("\n") ?? "";
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
