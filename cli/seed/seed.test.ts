// @module-tag all
import { globSync } from "node:fs";
import net from "node:net";
import path from "node:path";
import { eq } from "drizzle-orm";
import superjson from "superjson";
import { handleTrpc } from "@atelier/server/api";
import { createNodeWatch } from "@atelier/server/nodes";
import { jobStatuses, schema } from "@atelier/server/db";
import { findBrokenInvariants } from "@atelier/testing/jobs";
import {
  createTestServices,
  openAccount,
  openOwner,
  openTestBrowser,
  testOrigin,
  type TestBrowser,
  type TestServices,
} from "@atelier/testing/services";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { waitUntil } from "../../scripts/process/tools.ts";
import { seed } from "./index.ts";
import type * as localParts from "./local.ts";
import { addNodes, playNodes } from "./nodes.ts";

// The second fill gets what the engine made for the first: it is about rows, and the engine would make the same again.
vi.mock("./local.ts", async (importOriginal) => {
  const local = await importOriginal<typeof localParts>();
  let made: ReturnType<typeof local.makeLocally> | undefined;
  return {
    ...local,
    makeLocally: (services: TestServices["services"]) => (made ??= local.makeLocally(services)),
  };
});

let fixture: TestServices;
let ada: TestBrowser;
const calledHosts = new Set<string>();

beforeAll(async () => {
  fixture = await createTestServices();
  const { DATABASE_URL, AUTH_SECRET, ATELIER_DATA_DIR } = fixture.services.env;
  const mail = { SMTP_URL: "smtp://127.0.0.1:1", SMTP_FROM: "Atelier <atelier@example.com>" };
  const env = { DATABASE_URL, AUTH_SECRET, ATELIER_DATA_DIR, LOG_LEVEL: "silent", ...mail };
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  const connect = Reflect.get(net.Socket.prototype, "connect");
  const watched = vi.spyOn(net.Socket.prototype, "connect").mockImplementation(function (
    this: net.Socket,
    ...args
  ) {
    calledHosts.add(hostOf(args));
    return Reflect.apply(connect, this, args);
  });
  // Somebody without anything is no reason to refuse.
  await openAccount(fixture.services, "empty@example.com");
  const { out, said } = await run();
  watched.mockRestore();
  ada = openTestBrowser(fixture.services);
  const answer = await ada.auth("/sign-in/email", { email: "ada@seed.example", password: out });
  if (!answer.ok) throw new Error(`the sign-in answered ${answer.status} after: ${said}`);
  // The engine makes every picture: half a minute of a quiet machine.
}, 180_000);
afterAll(async () => {
  vi.unstubAllEnvs();
  await fixture.close();
});
afterEach(() => vi.restoreAllMocks());

/** The host that a call of `connect` names, in any of its forms; a path for a socket of this machine. */
function hostOf(args: readonly unknown[]): string {
  const [first, second] = args.flat();
  if (typeof first === "object" && first !== null) {
    const { path: file, host = "localhost" } = Object(first);
    return String(file ?? host);
  }
  return typeof second === "string" ? second : "localhost";
}

/** Runs `atelier seed` in this process: the command itself opens and closes what it needs. */
async function run(...args: string[]) {
  const out = vi.spyOn(console, "log").mockReturnValue();
  const said = vi.spyOn(console, "error").mockReturnValue();
  const code = await seed(args);
  const linesOf = (spy: typeof out) => spy.mock.calls.flat().join("\n");
  const answer = { code, out: linesOf(out), said: linesOf(said) };
  vi.restoreAllMocks();
  return answer;
}

/** Asks as the page of the seeded admin does. */
async function read(procedure: string, input: unknown = {}): Promise<Record<string, unknown>> {
  const query = new URLSearchParams({ input: superjson.stringify(input) });
  const request = new Request(`${testOrigin}/api/trpc/${procedure}?${query.toString()}`, {
    headers: ada.headers,
  });
  const answer = await handleTrpc(fixture.services, request);
  const text = await answer.text();
  expect(answer.status, `${procedure}: ${text}`).toBe(200);
  return superjson.deserialize(JSON.parse(text).result.data);
}

type Item = Record<string, unknown> & { readonly id: string };

async function items(procedure: string, input?: unknown): Promise<Item[]> {
  const found: unknown = (await read(procedure, input))["items"];
  return found as Item[];
}

const firstId = async (procedure: string, input?: unknown) => (await items(procedure, input))[0]?.id;

const latestFailed = () => firstId("admin.jobs.search", { status: "failed" });

/** The rows that each page of the studio shows; all of them are there. */
const pages: Readonly<Record<string, () => Promise<unknown>[]>> = {
  "page.tsx": () => [
    items("jobs.recentInputs", { role: "person", limit: 8 }),
    items("jobs.recentInputs", { role: "garment", limit: 8 }),
  ],
  "wardrobe/page.tsx": () => [items("wardrobe.list")],
  "lookbook/page.tsx": () => [items("wardrobe.list")],
  // Shows what a dropped file says.
  "origin/page.tsx": () => [items("images.list")],
  "create/page.tsx": () => [items("jobs.list", { kind: "text_to_image" })],
  "gallery/page.tsx": () => [items("images.list")],
  "gallery/duplicates/page.tsx": () => [read("duplicates.list").then(({ groups }) => groups)],
  // Both show pictures of the gallery that were chosen there.
  "compare/page.tsx": () => [items("images.list")],
  "edit/page.tsx": () => [items("images.list")],
  "edit/[image]/page.tsx": () => [firstId("images.list").then((id) => read("images.get", { id }))],
  "batches/[id]/page.tsx": () => [
    firstId("batches.list")
      .then((id) => read("batches.get", { id }))
      .then(({ jobs }) => jobs),
  ],
  "boards/[id]/page.tsx": () => [firstId("boards.list").then((id) => items("boards.pictures", { id }))],
  "jobs/page.tsx": () => [items("jobs.list")],
  "jobs/[id]/page.tsx": () => [
    firstId("jobs.list")
      .then((id) => read("jobs.get", { id }))
      .then(({ events }) => events),
  ],
  "assistant/page.tsx": () => [
    items("assistant.conversations"),
    firstId("assistant.conversations")
      .then((id) => read("assistant.conversation", { id }))
      .then(({ turns }) => turns),
  ],
  "assistant/memory/page.tsx": () => [items("memories.list")],
  "settings/page.tsx": () => [items("apiKeys.list"), items("webhooks.list"), items("deliveries.list")],
  "admin/page.tsx": () => [
    read("admin.overview").then(({ queues }) =>
      (queues as { running: number }[]).filter(({ running }) => running > 0),
    ),
  ],
  "admin/jobs/page.tsx": () => [items("admin.jobs.search")],
  "admin/jobs/[id]/page.tsx": () => [
    latestFailed()
      .then((id) => read("admin.jobs.story", { id }))
      .then(({ logs }) => logs),
  ],
  "admin/nodes/page.tsx": () => [
    items("admin.nodes.list"),
    items("admin.nodes.list").then((nodes) => nodes.flatMap(({ servers }) => servers)),
  ],
  "admin/queues/page.tsx": () => [
    read("admin.overview").then(({ queues }) =>
      (queues as { waiting: number }[]).filter(({ waiting }) => waiting > 0),
    ),
  ],
  "admin/providers/page.tsx": () => [items("admin.cloud.spend"), items("admin.cloud.providers")],
  "admin/users/page.tsx": () => [items("admin.users.list"), items("admin.invitations.list")],
  "admin/users/[id]/page.tsx": () => [
    firstId("admin.users.list").then((id) => read("admin.users.get", { id })),
  ],
  "admin/audit/page.tsx": () => [items("admin.audit.search")],
  "admin/deliveries/page.tsx": () => [items("admin.deliveries.search")],
  "admin/assistant/page.tsx": () => [
    items("admin.assistant.runs"),
    items("admin.assistant.prompts"),
    read("admin.assistant.figures").then(({ stages }) =>
      (stages as { runs: number }[]).filter(({ runs }) => runs > 0),
    ),
  ],
};

/** Forms, and photos that the browser alone keeps: they show no rows. */
const withoutRows = ["sign-in/page.tsx", "sign-in/new-password/page.tsx", "shared/page.tsx"];

test("the list of pages is that of the studio", () => {
  const found = globSync("**/page.tsx", { cwd: path.join(import.meta.dirname, "../../app") });
  expect([...Object.keys(pages), ...withoutRows].toSorted()).toEqual(found.toSorted());
});

test.each(Object.keys(pages))("app/%s has something to show", async (page) => {
  for (const part of await Promise.all(pages[page]?.() ?? [])) {
    expect(part).toEqual(expect.anything());
    expect(Array.isArray(part) ? part : [part]).not.toEqual([]);
  }
});

test("the wardrobe has garments of all kinds that can be worn, shoes, and persons who agree; a lookbook and an outfit are done", async () => {
  const kept = await items("wardrobe.list");
  const categories = new Set(kept.flatMap(({ category }) => category ?? []));
  expect([...categories].map(String).toSorted()).toEqual(["bottom", "dress", "outerwear", "shoes", "top"]);
  const persons = kept.filter(({ what }) => what === "person");
  expect(persons.length).toBeGreaterThan(1);
  expect(persons.filter(({ hasConsent }) => hasConsent !== true)).toEqual([]);
  const batches = await items("batches.list");
  const ofTitle = async (title: string) =>
    read("batches.get", { id: batches.find((batch) => batch["title"] === title)?.id });
  expect(await ofTitle("Lookbook")).toMatchObject({
    jobs: [{ job: { status: "completed" } }, { job: { status: "completed" } }],
  });
  expect(await ofTitle("Tee and hoodie")).toMatchObject({
    jobs: [{ job: { status: "completed" }, steps: { begun: 1, count: 1, stopped: null } }],
  });
});

test.each(jobStatuses)("there is a job that is %s", async (status) => {
  expect((await items("jobs.list", { status }))[0]).toMatchObject({ status });
});

test("rows, stories and files are as the studio itself leaves them, and nothing outside was called", async () => {
  expect(await findBrokenInvariants(fixture.services)).toEqual([]);
  const { hostname } = new URL(String(fixture.services.env.DATABASE_URL));
  expect([...calledHosts].filter((host) => host !== hostname && !host.startsWith("/"))).toEqual([]);
});

test("no open job may be sent to a provider, and nothing is owed to a receiver", async () => {
  const { db } = fixture.services;
  const jobs = await db.select().from(schema.jobs);
  expect(jobs.filter(({ endedAt, ownOnly }) => endedAt === null && !ownOnly)).toEqual([]);
  const endpoints = await db.select().from(schema.webhookEndpoints);
  expect(endpoints.filter(({ isEnabled }) => isEnabled)).toEqual([]);
  const { deliveries } = schema;
  expect(await db.$count(deliveries, eq(deliveries.event, "account.changed"))).toBe(0);
});

async function countRows(): Promise<number[]> {
  const { users, jobs, images, nodes, providerAttempts, modelCalls, deliveries, assistantRuns } = schema;
  const tables = [users, jobs, images, nodes, providerAttempts, modelCalls, deliveries, assistantRuns];
  return Promise.all(tables.map((table) => fixture.services.db.$count(table)));
}

// It fills the studio once more.
test(
  "beside others it fills only with --add, anew at each call, and --remove takes away what is its own",
  { timeout: 240_000 },
  async () => {
    const { services } = fixture;
    const before = await countRows();
    const { imageId, jobId } = await openOwner(services, "owner@example.com");
    const withOwner = await countRows();
    expect(await run()).toMatchObject({ code: 1, out: "", said: expect.stringMatching(/--add/) });
    expect(await countRows()).toEqual(withOwner);
    expect(await run("--add")).toMatchObject({ code: 0, said: expect.stringContaining("Removed 5 people") });
    expect(await countRows()).toEqual(withOwner);
    expect(await run("--remove")).toMatchObject({ code: 0, out: "" });
    const left = withOwner.map((rows, at) => rows - (before[at] ?? 0));
    // The account without anything was there before the first call.
    expect(await countRows()).toEqual(left.map((rows, at) => rows + (at === 0 ? 1 : 0)));
    expect((await services.db.select().from(schema.images)).map(({ id }) => id)).toEqual([imageId]);
    expect((await services.db.select().from(schema.jobs)).map(({ id }) => id)).toEqual([jobId]);
  },
);

test("a played worker is alive to the watch of others until the command ends", async () => {
  const { services } = fixture;
  const nodes = await addNodes(services);
  let nowMs = 0;
  const watch = createNodeWatch(() => nowMs);
  const { lostAfterMs, watchGapMs } = services.config.timing;
  const ids = [nodes.graphicsId, nodes.plainId].toSorted();
  // Those of the seed before are lost for good.
  const look = async () => {
    const lost: string[] = [];
    const untilMs = nowMs + lostAfterMs - 1;
    for (; nowMs < untilMs; nowMs += watchGapMs) lost.push(...(await watch.read(services)));
    return lost.filter((id) => ids.includes(id));
  };
  const counter = async () =>
    (await services.db.select().from(schema.nodes)).reduce((sum, row) => sum + row.counter, 0);
  const over = new AbortController();
  const playing = playNodes(services, nodes, over.signal);
  for (let round = 0; round < 3; round += 1) {
    const before = await counter();
    expect(await waitUntil(async () => (await counter()) > before, 60_000)).toBe(true);
    expect(await look()).toEqual([]);
  }
  over.abort();
  await playing;
  expect([...(await look()), ...(await look())].toSorted()).toEqual(ids);
});
