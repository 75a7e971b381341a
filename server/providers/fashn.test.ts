import { failureOf, json, onlyRequest, type Scripted, startScripted } from "@atelier/testing/providers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

let fashn: Scripted;

beforeEach(async () => {
  fashn = await startScripted("fashn", "/v1");
});

afterEach(() => fashn.close());

const picture = { bytes: new Uint8Array([1, 2, 3]), mime: "image/jpeg" } as const;
const refusal = (status: number, error: string, headers = {}) =>
  json({ error, message: "no" }, status, headers);
const status = (more: object) => json({ id: "run-1", output: null, error: null, ...more });
const failed = (name: string) => status({ status: "failed", error: { name, message: "no" } });

describe("A submit to FASHN", () => {
  it("names the model and sends pictures as data, and the address for the webhook in the query, once", async () => {
    fashn.answer = json({ id: "f-1", error: null });
    const submitted = await fashn.submit({
      endpoint: "tryon-v1.6",
      input: { model_image: picture, garment_image: picture, category: "tops" },
      webhookUrl: "https://studio.test/hook?t=1",
    });
    expect(submitted).toEqual({
      handle: { endpoint: "tryon-v1.6", externalId: "f-1", urls: {} },
      run: { state: "queued", progress: null },
    });
    const { method, path, headers, body } = onlyRequest(fashn);
    const url = new URL(path, fashn.access.baseUrl);
    expect([method, url.pathname, url.searchParams.get("webhook_url")]).toEqual([
      "POST",
      "/v1/run",
      "https://studio.test/hook?t=1",
    ]);
    expect(headers.authorization).toBe(`Bearer ${fashn.access.apiKey}`);
    const data = "data:image/jpeg;base64,AQID";
    expect(JSON.parse(body)).toEqual({
      model_name: "tryon-v1.6",
      inputs: { model_image: data, garment_image: data, category: "tops" },
    });
  });

  it("asks for no webhook where the studio cannot be reached", async () => {
    fashn.answer = json({ id: "f-1", error: null });
    await fashn.submit();
    expect(onlyRequest(fashn).path).toBe("/v1/run");
  });

  it.each([
    ["too many requests", refusal(429, "RateLimitExceeded", { "retry-after": "5" }), "rate", 5_000],
    ["too many requests without a time", refusal(429, "RateLimitExceeded"), "rate", null],
    ["too many runs", refusal(429, "ConcurrencyLimitExceeded", { "retry-after": "5" }), "capacity", 5_000],
    ["too many runs without a time", refusal(429, "ConcurrencyLimitExceeded"), "capacity", null],
    // No pause helps an account without money.
    ["spent money", refusal(429, "OutOfCredits", { "retry-after": "5" }), "credit", null],
    ["a 429 of somebody else", { status: 429, body: "<html>" }, "rate", null],
    ["a wrong request", refusal(400, "BadRequest"), "input", null],
    ["a wrong key", refusal(401, "UnauthorizedAccess"), "auth", null],
    ["an unknown model", refusal(404, "NotFound"), "model", null],
    ["an inner fault", refusal(500, "InternalServerError"), "transient", null],
    ["an answer without a run", json({ error: null }), "lost", null],
    ["a gateway", { status: 504, body: "<html>" }, "lost", null],
    ["the page of a proxy", { body: "<html>" }, "lost", null],
    ["a cut connection", "reset", "lost", null],
  ] as const)("names %s", async (_, answer, errorClass, retryAfterMs) => {
    fashn.answer = answer;
    expect(await failureOf(fashn.submit())).toEqual([errorClass, retryAfterMs]);
    expect(fashn.requests).toHaveLength(1);
  });
});

describe("A run at FASHN", () => {
  it.each([
    [{ status: "starting" }, { state: "queued" }],
    [{ status: "in_queue" }, { state: "queued" }],
    [{ status: "processing" }, { state: "running" }],
    [
      { status: "completed", output: ["https://p.test/1", "", 7, "https://p.test/2"] },
      {
        state: "succeeded",
        outputs: [{ url: "https://p.test/1" }, { url: "https://p.test/2" }],
        costUsd: null,
      },
    ],
    [{ status: "completed" }, { state: "succeeded", outputs: [] }],
    [{ status: "canceled" }, { state: "cancelled", costUsd: 0 }],
    [{ status: "time_out" }, { state: "failed", error: { class: "timeout" }, costUsd: 0 }],
    [{ status: "failed" }, { state: "failed", error: { class: "internal" }, costUsd: 0 }],
  ])("is read from %j", async (body, run) => {
    fashn.answer = status(body);
    expect(await fashn.get()).toMatchObject(run);
    expect(onlyRequest(fashn).path).toBe("/v1/status/run-1");
  });

  it.each([
    ["ImageLoadError", "input"],
    ["PoseError", "input"],
    ["InputValidationError", "input"],
    ["LoRALoadError", "input"],
    ["ThirdPartyError", "input"],
    ["ContentModerationError", "moderation"],
    ["PipelineError", "transient"],
    ["3rdPartyProviderError", "transient"],
    ["InternalServerError", "transient"],
    ["SomethingNew", "internal"],
  ] as const)("that failed with %s costs nothing, and is the class %s", async (name, errorClass) => {
    fashn.answer = failed(name);
    expect(await fashn.get()).toMatchObject({
      state: "failed",
      error: { class: errorClass, message: `${name}: no` },
      costUsd: 0,
    });
  });

  it.each([
    ["too many requests", refusal(429, "RateLimitExceeded", { "retry-after": "5" }), "rate", 5_000],
    ["an inner fault", refusal(500, "InternalServerError"), "transient", null],
    ["the page of a proxy", { body: "<html>" }, "transient", null],
    ["a cut connection", "reset", "transient", null],
  ] as const)("is not lost by a failed look: %s", async (_, answer, errorClass, retryAfterMs) => {
    fashn.answer = answer;
    expect(await failureOf(fashn.get())).toEqual([errorClass, retryAfterMs]);
  });

  it("cannot be cancelled, and nothing is sent", async () => {
    expect(await fashn.cancel()).toBe("unsupported");
    expect(fashn.requests).toHaveLength(0);
  });
});

describe("A webhook of FASHN", () => {
  it("F21 only names a run, whatever else it says: the end is what the run itself says", async () => {
    const body = JSON.stringify({ id: "run-1", status: "completed", output: ["https://forged.test/1"] });
    const { externalId } = await fashn.webhook(body, {}, "a secret that nothing is signed with");
    expect([externalId, fashn.requests.length]).toEqual(["run-1", 0]);
    fashn.answer = status({ status: "processing" });
    expect(await fashn.get(externalId)).toEqual({ state: "running", progress: null });
    fashn.answer = failed("PoseError");
    expect(await fashn.get(externalId)).toMatchObject({ state: "failed" });
  });

  it.each(["nothing", "{}", "null", JSON.stringify({ id: 7 })])("is refused: %s", async (body) => {
    expect(await failureOf(fashn.webhook(body))).toEqual(["auth", null]);
  });
});
