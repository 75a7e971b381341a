// @module-tag all
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createHttpApp } from "@atelier/server/api";
import { addNode, insertJob } from "../jobs/index.ts";
import {
  createTestServices,
  openOwner,
  testOrigin,
  type TestOwner,
  type TestServices,
} from "../services/index.ts";
import { type Json, spoiled, valuesOf } from "./requests.ts";

/** Requests of each kind to each operation; `test:all` makes many more. */
const runs = Number(process.env["ATELIER_DOCUMENT_RUNS"] ?? 5);
/** The same requests each time, so that what fails fails again; name another one to try others. */
const seed = Number(process.env["ATELIER_DOCUMENT_SEED"] ?? 1);

interface Operation {
  readonly method: string;
  readonly path: string;
  readonly operationId: string;
  readonly parameters: readonly {
    readonly name: string;
    readonly in: string;
    readonly required: boolean;
    readonly schema: Json;
  }[];
  readonly body: Json | null;
  readonly isForm: boolean;
  readonly responses: Readonly<Record<string, Json>>;
}

let fixture: TestServices;
let app: ReturnType<typeof createHttpApp>;
let owner: TestOwner;
let operations: readonly Operation[];
let document: Json;
let ids: readonly string[];

beforeAll(async () => {
  fixture = await createTestServices({
    config: { limits: { apiKeyPerMinute: 1_000_000, openJobs: 100_000, maxWaiting: 100_000 } },
  });
  const { services } = fixture;
  app = createHttpApp(services);
  owner = await openOwner(services, "owner@example.com");
  await addNode(services);
  const job = await insertJob(services, {
    owner: { userId: owner.caller.userId, imageId: owner.imageId, isGuest: false },
  });
  ids = [owner.imageId, job];
  document = (await (await ask("GET", "/openapi.json")).json()) as Json;
  operations = operationsOf(document);
});
afterAll(() => fixture.close());

function ask(method: string, path: string, init: { headers?: Record<string, string>; body?: string } = {}) {
  const headers = { authorization: `Bearer ${owner.apiKey}`, ...init.headers };
  return app.fetch(new Request(`${testOrigin}/api/v1${path}`, { ...init, method, headers }));
}

function operationsOf({ paths }: Json): Operation[] {
  return Object.entries(paths as Record<string, Record<string, Json>>).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, facts]) => {
      const content = (facts["requestBody"] as { content?: Record<string, { schema: Json }> } | undefined)
        ?.content;
      return {
        method: method.toUpperCase(),
        path,
        operationId: String(facts["operationId"]),
        parameters: (facts["parameters"] ?? []) as Operation["parameters"],
        body: content?.["application/json"]?.schema ?? null,
        isForm: content?.["multipart/form-data"] !== undefined,
        responses: facts["responses"] as Operation["responses"],
      };
    }),
  );
}

/** Live streams and waits do not end by themselves; forms are tried elsewhere. */
const isLeftOut = ({ operationId, isForm }: Operation) => isForm || /events|wait/i.test(operationId);

const ajv = new Ajv2020({ strict: false, allErrors: false });
formats.default(ajv);

/** Compiling takes longer than an answer, and many answers have one schema. */
const checks = new Map<Json, ValidateFunction>();

/** What the document says of an answer; null where it has no schema. */
function checkOf({ responses }: Operation, status: number, type: string): ValidateFunction | null {
  const found = responses[status] ?? responses["default"];
  const resolved = resolve(found ?? {});
  const content = resolved["content"] as Record<string, { schema?: Json }> | undefined;
  const schema = content?.[type]?.schema;
  if (!schema) return null;
  const check = checks.get(schema) ?? ajv.compile({ ...schema, components: document["components"] });
  checks.set(schema, check);
  return check;
}

function resolve(part: Json): Json {
  const target = part["$ref"];
  if (typeof target !== "string") return part;
  return target
    .slice(2)
    .split("/")
    .reduce((at, name) => at[name] as Json, document);
}

/** Values that fit a schema whole: the generator knows no conditions. */
function fitting(body: Json): fc.Arbitrary<unknown> {
  const fits = ajv.compile(body);
  return valuesOf(body).filter((value) => fits(value));
}

interface Sent {
  readonly at: Json;
  readonly query: Json;
  readonly headers: Json;
  readonly body: unknown;
}

function requestsFor(
  { parameters, body }: Operation,
  bend: (values: fc.Arbitrary<unknown>) => fc.Arbitrary<unknown>,
) {
  const of = (place: string) => {
    // A cursor is what an earlier page gave.
    const own = parameters.filter(
      (parameter) => parameter.in === place && parameter.schema["format"] !== "cursor",
    );
    const members = Object.fromEntries(own.map(({ name, schema }) => [name, valuesOf(schema)]));
    const requiredKeys = own.filter(({ required }) => required).map(({ name }) => name);
    return fc.record(members, { requiredKeys });
  };
  const known = fc.constantFrom(...ids);
  const at = parameters.some((parameter) => parameter.in === "path")
    ? fc.record({ id: fc.oneof(known, fc.uuid()) })
    : fc.constant({});
  return fc.record({
    at,
    query: of("query"),
    headers: of("header"),
    body: body === null ? fc.constant(undefined) : bend(fitting(body)),
  });
}

const printable = (text: string) => /^[\x20-\x7E]+$/.test(text);

async function send(operation: Operation, { at, query, headers, body }: Sent) {
  const id = typeof at["id"] === "string" ? at["id"] : (ids[0] ?? "");
  const path = operation.path.replaceAll(/\{\w+\}/g, id);
  const search = new URLSearchParams(
    Object.entries(query).map(([name, value]) => [name, String(value).toWellFormed()]),
  );
  const sent = Object.entries(headers).flatMap(([name, value]) =>
    printable(String(value)) ? [[name, String(value)]] : [],
  );
  const response = await ask(operation.method, `${path}${search.size > 0 ? `?${search}` : ""}`, {
    headers: {
      ...Object.fromEntries(sent),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const type = (response.headers.get("content-type") ?? "").split(";")[0] ?? "";
  const value: unknown = type.endsWith("json") ? await response.json() : await response.arrayBuffer();
  return { status: response.status, type, value };
}

/** What is wrong with an answer; null when nothing is. */
function faultOf(
  operation: Operation,
  { status, type, value }: Awaited<ReturnType<typeof send>>,
): string | null {
  if (status >= 500 && ![503, 507].includes(status)) return `answered ${status}`;
  if (status < 400 && operation.responses[status] === undefined) return `${status} is not in the document`;
  const check = checkOf(operation, status, type);
  return check === null || check(value)
    ? null
    : `the answer ${status} does not fit: ${ajv.errorsText(check.errors)} in ${JSON.stringify(value).slice(0, 300)}`;
}

async function tryAll(
  bend: (values: fc.Arbitrary<unknown>) => fc.Arbitrary<unknown>,
  judge: (status: number, value: unknown) => string | null,
) {
  const faults: string[] = [];
  for (const operation of operations) {
    if (isLeftOut(operation)) continue;
    const property = fc.asyncProperty(requestsFor(operation, bend), async (request) => {
      const answer = await send(operation, request);
      const fault = faultOf(operation, answer) ?? judge(answer.status, answer.value);
      if (fault) throw new Error(`${fault} to ${JSON.stringify(request).slice(0, 500)}`);
    });
    const found = await fc.check(property, { numRuns: runs, seed, endOnFailure: true });
    if (found.failed)
      faults.push(
        `${operation.method} ${operation.path}: ${String((found.errorInstance as Error | null)?.message)}`,
      );
  }
  return faults;
}

test(
  "A16 what the document allows is not refused as wrong, and every answer is as it says",
  { timeout: 600_000 },
  async () => {
    expect(operations.length).toBeGreaterThan(20);
    const faults = await tryAll(
      (values) => values,
      (status, value) =>
        status === 400 || status === 415
          ? `a request that fits was refused: ${JSON.stringify(value).slice(0, 400)}`
          : null,
    );
    expect(faults).toEqual([]);
  },
);

test(
  "A16 what the document does not allow is answered by a problem of its form, never by a fault",
  { timeout: 600_000 },
  async () => {
    expect(await tryAll(spoiled, () => null)).toEqual([]);
  },
);
