import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import superjson from "superjson";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { addNode, readJob } from "@atelier/testing/jobs";
import {
  createTestServices,
  openAdmin,
  openOwner,
  testOrigin,
  type TestOwner,
  type TestServices,
} from "@atelier/testing/services";
import { searchJobs, searchJobsSchema } from "../jobs/index.ts";
import { currentRequestId, newId, openLog, underRequestId } from "../platform/index.ts";
import { createHttpApp, handleAuth, handleTrpc, metricsResponse } from "./index.ts";
import { createContext, t } from "./trpc/init.ts";
import { memberProcedure } from "./trpc/procedures.ts";

let opened: TestServices;
let owner: TestOwner;
let logDir: string;
let printed: string[] = [];

beforeAll(async () => {
  vi.spyOn(process.stdout, "write").mockImplementation((line) => printed.push(String(line)) > 0);
  logDir = await mkdtemp(path.join(os.tmpdir(), "atelier-log-"));
  const log = await openLog({ env: { LOG_LEVEL: "info", ATELIER_DATA_DIR: logDir }, name: "web" });
  opened = await createTestServices({ log });
  owner = await openOwner(opened.services, "admin@example.com", openAdmin);
  await addNode(opened.services);
});
afterAll(async () => {
  vi.restoreAllMocks();
  await opened.close();
  await rm(logDir, { recursive: true, force: true });
});
beforeEach(() => {
  printed = [];
});

/** The log lines so far with their ids. */
const lines = () =>
  printed
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as { msg: string; requestId?: string; jobId?: string });

const upscale = () => ({ kind: "upscale", inputs: { image: owner.imageId } });

async function http(route: string, { id, body }: { id?: string; body?: unknown } = {}) {
  const request = new Request(`${testOrigin}/api/v1${route}`, {
    method: body === undefined ? "GET" : "POST",
    headers: {
      authorization: `Bearer ${owner.apiKey}`,
      "content-type": "application/json",
      ...(id === undefined ? {} : { "x-request-id": id }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return createHttpApp(opened.services).fetch(request);
}

function trpc(procedure: string, input: object, id: string) {
  const headers = { ...Object.fromEntries(owner.browser.headers), "content-type": "application/json" };
  const request = new Request(`${testOrigin}/api/trpc/${procedure}`, {
    method: "POST",
    headers: { ...headers, "x-request-id": id },
    body: superjson.stringify(input),
  });
  return handleTrpc(opened.services, request);
}

const idOf = (response: Response) => response.headers.get("x-request-id") ?? "";

test("C6 over HTTP a request's id is in its answer, its log lines and its job", async () => {
  const response = await http("/jobs", { id: "client:4711/a", body: upscale() });
  expect([response.status, idOf(response)]).toEqual([202, "client:4711/a"]);
  const { id } = (await response.json()) as { id: string };
  expect(lines()).toMatchObject([
    { msg: "job accepted", jobId: id, requestId: "client:4711/a" },
    { msg: "http request", requestId: "client:4711/a" },
  ]);
  expect((await readJob(opened.services, id)).requestId).toBe("client:4711/a");
  expect(await (await http(`/jobs/${id}`)).json()).toMatchObject({ requestId: "client:4711/a" });
});

test("C6 a problem names its request", async () => {
  const response = await http(`/jobs/${newId()}`, { id: "asked-for-nothing" });
  expect([response.status, idOf(response)]).toEqual([404, "asked-for-nothing"]);
  expect(await response.json()).toMatchObject({ code: "not_found", requestId: "asked-for-nothing" });
  const nowhere = await http("/nowhere");
  expect(await nowhere.json()).toMatchObject({ requestId: idOf(nowhere) });
});

test("C6 over tRPC, too, also in errors", async () => {
  const accepted = await trpc("jobs.submit", upscale(), "from-the-page");
  expect([accepted.status, idOf(accepted)]).toEqual([200, "from-the-page"]);
  const { result } = (await accepted.json()) as { result: { data: { json: { id: string } } } };
  expect((await readJob(opened.services, result.data.json.id)).requestId).toBe("from-the-page");
  const refused = await trpc("jobs.cancel", { id: newId() }, "refused");
  expect([refused.status, idOf(refused)]).toEqual([404, "refused"]);
  expect(JSON.stringify(await refused.json())).toContain('"requestId":"refused"');
  const calls = lines().filter(({ msg }) => msg === "procedure call");
  expect(calls.map(({ requestId }) => requestId)).toEqual(["from-the-page", "refused"]);
});

test("C6 the answers of accounts and of the metrics have one as well", async () => {
  const { services } = opened;
  const headers = { "x-request-id": "one" };
  const auth = await handleAuth(services, new Request(`${testOrigin}/api/auth/get-session`, { headers }));
  const metrics = await metricsResponse(services, new Request(`${testOrigin}/metrics`, { headers }));
  expect([idOf(auth), idOf(metrics)]).toEqual(["one", "one"]);
  expect(await metrics.json()).toMatchObject({ code: "unauthorized", requestId: "one" });
});

test.each([
  ["none", undefined],
  ["an empty one", ""],
  ["one of 129 characters", "x".repeat(129)],
  ["one with a space", "a b"],
  ["one with a quote", 'a"b'],
  ["one of other letters", "ü"],
])("C6 instead of %s a request gets a new id", async (_what, id) => {
  const answers = await Promise.all([1, 2].map(() => http("/jobs", id === undefined ? {} : { id })));
  const [first = "", second = ""] = answers.map(idOf);
  expect(first).toMatch(/^req-[0-9a-f-]{36}$/);
  expect(second).toMatch(/^req-[0-9a-f-]{36}$/);
  expect(second).not.toBe(first);
  expect(lines().map(({ requestId }) => requestId)).toEqual(expect.arrayContaining([first, second]));
});

test("C6 128 characters are taken", async () => {
  const id = "a".repeat(128);
  expect(idOf(await http("/jobs", { id }))).toBe(id);
});

test("C6 requests at the same time keep their ids apart; what goes on after the answer has none", async () => {
  const { log } = opened.services;
  const answered = Promise.withResolvers<void>();
  const late: Promise<void>[] = [];
  const ids = ["one", "two", "three"];
  await Promise.all(
    ids.map((id) =>
      underRequestId({ id }, async () => {
        await new Promise((resolve) => setImmediate(resolve));
        log.info({ id }, "in time");
        const goOn = async () => {
          await answered.promise;
          log.info({ id }, "late");
          expect(currentRequestId()).toBeNull();
        };
        late.push(goOn());
      }),
    ),
  );
  answered.resolve();
  await Promise.all(late);
  const inTime = lines().filter(({ msg }) => msg === "in time");
  expect(new Set(inTime.map(({ requestId }) => requestId))).toEqual(new Set(ids));
  expect(inTime).toHaveLength(ids.length);
  expect(inTime).toEqual(inTime.map((line) => ({ ...line, id: line.requestId })));
  const after = lines().filter(({ msg }) => msg === "late");
  expect(after.map((line) => "requestId" in line)).toEqual([false, false, false]);
});

test("C6 a stream's line at its end carries the id of its request", async () => {
  const router = t.router({
    stream: memberProcedure.subscription(async function* () {
      yield await Promise.resolve(1);
    }),
  });
  const request = new Request(testOrigin, { headers: owner.browser.headers });
  const values = await underRequestId({ id: "of-the-stream" }, () =>
    router.createCaller(createContext(opened.services, request)).stream(),
  );
  expect(lines()).toEqual([]);
  for await (const value of values) expect(value).toBe(1);
  expect(lines()).toMatchObject([{ msg: "procedure call", requestId: "of-the-stream" }]);
});

test.each(["req-of-a-proxy", newId()])("O4 an admin finds the job of request %s", async (requestId) => {
  const { id } = (await (await http("/jobs", { id: requestId, body: upscale() })).json()) as { id: string };
  const found = await searchJobs(opened.services, searchJobsSchema.parse({ text: requestId }));
  expect(found.items.map((job) => job.id)).toEqual([id]);
});
