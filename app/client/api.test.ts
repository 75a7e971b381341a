import { createTRPCClient, httpBatchLink } from "@trpc/client";
import superjson from "superjson";
import { expect, test } from "vitest";
import type { AppRouter } from "@atelier/server/api";
import { createClient, wire } from "./api.ts";
import { failureOf } from "../ui/failures.ts";

const sent = (value: unknown) => JSON.parse(JSON.stringify(value));
const day = new Date("2026-11-28T12:00:00.000Z");

const beyondJson = { ratio: Number.NaN, most: Infinity };

const values: Readonly<Record<string, unknown>> = {
  nothing: undefined,
  null: null,
  text: "2026-11-28",
  date: day,
  "dates deep inside": { items: [{ at: day, name: "a" }, { at: null }], next: { until: day } },
  "an absent value": { cursor: undefined, items: [undefined, 1] },
  "keys with dots and backslashes": { "a.b": { "c\\d": day }, a: { b: day } },
  "the same object twice": [{ at: day }].flatMap((one) => [one, one]),
};

for (const [name, value] of Object.entries(values)) {
  test(`the browser reads what the server wrote: ${name}`, () => {
    expect(wire.deserialize(sent(superjson.serialize(value)))).toEqual(value);
  });

  test(`the server reads what the browser wrote: ${name}`, () => {
    expect(superjson.deserialize(sent(wire.serialize(value)))).toEqual(
      name === "an absent value" ? { items: [null, 1] } : value,
    );
  });
}

test("numbers that JSON lacks are read, and not sent as nothing", () => {
  expect(wire.deserialize(sent(superjson.serialize(beyondJson)))).toEqual(beyondJson);
  expect(() => wire.serialize(beyondJson)).toThrow(TypeError);
});

test("what no answer has is refused, not read as something else", () => {
  expect(() => wire.deserialize(sent(superjson.serialize(new Set([1]))))).toThrow(TypeError);
});

interface Sent {
  readonly method: string;
  readonly address: string;
  readonly body: unknown;
}

/** Answers each call of a request with its number, or all of them with what is given. */
function start(answer?: unknown, ways = { queries: 10, mutations: 5 }) {
  const sent: Sent[] = [];
  const fetch = (
    input: unknown,
    init: { method?: string; body?: unknown; signal?: AbortSignal | null } = {},
  ) => {
    const { pathname, search } = new URL(String(input), "http://studio.test");
    sent.push({ method: init.method ?? "GET", address: pathname + search, body: init.body });
    const each = pathname.split(",").map((_, at) => ({ result: { data: { json: at + 1 } } }));
    return init.signal?.aborted
      ? Promise.reject(init.signal.reason)
      : Promise.resolve(Response.json(answer ?? each));
  };
  const link = httpBatchLink({ url: "http://studio.test/api/trpc", transformer: wire, fetch });
  return {
    client: createClient({ fetch, ...ways }),
    usual: createTRPCClient<AppRouter>({ links: [link] }),
    sent,
  };
}

test("calls of one moment are sent as tRPC's own client sends them, and each gets its answer", async () => {
  const { client, usual, sent } = start();
  const input = { search: "a, b & ü", limit: 2 };
  const made = { name: "two", at: day };
  for (const { account, tags, images, jobs, boards } of [client, usual]) {
    const queries = [account.me.query(), tags.list.query(), images.list.query(input)];
    expect(await Promise.all(queries)).toEqual([1, 2, 3]);
    await jobs.cancel.mutate({ id: "one" });
    await boards.create.mutate(made);
  }
  expect(sent.slice(3)).toEqual(sent.slice(0, 3));
});

test("one request has at most so many calls, and a call that goes alone does not wait", async () => {
  const { client, sent } = start(undefined, { queries: 2, mutations: 1 });
  await Promise.all([1, 2, 3].map(() => client.account.me.query()));
  expect(sent.map(({ address }) => address.split("?")[0])).toEqual([
    "/api/trpc/account.me,account.me",
    "/api/trpc/account.me",
  ]);
  void client.jobs.cancel.mutate({ id: "one" });
  expect(sent).toHaveLength(3);
});

test.each<[string, unknown]>([
  [
    "of each call",
    [{ error: { json: { message: "No such job.", code: -32_004, data: { appCode: "not_found" } } } }],
  ],
  ["of all", { error: { json: { message: "No such job.", code: -32_004, data: { appCode: "not_found" } } } }],
])("a refusal %s rejects with the reason of the server", async (_, answer) => {
  const error = await start(answer)
    .client.jobs.cancel.mutate({ id: "one" })
    .catch((thrown: unknown) => thrown);
  expect(failureOf(error)).toMatchObject({ code: "not_found", message: "No such job." });
});

test.each<[string, unknown]>([
  ["no answer", []],
  ["something else", "<html>"],
])("%s counts as being offline", async (_, answer) => {
  const error = await start(answer)
    .client.account.me.query()
    .catch((thrown: unknown) => thrown);
  expect(failureOf(error).code).toBe("offline");
});

test("an answer that cannot be read fails its own call alone", async () => {
  const answers = [new Set([1]), { id: "b" }, new Set([2])];
  const body = answers.map((value) => ({ result: { data: superjson.serialize(value) } }));
  const client = createClient({ fetch: async () => Response.json(body), queries: 10, mutations: 5 });
  const settled = await Promise.allSettled(["a", "b", "c"].map((id) => client.jobs.get.query({ id })));
  expect(settled.map(({ status }) => status)).toEqual(["rejected", "fulfilled", "rejected"]);
});

test("a call that was given up rejects, others go on, and a subscription is refused", async () => {
  const { client, sent } = start();
  const leaving = new AbortController();
  const given = client.account.me.query(undefined, { signal: leaving.signal });
  const kept = client.tags.list.query();
  leaving.abort();
  await expect(given).rejects.toThrow(/abort/);
  expect(await kept).toBe(1);
  expect(sent.map(({ address }) => address.split("?")[0])).toEqual(["/api/trpc/tags.list"]);
  expect(() => client.jobs.watch.subscribe({}, {})).toThrow(TypeError);
});
