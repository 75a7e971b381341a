import {
  createTestServices,
  openOwner,
  testOrigin,
  type TestOwner,
  type TestServices,
} from "@atelier/testing/services";
import superjson from "superjson";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createHttpApp, handleTrpc } from "../index.ts";

let fixture: TestServices;
let owner: TestOwner;

beforeAll(async () => {
  fixture = await createTestServices();
  owner = await openOwner(fixture.services, "owner@example.com");
});
afterAll(() => fixture.close());

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
