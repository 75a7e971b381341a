import { createHmac } from "node:crypto";
import { serveAnswers } from "@atelier/testing/http";
import {
  failureOf,
  json,
  onlyRequest,
  type Scripted,
  type SimulatedProvider,
  startProvider,
  startScripted,
} from "@atelier/testing/providers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { clientOf } from "./clients.ts";

let higgsfield: Scripted;

beforeEach(async () => {
  higgsfield = await startScripted("higgsfield");
});

afterEach(() => higgsfield.close());

const picture = { bytes: new Uint8Array([1, 2, 3]), mime: "image/webp" } as const;
const concurrent = "Maximum number of concurrent requests (4) has been reached";

describe("A submit to Higgsfield", () => {
  it("sends its key of repetition, the address for the webhook and pictures as data", async () => {
    higgsfield.answer = json({ status: "queued", request_id: "r-1" });
    const submitted = await higgsfield.submit({
      endpoint: "higgsfield-ai/soul/standard",
      input: { prompt: "p", images: [picture] },
      webhookUrl: "https://studio.test/hook?t=1",
    });
    expect(submitted).toEqual({
      handle: { endpoint: "higgsfield-ai/soul/standard", externalId: "r-1", urls: {} },
      run: { state: "queued", progress: null },
    });
    const { path, headers, body } = onlyRequest(higgsfield);
    const url = new URL(path, higgsfield.access.baseUrl);
    expect([url.pathname, url.searchParams.get("hf_webhook")]).toEqual([
      "/higgsfield-ai/soul/standard",
      "https://studio.test/hook?t=1",
    ]);
    expect(headers.authorization).toBe(`Key ${higgsfield.access.apiKey}`);
    expect(headers["idempotency-key"]).toMatch(/^[\w-]{36}$/);
    expect(JSON.parse(body)).toEqual({ prompt: "p", images: ["data:image/webp;base64,AQID"] });
  });

  it("is repeated only where the newer host knows the key", () => {
    const isIdempotent = (baseUrl: string) =>
      clientOf("higgsfield").isIdempotent({ ...higgsfield.access, baseUrl });
    expect(isIdempotent("https://api.higgsfield.ai")).toBe(true);
    expect(isIdempotent("https://platform.higgsfield.ai")).toBe(false);
  });

  it.each([
    ["the older limit", json({ detail: concurrent }, 400), "capacity", null],
    ["a full queue", json({ code: "account_queue_full" }, 429, { "retry-after": "12" }), "capacity", 12_000],
    ["a rate", json({ detail: "Too many" }, 429, { "retry-after": "9" }), "rate", 9_000],
    ["a wrong key", json({ detail: "Invalid credentials" }, 401), "auth", null],
    ["spent money", json({ detail: "Not enough credits" }, 403), "credit", null],
    ["wrong fields", json({ detail: [{ loc: ["body"], msg: "no", type: "x" }] }, 422), "input", null],
    ["a locked model", json({ detail: "Locked" }, 423), "transient", null],
    ["a model that is away", json({ detail: "Unavailable" }, 503), "transient", null],
    ["a gateway", { status: 502, body: "<html>" }, "lost", null],
    ["the page of a proxy", { body: "<html>" }, "lost", null],
    ["a cut connection", "reset", "lost", null],
  ] as const)("names %s", async (_, answer, errorClass, retryAfterMs) => {
    higgsfield.answer = answer;
    expect(await failureOf(higgsfield.submit())).toEqual([errorClass, retryAfterMs]);
    expect(higgsfield.requests).toHaveLength(1);
  });
});

describe("Higgsfield's two generations", () => {
  let simulated: SimulatedProvider;

  beforeEach(async () => {
    simulated = await startProvider("higgsfield");
  });

  afterEach(() => simulated.simulator.close());

  function submit(prompt = "p") {
    const submission = {
      endpoint: "m",
      kind: "text_to_image",
      input: { prompt },
      idempotencyKey: "a-key",
      webhookUrl: null,
      beforePaid: () => Promise.resolve(),
    } as const;
    return clientOf("higgsfield").submit(simulated.access, submission, AbortSignal.timeout(30_000));
  }

  it("R1 the newer one finds a run again after a lost answer, and charges it once", async () => {
    const { simulator } = simulated;
    simulator.fault = "drop";
    expect(await failureOf(submit())).toEqual(["lost", null]);
    simulator.fault = null;
    const { handle } = await submit();
    expect([...simulator.runs.keys()]).toEqual([handle.externalId]);
    expect(simulator.submits).toHaveLength(2);
  });

  it("R1 the newer one refuses other fields under the same key, and starts nothing for them", async () => {
    await submit("p");
    expect(await failureOf(submit("q"))).toEqual(["input", null]);
    expect(simulated.simulator.runs.size).toBe(1);
  });

  it("the older one knows no keys: a repetition is another run", async () => {
    simulated.simulator.generation = "old";
    await submit();
    await submit();
    expect(simulated.simulator.runs.size).toBe(2);
  });

  it.each([
    ["old", null],
    ["new", 12_000],
  ] as const)(
    "E3 the %s one refuses what is too much as capacity, with its own wait",
    async (generation, waitMs) => {
      Object.assign(simulated.simulator, { generation, fault: "busy" });
      expect(await failureOf(submit())).toEqual(["capacity", waitMs]);
    },
  );

  it.each([
    ["old", "a secret", "auth"],
    ["old", null, "none"],
    ["new", "a secret", "none"],
    ["new", null, "none"],
  ] as const)("F21 a webhook of the %s one is judged with %s: %s", async (generation, secret, errorClass) => {
    const { simulator, access } = simulated;
    simulator.generation = generation;
    const arrivals = await serveAnswers(() => ({ status: 204 }));
    const run = simulator.start({ endpoint: "m", input: {}, webhookUrl: arrivals.url });
    await simulator.report(run);
    await arrivals.close();
    const [{ body, headers } = { body: "", headers: {} }] = arrivals.requests;
    const single = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
    const call = higgsfield.webhook(body, single, secret === null ? null : access.webhookSecret);
    expect(await failureOf(call)).toEqual([errorClass, null]);
  });
});

describe("A run at Higgsfield", () => {
  it.each([
    [{ status: "queued" }, { state: "queued" }],
    [{ status: "in_progress" }, { state: "running" }],
    [
      { status: "completed", images: [{ url: "https://p.test/1" }] },
      { state: "succeeded", outputs: [{ url: "https://p.test/1" }] },
    ],
    [
      { status: "failed", error: "boom" },
      { state: "failed", error: { class: "internal" }, costUsd: 0 },
    ],
    [{ status: "nsfw" }, { state: "failed", error: { class: "moderation" }, costUsd: 0 }],
    [{ status: "canceled" }, { state: "cancelled", costUsd: 0 }],
  ])("is read from %j", async (body, run) => {
    higgsfield.answer = json({ request_id: "run-1", ...body });
    expect(await higgsfield.get()).toMatchObject(run);
    expect(higgsfield.requests[0]?.path).toBe("/requests/run-1/status");
  });

  it.each([
    [200, "requested"],
    [202, "requested"],
    [400, "too_late"],
    [404, "too_late"],
    [409, "too_late"],
  ])("is cancelled while it waits: %i", async (status, result) => {
    higgsfield.answer = json({}, status);
    expect(await higgsfield.cancel()).toBe(result);
  });

  it("keeps an unknown end of a cancel an error", async () => {
    higgsfield.answer = json({}, 500);
    expect(await failureOf(higgsfield.cancel())).toEqual(["transient", null]);
  });
});

describe("A webhook of Higgsfield", () => {
  const secret = "whsec_ABEiM0RVZneImaq7zN3u/wARIjNEVWZ3iJmqu8zd7v8=";
  const body = JSON.stringify({ request_id: "r-1", status: "completed" });

  function signed(ageS: number, signedBody = body) {
    const timestamp = String(Math.floor(Date.now() / 1_000) - ageS);
    const key = Buffer.from(secret.replace("whsec_", ""), "base64");
    const signature = createHmac("sha256", key).update(`msg_1.${timestamp}.${signedBody}`).digest("base64");
    return {
      "webhook-id": "msg_1",
      "webhook-timestamp": timestamp,
      "webhook-signature": `v1,AAAA v1,${signature}`,
    };
  }

  it("names its run when it is signed, and unsigned where no secret is configured", async () => {
    expect(await higgsfield.webhook(body, signed(0), secret)).toEqual({ externalId: "r-1" });
    expect(await higgsfield.webhook(body)).toEqual({ externalId: "r-1" });
  });

  it.each([
    ["unsigned", body, {}],
    ["stale", body, signed(600)],
    ["early", body, signed(-600)],
    ["forged", body, signed(0, "{}")],
    ["no JSON", "nothing", signed(0, "nothing")],
    ["without a run", "{}", signed(0, "{}")],
  ])("is refused: %s", async (_, given, headers) => {
    expect(await failureOf(higgsfield.webhook(given, headers, secret))).toEqual(["auth", null]);
  });
});
