import {
  createTestServices,
  openAdmin,
  openOwner,
  testOrigin,
  type TestOwner,
  type TestServices,
} from "@atelier/testing/services";
import { addImage, addJob } from "@atelier/testing/jobs";
import { eq } from "drizzle-orm";
import superjson from "superjson";
import { afterAll, beforeAll, expect, test } from "vitest";
import { schema } from "../db/index.ts";
import { handleClients, handleHttp, handleTrpc } from "./index.ts";
import { readInput } from "./trpc/wire.ts";

let fixture: TestServices;
let owner: TestOwner;

beforeAll(async () => {
  fixture = await createTestServices({ env: { EXISTING_CLIENTS: "1" } });
  owner = await openOwner(fixture.services, "owner@example.com", openAdmin);
});
afterAll(() => fixture.close());

const json = { "content-type": "application/json" };
const withKey = () => ({ authorization: `Bearer ${owner.apiKey}`, ...json });

const call = (path: string, sent: unknown) => {
  const url = `${testOrigin}/api/trpc/${path}?input=${encodeURIComponent(JSON.stringify(sent))}`;
  return handleTrpc(fixture.services, new Request(url, { headers: owner.browser.headers }));
};

const numbers = Array.from({ length: 40 }, (_, at) => at);

test.each([
  ["an array of a billion numbers", { json: 1e9, meta: { values: [["typed-array", "Float64Array"]] } }],
  ["one in a member", { json: { id: 1e9 }, meta: { values: { id: [["typed-array", "Int8Array"]] }, v: 1 } }],
  ["a set", { json: numbers, meta: { values: ["set"], referentialEqualities: { 1: ["39", "38"] }, v: 1 } }],
  ["a map of an error", { json: [["a", {}]], meta: { values: ["map", { "0.1": ["Error"] }], v: 1 } }],
  ["no number", { json: { id: "abc" }, meta: { values: { id: ["bigint"] }, v: 1 } }],
  ["no expression", { json: { id: "/(/" }, meta: { values: { id: ["regexp"] }, v: 1 } }],
  ["an unknown class", { json: {}, meta: { values: [["class", "Caller"]], v: 1 } }],
  [
    "an index of billions",
    { json: { ids: [] }, meta: { values: { "ids.4294967294": ["undefined"] }, v: 1 } },
  ],
  ["one of the whole", { json: [], meta: { values: { 4294967294: ["Date"] }, v: 1 } }],
  ["a length", { json: { ids: [] }, meta: { values: { "ids.length": ["Date"] }, v: 1 } }],
  ["types in types", { json: { a: {} }, meta: { values: { a: { b: ["Date"] } }, v: 1 } }],
  ["a date of a list", { json: { id: [] }, meta: { values: { id: ["Date"] }, v: 1 } }],
  ["a path into every object", { json: {}, meta: { values: { "__proto__.a": ["undefined"] }, v: 1 } }],
])("S1 what a request says of its types is refused, not made: %s", async (_what, sent) => {
  const answer = await call("jobs.get", sent);
  expect([answer.status, await answer.text()]).toEqual([400, expect.stringMatching(/not taken|issues/)]);
  const live = await call("jobs.watch", sent);
  expect(await live.text()).toContain("bad_request");
});

test("a path of very many names is passed over once", async () => {
  const names = Object.fromEntries(
    Array.from({ length: 20_000 }, (_, at) => [`${"a.".repeat(20)}${at}`, ["Date"]]),
  );
  const sent = { json: {}, meta: { values: { [`${"a.".repeat(200_000)}b`]: ["Date"], ...names }, v: 1 } };
  expect(() => readInput(sent)).toThrow("not taken");
});

test("what is sent is read as it was, whatever its names, and as little as a page sends where there is no input", async () => {
  const value = { "a.b": { "c\\d": [new Date(0), { "": new Date(1) }], e: "2026" } };
  expect(readInput(JSON.parse(superjson.stringify(value)))).toEqual(value);
  expect(readInput(JSON.parse(superjson.stringify(undefined)))).toBeUndefined();
  expect(readInput(JSON.parse(superjson.stringify(new Date(5))))).toEqual(new Date(5));
  expect(readInput({})).toBeUndefined();
  expect((await call("account.me", {})).status).toBe(200);
  const live = await call("jobs.watch", {});
  expect([live.status, live.headers.get("content-type")]).toEqual([
    200,
    expect.stringContaining("event-stream"),
  ]);
  await live.body?.cancel();
});

test("dates and absent values are read, equal parts as often as they stand there", async () => {
  const part = { limit: 1 };
  const sent = JSON.parse(superjson.stringify({ ...part, cursor: undefined })) as unknown;
  expect((await call("jobs.list", sent)).status).toBe(200);
  const doubled = {
    json: { limit: 1, tags: [] },
    meta: { referentialEqualities: { limit: ["cursor"] }, v: 1 },
  };
  expect((await call("jobs.list", doubled)).status).toBe(200);
});

test.each(["constructor", "prototype", "__proto__"])(
  "a job whose marks have a member %s can be read on the pages, by its owner and by admins",
  async (name) => {
    const { services } = fixture;
    const marks = JSON.parse(`{"kept":1,"within":[{"${name}":{"a":1}}],"${name}":2}`) as Record<
      string,
      unknown
    >;
    const { userId } = owner.caller;
    const id = await addJob(services, {
      owner: { userId, isGuest: false, imageId: await addImage(services, userId) },
    });
    await services.db.update(schema.jobs).set({ metadata: marks }).where(eq(schema.jobs.id, id));
    for (const path of ["jobs.get", "admin.jobs.story"]) {
      const answer = await call(path, { json: { id } });
      expect([path, answer.status, await answer.text()]).toEqual([
        path,
        200,
        expect.stringContaining("kept"),
      ]);
    }
    const told = await handleHttp(
      services,
      new Request(`${testOrigin}/api/v1/jobs/${id}`, { headers: withKey() }),
    );
    expect(await told.text()).toContain(`"${name}":2`);
  },
);

const many = (part: string) => `[${`${part},`.repeat(600_000 / part.length)}${part}]`;

test.each([
  ["empty objects", many("{}")],
  ["numbers", many("0")],
  ["lists in lists", `${"[".repeat(150_000)}${"]".repeat(150_000)}`],
  ["names", `{${Array.from({ length: 501_000 }, () => '"":0').join(",")}}`],
])("S1 a body of very many values is refused before it is read: %s", async (_what, body) => {
  const { services } = fixture;
  const post = (path: string, headers: HeadersInit) =>
    new Request(`${testOrigin}${path}`, { method: "POST", headers, body });
  const answers = await Promise.all([
    handleClients(services, post("/mcp", { ...withKey(), accept: "application/json, text/event-stream" })),
    handleClients(services, post("/v1/images/generations", withKey())),
    handleClients(services, post("/sdapi/v1/txt2img", withKey())),
    ...(body.length < 1_048_576
      ? [
          handleHttp(services, post("/api/v1/jobs", withKey())),
          handleClients(services, post("/jobsRedis", withKey())),
          handleTrpc(services, post("/api/trpc/jobs.cancel", { ...json, origin: testOrigin })),
        ]
      : []),
  ]);
  for (const answer of answers)
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining("too many values")]);
});

const post = (path: string, input: unknown) =>
  handleTrpc(
    fixture.services,
    new Request(`${testOrigin}/api/trpc/${path}`, {
      method: "POST",
      headers: { ...Object.fromEntries(owner.browser.headers), ...json },
      body: superjson.stringify(input),
    }),
  );
const above = 2 ** 31;

test.each([
  ["a prompt", "admin.assistant.activatePrompt", "version", () => ({ role: "responder", version: above })],
  ["an edit", "edits.save", "revision", () => ({ imageId: owner.imageId, revision: above })],
  [
    "a place",
    "duplicates.undo",
    "merges.0.places.0.position",
    () => ({ merges: [{ places: [{ position: above }] }] }),
  ],
])("a number that the column cannot hold is a wrong request: of %s", async (_what, path, field, input) => {
  const answer = await post(path, input());
  expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining(`"path":"${field}"`)]);
});

test("a stream cannot go on behind a number that no job reaches", async () => {
  const headers = { ...withKey(), "last-event-id": String(above) };
  const url = `${testOrigin}/api/v1/jobs/${owner.imageId}/events`;
  expect((await handleHttp(fixture.services, new Request(url, { headers }))).status).toBe(400);
});

test("a name of as many letters as it may have is taken, also of letters of two units", async () => {
  expect((await post("apiKeys.create", { name: "😀".repeat(100) })).status).toBe(200);
  expect((await post("apiKeys.create", { name: "😀".repeat(101) })).status).toBe(400);
});

test("a link has no password that its visitors could not give", async () => {
  const ends = { imageIds: [owner.imageId], endsInDays: 1 };
  expect((await post("links.create", { ...ends, password: "😀".repeat(65) })).status).toBe(400);
  expect((await post("links.create", { ...ends, password: "😀".repeat(64) })).status).toBe(200);
});
