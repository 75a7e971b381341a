import superjson from "superjson";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  captureLog,
  createTestServices,
  openOwner,
  testOrigin,
  type TestOwner,
  testPassword,
  type TestServices,
} from "@atelier/testing/services";
import { AppError } from "../../platform/index.ts";
import { createHttpApp, handleHttp, handleTrpc } from "../index.ts";
import { logFailure } from "../http/request-log.ts";
import { createContext, t } from "./init.ts";
import { memberProcedure } from "./procedures.ts";

let fixture: TestServices;
afterAll(() => fixture.close());

describe("bad text", () => {
  let owner: TestOwner;

  beforeAll(async () => {
    fixture = await createTestServices();
    owner = await openOwner(fixture.services, "owner@example.com");
  });

  const upscale = () => ({ kind: "upscale", params: {}, inputs: { image: owner.imageId } });

  test.each([
    ["the name of a key", "apiKeys.create", () => ({ name: "a\0b" })],
    ["the id of a key", "apiKeys.revoke", () => ({ id: "a\0b" })],
    ["an idempotency key", "jobs.submit", () => ({ ...upscale(), idempotencyKey: "a\0b" })],
    ["a prompt", "jobs.submit", () => ({ kind: "text_to_image", params: { prompt: "a\0b" } })],
    [
      "half a letter in a prompt",
      "jobs.submit",
      () => ({ kind: "text_to_image", params: { prompt: "a\ud83d" } }),
    ],
  ])("NUL in %s is a wrong request", async (_, path, input) => {
    const response = await handleTrpc(
      fixture.services,
      new Request(`${testOrigin}/api/trpc/${path}`, {
        method: "POST",
        headers: { ...Object.fromEntries(owner.browser.headers), "content-type": "application/json" },
        body: superjson.stringify(input()),
      }),
    );
    expect(response.status).toBe(400);
  });

  test("a refusal has its reason in the language of the page, and in English for a key", async () => {
    const ask = async (headers: Headers) => {
      const all = {
        ...Object.fromEntries(headers),
        "accept-language": "de",
        "content-type": "application/json",
      };
      const body = superjson.stringify({ name: "none", imageIds: [] });
      const url = `${testOrigin}/api/trpc/boards.create`;
      const request = new Request(url, { method: "POST", headers: all, body });
      return JSON.stringify(await (await handleTrpc(fixture.services, request)).json());
    };
    const told = await ask(owner.browser.headers);
    expect(told).toContain("Der Name „none“ bedeutet");
    expect(told).toContain('"isTold":true');

    const authorization = `Bearer ${owner.apiKey}`;
    const asked = new Request(`${testOrigin}/api/v1/boards`, {
      method: "POST",
      headers: { authorization, "accept-language": "de", "content-type": "application/json" },
      body: JSON.stringify({ name: "none" }),
    });
    const answer = await handleHttp(fixture.services, asked);
    expect(await answer.json()).toMatchObject({
      detail: expect.stringContaining("stands for nothing in a search"),
    });
  });

  test("POST /jobs refuses a key with control characters and names wrong fields by dotted paths", async () => {
    const post = async (body: unknown, headers: Record<string, string> = {}) => {
      const all = { authorization: `Bearer ${owner.apiKey}`, "content-type": "application/json", ...headers };
      const url = `${testOrigin}/api/v1/jobs`;
      const request = new Request(url, { method: "POST", headers: all, body: JSON.stringify(body) });
      const response = await createHttpApp(fixture.services).fetch(request);
      return { status: response.status, body: (await response.json()) as Record<string, unknown> };
    };
    expect((await post(upscale(), { "idempotency-key": "a\tb" })).status).toBe(400);
    const wrong = await post({ ...upscale(), params: { scale: 3 } });
    expect(wrong).toMatchObject({ status: 400, body: { errors: [{ path: "params.scale" }] } });
  });
});

describe("procedures", () => {
  const { log, lines } = captureLog();

  beforeAll(async () => {
    fixture = await createTestServices({ log });
  });

  function get(path: string, headers: Headers) {
    return handleTrpc(fixture.services, new Request(`${testOrigin}/api/trpc/${path}`, { headers }));
  }

  test("each call writes one line with its duration and outcome", async () => {
    const owner = await openOwner(fixture.services, "logged@example.com");
    lines.length = 0;
    await get("apiKeys.list", owner.browser.headers);
    await get("apiKeys.list", new Headers());
    const calls = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(calls).toMatchObject([
      { procedure: "apiKeys.list", type: "query", code: "ok", durationMs: expect.any(Number) },
      { procedure: "apiKeys.list", type: "query", code: "unauthorized" },
    ]);
  });

  test("a user's full quota and a full line are no errors of the studio; a full disk is one", () => {
    lines.length = 0;
    for (const code of ["storage_quota", "queue_full", "storage_full"] as const)
      logFailure(fixture.services, new AppError(code));
    expect(lines.map((line) => Reflect.get(Object(JSON.parse(line)), "code"))).toEqual(["storage_full"]);
  });

  test("S9 keys, passwords, cookies and session tokens stand in no log line and no error", async () => {
    const owner = await openOwner(fixture.services, "canary@example.com");
    const cookie = owner.browser.headers.get("cookie") ?? "";
    const token = decodeURIComponent(cookie.split("=")[1] ?? "").split(".")[0] ?? "";
    expect(token.length).toBeGreaterThan(20);
    const app = createHttpApp(fixture.services);
    const answers: string[] = [];
    const bearers = [owner.apiKey, `${owner.apiKey}x`].map((key) => ({ authorization: `Bearer ${key}` }));
    for (const headers of [...bearers, { cookie }]) {
      const response = await app.fetch(new Request(`${testOrigin}/api/v1/jobs/unknown`, { headers }));
      answers.push(await response.text());
      answers.push(await (await get("images.get", new Headers(headers))).text());
    }
    await owner.browser.auth("/sign-in/email", { email: "canary@example.com", password: `${testPassword}!` });
    expect(lines.length).toBeGreaterThan(5);
    const told = [...lines, ...answers].join("\\n");
    for (const secret of [owner.apiKey, testPassword, token]) expect(told.includes(secret)).toBe(false);
  });

  test("unknown errors of a query and of a running stream reach the client as internal, without their text", async () => {
    const router = t.router({
      query: memberProcedure.query(() => {
        throw new Error("secret text");
      }),
      stream: memberProcedure.subscription(async function* () {
        yield 1;
        await Promise.resolve();
        throw new Error("secret text");
      }),
      refusal: memberProcedure.subscription(async function* () {
        yield 1;
        await Promise.resolve();
        throw new AppError("queue_full");
      }),
    });
    const owner = await openOwner(fixture.services, "broken@example.com");
    const request = new Request(testOrigin, { headers: owner.browser.headers });
    const caller = router.createCaller(createContext(fixture.services, request));
    await expect(caller.query()).rejects.toMatchObject({ code: "INTERNAL_SERVER_ERROR" });
    await expect(caller.query()).rejects.not.toThrow("secret text");
    const drain = async (values: AsyncIterable<number>) => {
      const seen: number[] = [];
      for await (const value of values) seen.push(value);
      return seen;
    };
    await expect(drain(await caller.stream())).rejects.toMatchObject({
      code: "INTERNAL_SERVER_ERROR",
      message: "Something went wrong on our side.",
    });
    await expect(drain(await caller.refusal())).rejects.toMatchObject({
      code: "SERVICE_UNAVAILABLE",
      cause: { code: "queue_full" },
    });
    const logged = lines
      .filter((line) => line.includes("secret text"))
      .map((line) => JSON.parse(line).procedure);
    expect(logged).toEqual(["query", "query", "stream"]);
  });
});
