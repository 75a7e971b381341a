// @module-tag all
import { gzipSync } from "node:zlib";
import {
  createTestServices,
  openAdmin,
  openOwner,
  testOrigin,
  type TestOwner,
  type TestServices,
} from "@atelier/testing/services";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { z } from "zod";
import { forCasesInTurn, inAll } from "@atelier/testing/cases";
import { newId } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { clientMounts, createClientsApp } from "./clients/app.ts";
import { httpRoutes } from "./http/app.ts";
import { appRouter, createHttpApp, handleTrpc } from "./index.ts";

// Some thousand requests each.
vi.setConfig({ testTimeout: 120_000 });

let fixture: TestServices;
/** Without the limits that would hide a fault. */
let services: Services;
let owner: TestOwner;
let httpApp: ReturnType<typeof createHttpApp>;

beforeAll(async () => {
  fixture = await createTestServices({ env: { EXISTING_CLIENTS: "1" } });
  const { config } = fixture.services;
  const limits = { ...config.limits, apiKeyPerMinute: 1_000_000, openJobs: 1_000_000 };
  services = { ...fixture.services, config: { ...config, limits } };
  httpApp = createHttpApp(services);
  owner = await openOwner(services, "owner@example.com", openAdmin);
});
afterAll(() => fixture.close());

/** Stands for a value that is nested deeper than a test itself could write. */
const deep = "[nested]";

function toWire(value: unknown): string {
  return JSON.stringify(value).replaceAll(JSON.stringify(deep), `${"[".repeat(10_000)}${"]".repeat(10_000)}`);
}
/** What PostgreSQL does not store, one of each kind: `isStorable` judges both by the whole text, wherever in it they are. */
const noText = ["a\0b", "half \ud83d of one"];
const tooMuch: readonly unknown[] = ["x".repeat(50_000), deep, "9".repeat(400)];
const hostile = [...noText, ...tooMuch];

/** Each in a thousand places; what is no text finds most faults. */
const bads = {
  usual: [{ kind: "no text", values: noText }],
  others: [{ kind: "what is long or nested", values: tooMuch }],
} as const;

interface Json {
  readonly [name: string]: unknown;
}
const record = (value: unknown) => (typeof value === "object" && value !== null ? (value as Json) : {});
const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

const ofFormat: Readonly<Record<string, () => unknown>> = {
  uuid: newId,
  "date-time": () => new Date().toISOString(),
  uri: () => "https://hooks.example.org/",
};
const ofType: Readonly<Record<string, (schema: Json) => unknown>> = {
  object: ({ properties }) =>
    Object.fromEntries(Object.entries(record(properties)).map(([name, each]) => [name, sample(each)])),
  array: ({ items }) => [sample(items)],
  number: ({ minimum = 1 }) => minimum,
  integer: ({ minimum = 1 }) => minimum,
  boolean: () => true,
  string: ({ minLength = 1 }) => "a".repeat(Number(minLength)),
};

/** A value that the schema takes, as far as a schema tells. */
function sample(from: unknown): unknown {
  const schema = record(from);
  const choices = list(schema["anyOf"] ?? schema["oneOf"] ?? schema["enum"]);
  if ("const" in schema) return schema["const"];
  if ("enum" in schema) return choices[0];
  if (choices.length > 0) return sample(choices[0]);
  const make = ofFormat[String(schema["format"])] ?? ofType[String(schema["type"])];
  return make?.(schema) ?? null;
}

/** Samples of a schema, each with one bad value in the place of one text, or under a bad name. */
function spoilt(from: unknown, bad: unknown): unknown[] {
  const schema = record(from);
  const choices = list(schema["anyOf"] ?? schema["oneOf"]);
  if (choices.length > 0) return choices.flatMap((each) => spoilt(each, bad));
  if (schema["type"] === "array") return spoilt(schema["items"], bad).map((each) => [each]);
  if (schema["type"] === "object") {
    const whole = record(sample(schema));
    const members = Object.entries(record(schema["properties"])).flatMap(([name, each]) =>
      spoilt(each, bad).map((value) => ({ ...whole, [name]: value })),
    );
    return [...members, { ...whole, [String(bad).slice(0, 100)]: bad }];
  }
  return ["number", "integer", "boolean"].includes(String(schema["type"])) ? [] : [bad];
}

function spoiltOf(schema: z.ZodType | undefined, values: readonly unknown[]): unknown[] {
  if (!schema) return [];
  const described = z.toJSONSchema(schema, { unrepresentable: "any", io: "input" });
  return values.flatMap((bad) => spoilt(described, bad));
}

/** What must not come back: faults of the server, and limits that would hide them. */
async function faultsOf(
  name: string,
  calls: readonly unknown[],
  call: (input: unknown) => Promise<Response>,
) {
  const faults: unknown[] = [];
  for (const input of calls) {
    const response = await call(input);
    await response.body?.cancel();
    if (response.status >= 500 || response.status === 429)
      faults.push([name, response.status, JSON.stringify(input)?.slice(0, 200)]);
  }
  return faults;
}

const bearer = () => ({ authorization: `Bearer ${owner.apiKey}`, "content-type": "application/json" });

interface Procedure {
  readonly _def: { readonly type: string; readonly inputs: readonly z.ZodType[] };
}

forCasesInTurn("S1 $kind of a client makes no procedure fail", bads, async ({ values }) => {
  const procedures = Object.entries(appRouter._def.procedures as unknown as Record<string, Procedure>);
  const faults: unknown[] = [];
  let count = 0;
  for (const [path, { _def }] of procedures) {
    const inputs = _def.inputs.flatMap((schema) => spoiltOf(schema, values));
    count += inputs.length;
    const url = `${testOrigin}/api/trpc/${path}`;
    const call = (input: unknown) => {
      const body = toWire({ json: input });
      const request =
        _def.type === "mutation"
          ? new Request(url, { method: "POST", body, headers: bearer() })
          : new Request(`${url}?input=${encodeURIComponent(body)}`, { headers: bearer() });
      return handleTrpc(services, request);
    };
    faults.push(...(await faultsOf(path, inputs, call)));
  }
  expect(count).toBeGreaterThan(70 * values.length);
  expect(faults).toEqual([]);
});

const badPaths = [
  "%00",
  "a%00b",
  "%ed%a0%80",
  "%ff",
  "%",
  "%zz",
  "%c3%28",
  "x".repeat(5_000),
  "..%2f..",
  "%0d%0a",
];

// The export takes no text, and a user has one at a time.
const routes = httpRoutes.filter(({ operationId }) => operationId !== "exportAccount");

/** How a route is called: with an id in its path, and from an address. */
function callerOf({ method, path }: (typeof routes)[number]) {
  const at = (id: string) => `${testOrigin}/api/v1${path.replaceAll(/\{\w+\}/g, id)}`;
  const send = (url: string, json?: unknown) =>
    Promise.resolve(
      httpApp.fetch(
        new Request(url, {
          method: method.toUpperCase(),
          headers: bearer(),
          ...(json === undefined || method === "get" ? {} : { body: toWire(json) }),
        }),
      ),
    );
  return { at, send };
}

test("S1 no address that is no text makes a route of the HTTP API fail", async () => {
  const faults: unknown[] = [];
  for (const route of routes) {
    const { at, send } = callerOf(route);
    faults.push(
      ...(await faultsOf(route.operationId, badPaths, (id) => send(at(String(id)), sample(null)))),
      ...(await faultsOf(route.operationId, badPaths, (bad) =>
        send(
          `${at(newId())}?${["search", "sessionId", "cursor", "status", "folder", "before"].map((name) => `${name}=${String(bad)}`).join("&")}`,
          {},
        ),
      )),
    );
  }
  expect(faults).toEqual([]);
});

forCasesInTurn("S1 $kind of a client makes no route of the HTTP API fail", bads, async ({ values }) => {
  const faults: unknown[] = [];
  for (const route of routes) {
    const { query, body, bodyDescription, operationId } = route;
    const { at, send } = callerOf(route);
    const queries = spoiltOf(query, values).filter((each) => each !== deep);
    faults.push(
      ...(await faultsOf(operationId, queries, (each) => {
        const pairs = Object.entries(record(each)).filter(([, value]) => value !== deep);
        const text = new URLSearchParams(pairs.map(([name, value]) => [name, String(value)]));
        return send(`${at(newId())}?${text}`, {});
      })),
      ...(await faultsOf(operationId, [...spoiltOf(bodyDescription ?? body, values), ...values], (each) =>
        send(at(newId()), each),
      )),
    );
  }
  expect(faults).toEqual([]);
});

const clientFields = [
  "prompt",
  "negative_prompt",
  "userId",
  "user_id",
  "modelId",
  "job_id",
  "id",
  "text",
  "session_id",
  "query",
  "webhookUrl",
  "metadata",
  "image",
  "mask",
  "name",
  "style",
];

test("A16 no text of a program that was written for another server makes a route fail", inAll, async () => {
  const app = createClientsApp(services);
  const faults: unknown[] = [];
  for (const { api, prefix } of clientMounts)
    for (const { method, path, operationId } of api.routes) {
      const send = (to: string, init: RequestInit = {}) =>
        Promise.resolve(
          app.fetch(
            new Request(`${testOrigin}${prefix}${to}`, {
              method: method.toUpperCase(),
              headers: bearer(),
              ...init,
            }),
          ),
        );
      const plain = path.replace(/:\w+(\{[^}]+\})?/, "u");
      const bodies =
        method === "post"
          ? hostile.flatMap((bad) => clientFields.map((name) => ({ prompt: "a", userId: "u", [name]: bad })))
          : [];
      faults.push(
        ...(await faultsOf(operationId, badPaths, (bad) =>
          send(path.replace(/:\w+(\{[^}]+\})?/, String(bad))),
        )),
        ...(await faultsOf(operationId, badPaths, (bad) =>
          send(`${plain}?${clientFields.map((name) => `${name}=${String(bad)}`).join("&")}`),
        )),
        ...(await faultsOf(operationId, bodies, (json) => send(plain, { body: toWire(json) }))),
      );
    }
  expect(faults).toEqual([]);
});

test("a text in another encoding than UTF-8, or compressed, is refused, and never taken for other letters", async () => {
  const clients = createClientsApp(services);
  const json = { "content-type": "application/json" };
  const latin = (body: object) => Buffer.from(JSON.stringify(body), "latin1");
  const form = (name: string) =>
    Buffer.from(
      `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\nein grüner Hut\r\n--b--\r\n`,
      "latin1",
    );
  const ofForm = { "content-type": "multipart/form-data; boundary=b" };
  const ofUrl = { "content-type": "application/x-www-form-urlencoded" };
  const words = "ein grüner Hut";
  const asked = { kind: "text_to_image", params: { prompt: words } };
  const cases: readonly [string, Readonly<Record<string, string>>, Buffer][] = [
    ["/api/v1/jobs/estimate", json, latin(asked)],
    ["/api/v1/jobs/estimate", json, Buffer.from(JSON.stringify(asked), "utf16le")],
    ["/api/v1/jobs/estimate", json, gzipSync(JSON.stringify(asked))],
    ["/api/v1/uploads", ofForm, form("title")],
    ["/v1/images/generations", json, latin({ prompt: words })],
    ["/v1/images/generations", json, gzipSync(JSON.stringify({ prompt: words }))],
    ["/v1/images/edits", ofForm, form("prompt")],
    ["/sdapi/v1/txt2img", json, latin({ prompt: words })],
    ["/mcp", json, latin({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: words } })],
    ["/jobsRedis", json, latin({ userId: "u", prompt: words })],
    ["/jobsRedis", ofUrl, Buffer.from("userId=u&prompt=ein+gr%FCner+Hut")],
    ["/jobs", ofUrl, Buffer.from("userId=u&gr%FCn=1&prompt=a+hat")],
  ];
  for (const [path, headers, body] of cases) {
    const own = {
      method: "POST",
      headers: { ...bearer(), ...headers },
      body: new Uint8Array(body),
    };
    const answer = await (path.startsWith("/api/v1") ? httpApp : clients).request(
      `${testOrigin}${path}`,
      own,
    );
    expect([path, answer.status, await answer.text()]).toEqual([path, 400, expect.stringContaining("UTF-8")]);
  }
  const plain = { headers: { ...bearer(), ...ofUrl }, body: "userId=u&prompt=ein+gr%C3%BCner+Hut" };
  // No engine is there: it was read.
  expect((await clients.request(`${testOrigin}/jobsRedis`, { method: "POST", ...plain })).status).toBe(422);
  const read = { method: "POST", headers: { ...bearer(), ...json } };
  const answer = await httpApp.request(`${testOrigin}/api/v1/jobs/estimate`, {
    ...read,
    body: `\uFEFF${JSON.stringify(asked)}`,
  });
  expect(answer.status).toBe(200);
});

test.each(["/v1/images/generations", "/sdapi/v1/txt2img", "/mcp", "/jobsRedis"])(
  "%s says of a packed body how it is read",
  async (path) => {
    for (const packing of ["br", "gzip"]) {
      const headers = { ...bearer(), "content-type": "application/json", "content-encoding": packing };
      const own = { method: "POST", headers, body: '{"prompt":"a hat"}' };
      const answer = await createClientsApp(services).request(`${testOrigin}${path}`, own);
      expect([packing, answer.status, await answer.text()]).toEqual([
        packing,
        400,
        expect.stringContaining("packed with gzip"),
      ]);
    }
  },
);
