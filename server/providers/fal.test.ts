import {
  failureOf,
  json,
  onlyRequest,
  type Scripted,
  startProvider,
  startScripted,
} from "@atelier/testing/providers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { clientOf } from "./clients.ts";

let fal: Scripted;

beforeEach(async () => {
  fal = await startScripted("fal");
});

afterEach(() => fal.close());

const picture = { bytes: new Uint8Array([1, 2, 3]), mime: "image/png" } as const;
const completed = (more = {}) => json({ status: "COMPLETED", logs: null, metrics: {}, ...more });
const details = (type: string) => json({ detail: [{ loc: ["body"], msg: "no", type }] }, 422);
const failure = (status: number, type: string) => json({ detail: "text", error_type: type }, status);
const named = (status: number, type: string) =>
  json({ detail: "text" }, status, { "x-fal-error-type": type });

describe("A submit to fal", () => {
  it("sends the address for the webhook in the query and pictures as data, once", async () => {
    fal.answer = json({ status: "IN_QUEUE", request_id: "r-1" });
    const submitted = await fal.submit({
      endpoint: "fal-ai/flux/dev",
      input: { prompt: "p", image_urls: [picture] },
      webhookUrl: "https://studio.test/hook?t=1",
    });
    expect(submitted.run).toEqual({ state: "queued", progress: null });
    const { method, path, headers, body } = onlyRequest(fal);
    const url = new URL(path, fal.access.baseUrl);
    expect([method, url.pathname, url.searchParams.get("fal_webhook")]).toEqual([
      "POST",
      "/fal-ai/flux/dev",
      "https://studio.test/hook?t=1",
    ]);
    expect(headers.authorization).toBe(`Key ${fal.access.apiKey}`);
    expect(JSON.parse(body)).toEqual({ prompt: "p", image_urls: ["data:image/png;base64,AQID"] });
  });

  it("keeps the addresses of the answer, asks there, and cancels there", async () => {
    const base = `${fal.access.baseUrl}/elsewhere/r-1`;
    const urls = { status_url: `${base}/s`, response_url: `${base}/r`, cancel_url: `${base}/c` };
    fal.answer = ({ path }) => {
      if (path.endsWith("/s")) return completed();
      return path.endsWith("/r")
        ? json({ image: { url: "https://p.test/1" } })
        : json({ request_id: "r-1", ...urls }, path.endsWith("/c") ? 202 : 200);
    };
    const { handle } = await fal.submit({ endpoint: "fal-ai/flux/dev" });
    expect(handle).toEqual({ endpoint: "fal-ai/flux/dev", externalId: "r-1", urls });
    const client = clientOf("fal");
    const signal = new AbortController().signal;
    expect(await client.get(fal.access, handle, signal)).toMatchObject({
      outputs: [{ url: "https://p.test/1" }],
    });
    expect(await client.cancel(fal.access, handle, signal)).toBe("requested");
    expect(fal.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
      "POST /fal-ai/flux/dev",
      "GET /elsewhere/r-1/s",
      "GET /elsewhere/r-1/r",
      "PUT /elsewhere/r-1/c",
    ]);
  });

  it("S9 sends its key to no other host, and finds the addresses of a run without them", async () => {
    fal.answer = completed({ error: "boom" });
    const urls = { status_url: "https://evil.test/s" };
    const handle = { endpoint: "fal-ai/flux/dev", externalId: "r-1", urls };
    await clientOf("fal").get(fal.access, handle, new AbortController().signal);
    expect(onlyRequest(fal).path).toBe("/fal-ai/flux/requests/r-1/status");
  });

  it("S9 shows no part of its key, which a refusal repeats", async () => {
    const access = { ...fal.access, apiKey: "id-of-the-key:canary-secret" };
    const submission = {
      endpoint: "a/b",
      kind: "edit",
      input: {},
      idempotencyKey: "k",
      webhookUrl: null,
    } as const;
    fal.answer = json({ detail: "The secret canary-secret of id-of-the-key is wrong." }, 401);
    const call = clientOf("fal").submit(
      access,
      { ...submission, beforePaid: () => Promise.resolve() },
      new AbortController().signal,
    );
    await expect(call).rejects.toMatchObject({
      class: "auth",
      message: expect.stringContaining("The secret [key] of"),
    });
  });

  it.each([
    ["a locked account", json({ detail: "User is locked. Reason: Exhausted balance." }, 403), "credit", null],
    ["a wrong key", json({ detail: "Cannot access application" }, 401), "auth", null],
    ["a missing right", json({ detail: "Forbidden" }, 403), "auth", null],
    ["wrong fields", details("missing"), "input", null],
    ["a refused content", details("content_policy_violation"), "moderation", null],
    [
      "a refused content without a list",
      json({ detail: { msg: "no", type: "content_policy_violation" } }, 422),
      "moderation",
      null,
    ],
    ["a rate", json({ detail: "Too many" }, 429, { "retry-after": "7" }), "rate", 7_000],
    ["an inner fault", failure(500, "internal_error"), "transient", null],
    ["a wait in the queue that was too long", failure(504, "request_timeout"), "lost", null],
    ["an answer without a request", json({ status: "IN_QUEUE" }), "lost", null],
    ["a cut connection", "reset", "lost", null],
  ] as const)("names %s", async (_, answer, errorClass, retryAfterMs) => {
    fal.answer = answer;
    expect(await failureOf(fal.submit())).toEqual([errorClass, retryAfterMs]);
    expect(fal.requests).toHaveLength(1);
  });
});

describe("A run at fal", () => {
  it.each([
    [{ status: "IN_QUEUE", queue_position: 3 }, 202, "queued"],
    [{ status: "IN_PROGRESS", logs: [] }, 202, "running"],
    [{ status: "IN_QUEUE", logs: null }, 200, "queued"],
    [{ status: "IN_PROGRESS", logs: null }, 200, "running"],
  ] as const)("goes on by its state: %j (%i)", async (body, status, state) => {
    fal.answer = json(body, status);
    expect(await fal.get()).toEqual({ state, progress: null });
    expect(fal.requests).toHaveLength(1);
  });

  it.each([201, 202])("is begun where a server of its kind says %i", async (status) => {
    fal.answer = json({ request_id: "r-1" }, status);
    expect(await fal.submit()).toMatchObject({ handle: { externalId: "r-1" }, run: { state: "queued" } });
  });

  it("was cancelled where its own status says so", async () => {
    fal.answer = json({ status: "CANCELLED", request_id: "run-1" });
    expect(await fal.get()).toEqual({ state: "cancelled", costUsd: null });
    fal.answer = json({ status: "CANCELLED" });
    expect(await failureOf(fal.get())).toEqual(["transient", null]);
  });

  it.each([
    ["client_cancelled", { state: "cancelled" }],
    ["content_policy_violation", { error: { class: "moderation" } }],
    ["request_timeout", { error: { class: "timeout" } }],
    ["runner_disconnected", { error: { class: "transient" } }],
    ["bad_request", { error: { class: "input" } }],
    ["something_new", { error: { class: "internal" } }],
    [null, { error: { class: "internal", message: "boom" } }],
  ] as const)("that is completed with the error %s has not succeeded", async (type, run) => {
    fal.answer = completed({ error: "boom", error_type: type });
    expect(await fal.get()).toMatchObject({ ...run, state: "state" in run ? run.state : "failed" });
    expect(fal.requests).toHaveLength(1);
  });

  it.each([
    [{ status: "FAILED", error: "boom" }, { error: { class: "internal", message: "boom" } }],
    [
      { status: "ERROR", payload: { detail: "flagged as unsafe by the safety checker" } },
      { error: { class: "internal" } },
    ],
    [{ status: "FAILED", detail: "content policy violation" }, { error: { class: "moderation" } }],
    [{ status: "ERROR", error: "no", error_type: "request_timeout" }, { error: { class: "timeout" } }],
  ])("has ended where a server of its kind says so of the run: %j", async (body, run) => {
    fal.answer = json({ ...body, request_id: "run-1" });
    expect(await fal.get()).toMatchObject({ state: "failed", ...run });
    expect(fal.requests).toHaveLength(1);
    // A gateway says the same of a call, and of another run it says nothing about this one.
    for (const request_id of [undefined, "run-2"]) {
      fal.answer = json({ ...body, request_id });
      expect(await failureOf(fal.get())).toEqual(["transient", null]);
    }
  });

  it.each([
    [
      "a list of pictures",
      json({ images: [{ url: "https://p.test/1" }, { url: "" }, {}] }),
      { state: "succeeded", outputs: [{ url: "https://p.test/1" }] },
    ],
    [
      "one picture",
      json({ image: { url: "https://p.test/1" } }),
      { state: "succeeded", outputs: [{ url: "https://p.test/1" }] },
    ],
    ["no picture", json({}), { state: "succeeded", outputs: [] }],
    [
      "a refused content",
      details("content_policy_violation"),
      { error: { class: "moderation", message: "no" } },
    ],
    ["a picture that is too large", details("image_too_large"), { error: { class: "input" } }],
    ["a generation that took too long", details("generation_timeout"), { error: { class: "timeout" } }],
    ["a service behind it", details("downstream_service_error"), { error: { class: "transient" } }],
    ["another wrong field", details("value_error"), { error: { class: "input" } }],
    ["the end of its runner", failure(503, "runner_scheduling_failure"), { error: { class: "transient" } }],
    [
      "the end of its runner, in the header",
      named(502, "runner_incomplete_response"),
      { error: { class: "transient" } },
    ],
    [
      "a start that took too long, in the header",
      named(504, "startup_timeout"),
      { error: { class: "timeout" } },
    ],
    ["a fault of the model", failure(500, "internal_error"), { error: { class: "internal" } }],
    [
      "a path that its app lacks",
      json({ detail: "Path /v2.2 not found" }, 404),
      { error: { class: "model" } },
    ],
    [
      "a path that its app lacks, with 200",
      json({ detail: "Path / not found" }),
      { error: { class: "model" } },
    ],
    ["its cancel", failure(499, "client_cancelled"), { state: "cancelled" }],
  ] as const)("that is completed ends as its result says: %s", async (_, result, run) => {
    fal.answer = ({ path }) => (path.endsWith("/status") ? completed() : result);
    expect(await fal.get()).toMatchObject({ ...run, state: "state" in run ? run.state : "failed" });
    expect(fal.requests).toHaveLength(2);
  });

  it.each([
    ["the page of a proxy instead of the status", { body: "<html>" }, { body: "<html>" }, "transient"],
    ["the page of a proxy instead of the result", completed(), { status: 502, body: "<html>" }, "transient"],
    ["a cut connection", completed(), "reset", "transient"],
    ["a refusal of the key", completed(), json({ detail: "Unauthorized" }, 401), "auth"],
    ["a rate of results", completed(), json({ detail: "Too many" }, 429), "rate"],
    ["an outage of the queue", completed(), json({ detail: "Unavailable" }, 503), "transient"],
    ["a result that is gone", completed(), json({ detail: "Not found" }, 404), "input"],
    ["a result that has gone", completed(), json({ detail: "Expired" }, 410), "input"],
    ["a run that nobody knows", json({ detail: "Not found" }, 404), "reset", "input"],
  ] as const)("is not told as ended by %s", async (_, status, result, errorClass) => {
    fal.answer = ({ path }) => (path.endsWith("/status") ? status : result);
    expect(await failureOf(fal.get())).toEqual([errorClass, null]);
  });

  it("whose result is over its lifetime is an error, not a picture", async () => {
    const { simulator, access } = await startProvider("fal");
    try {
      const client = clientOf("fal");
      const signal = new AbortController().signal;
      const submission = {
        endpoint: "a/b",
        kind: "text_to_image",
        input: {},
        idempotencyKey: "k",
        webhookUrl: null,
      } as const;
      const { handle } = await client.submit(
        access,
        { ...submission, beforePaid: () => Promise.resolve() },
        signal,
      );
      simulator.isResultGone = true;
      for (const run of simulator.runs.values()) simulator.finish(run, "succeeded");
      expect(await failureOf(client.get(access, handle, signal))).toEqual(["input", null]);
    } finally {
      await simulator.close();
    }
  });

  it.each([
    [200, "requested"],
    [202, "requested"],
    [400, "too_late"],
    [404, "too_late"],
  ])("is cancelled, or not any more: %i", async (status, result) => {
    fal.answer = json({ status: "ANY" }, status);
    expect(await fal.cancel()).toBe(result);
    expect(onlyRequest(fal).method).toBe("PUT");
  });

  it("keeps an unknown end of a cancel an error", async () => {
    fal.answer = json({}, 500);
    expect(await failureOf(fal.cancel())).toEqual(["transient", null]);
  });
});
