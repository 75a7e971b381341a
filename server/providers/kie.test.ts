import { createHmac } from "node:crypto";
import {
  failureOf,
  json,
  type Scripted,
  type SimulatedProvider,
  startProvider,
  startScripted,
} from "@atelier/testing/providers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { clientOf } from "./clients.ts";
import type { Submission } from "./port.ts";

let kie: Scripted;

beforeEach(async () => {
  kie = await startScripted("kie");
});

afterEach(() => kie.close());
afterEach(() => void vi.useRealTimers());

const picture = { bytes: new Uint8Array([1, 2, 3]), mime: "image/jpeg" } as const;
const created = json({ code: 200, msg: "success", data: { taskId: "t-1" } });
const refusal = (code: number, headers = {}) => json({ code, msg: "no", data: null }, 200, headers);
const record = (data: object) => json({ code: 200, msg: "success", data: { taskId: "run-1", ...data } });

describe("A submit to Kie", () => {
  it("uploads pictures first and names their addresses in one task", async () => {
    const addresses = ["https://up.test/1.jpg", "https://up.test/2.jpg"];
    kie.answer = ({ path }) =>
      path.endsWith("createTask") ? created : json({ code: 200, data: { downloadUrl: addresses.shift() } });
    const { handle, run } = await kie.submit({
      input: { prompt: "p", image_input: [picture, picture] },
      webhookUrl: "https://studio.test/hook",
    });
    expect([handle.externalId, run.state]).toEqual(["t-1", "queued"]);
    const paths = kie.requests.map(({ path }) => path);
    const upload = "/api/file-base64-upload";
    expect(paths).toEqual([upload, upload, "/api/v1/jobs/createTask"]);
    const [first, , last] = kie.requests;
    expect(JSON.parse(first?.body ?? "")).toMatchObject({
      base64Data: "data:image/jpeg;base64,AQID",
      fileName: "input.jpeg",
    });
    expect(last?.headers.authorization).toBe(`Bearer ${kie.access.apiKey}`);
    const { model, callBackUrl, input } = JSON.parse(last?.body ?? "");
    expect([model, callBackUrl]).toEqual(["model-one", "https://studio.test/hook"]);
    expect(input.image_input.toSorted()).toEqual(["https://up.test/1.jpg", "https://up.test/2.jpg"]);
  });

  it.each([
    [
      "a page of the firewall, which is no word about the key",
      { status: 403, body: "<html>1010" },
      "transient",
    ],
    ["a refusal of the key", refusal(401), "auth"],
    ["a cut connection, since nothing was started", "reset", "transient"],
  ] as const)("starts no task after a failed upload: %s", async (_, answer, errorClass) => {
    kie.answer = answer;
    expect(await failureOf(kie.submit({ input: { image: picture } }))).toEqual([errorClass, null]);
    expect(kie.requests.map(({ path }) => path)).toEqual(["/api/file-base64-upload"]);
  });

  it.each([
    ["wrong fields", refusal(422), "input", null],
    ["a wrong request", refusal(400), "input", null],
    ["a wrong key", refusal(401), "auth", null],
    ["spent money", refusal(402), "credit", null],
    ["an unknown model", refusal(404), "model", null],
    ["a rate without a time", refusal(429), "rate", 10_000],
    ["a rate with a time", refusal(429, { "retry-after": "3" }), "rate", 3_000],
    ["the limit of a part key", refusal(433), "rate", null],
    ["maintenance", refusal(455), "transient", null],
    ["an inner fault", refusal(500), "transient", null],
    ["a failed generation", refusal(501), "internal", null],
    ["a feature that is off", refusal(505), "transient", null],
    ["an unknown code", refusal(777), "internal", null],
    ["a code as text", json({ code: "402", msg: "no credits" }), "credit", null],
    ["an answer without a code", json({}), "lost", null],
    ["an answer without a task", json({ code: 200, data: {} }), "lost", null],
    ["the page of a proxy", { body: "<html>" }, "lost", null],
    ["a gateway", { status: 502, body: "<html>" }, "lost", null],
    ["a cut connection", "reset", "lost", null],
  ] as const)("names %s", async (_, answer, errorClass, retryAfterMs) => {
    kie.answer = answer;
    expect(await failureOf(kie.submit())).toEqual([errorClass, retryAfterMs]);
    expect(kie.requests).toHaveLength(1);
  });
});

describe("Kie's limits", () => {
  let simulated: SimulatedProvider;

  beforeEach(async () => {
    simulated = await startProvider("kie");
  });

  afterEach(() => simulated.simulator.close());

  function submit(input: Submission["input"]) {
    const submission = { endpoint: "m", kind: "edit", idempotencyKey: "k", webhookUrl: null } as const;
    const beforePaid = () => Promise.resolve();
    return clientOf("kie").submit(
      simulated.access,
      { ...submission, input, beforePaid },
      AbortSignal.timeout(30_000),
    );
  }

  it("E3 E4 the 21st task of ten seconds is refused as a rate, until the window has passed", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: 1_795_300_000_000 });
    const burst = Array.from({ length: 20 }, () => failureOf(submit({ prompt: "p" })));
    expect(new Set((await Promise.all(burst)).map(String))).toEqual(new Set(["none,"]));
    expect(await failureOf(submit({ prompt: "p" }))).toEqual(["rate", 10_000]);
    expect(simulated.simulator.runs.size).toBe(20);
    vi.setSystemTime(1_795_300_010_000);
    expect(await failureOf(submit({ prompt: "p" }))).toEqual(["none", null]);
  });

  it("a firewall that refuses an upload with its page says nothing about the key, and no task is started", async () => {
    simulated.simulator.uploadFault = "blocked";
    expect(await failureOf(submit({ image: picture }))).toEqual(["transient", null]);
    expect(simulated.simulator.calls).toEqual(["POST /api/file-base64-upload"]);
  });
});

describe("A task at Kie", () => {
  it.each([
    [{ state: "waiting" }, { state: "queued" }],
    [{ state: "queuing" }, { state: "queued" }],
    [{ state: "generating" }, { state: "running" }],
    [
      { state: "success", resultJson: JSON.stringify({ resultUrls: ["https://p.test/1", "", 7] }) },
      { state: "succeeded", outputs: [{ url: "https://p.test/1" }] },
    ],
    [
      { state: "success", resultJson: "broken" },
      { state: "succeeded", outputs: [] },
    ],
    [
      { state: "fail", failCode: "500", failMsg: "boom" },
      { state: "failed", error: { class: "internal" } },
    ],
    [
      { state: "fail", failMsg: "The content is sensitive" },
      { state: "failed", error: { class: "moderation" } },
    ],
  ])("is read from %j", async (data, run) => {
    kie.answer = record(data);
    expect(await kie.get()).toMatchObject(run);
    expect(kie.requests[0]?.path).toBe("/api/v1/jobs/recordInfo?taskId=run-1");
  });

  it("is not lost by a failed look", async () => {
    kie.answer = "reset";
    expect(await failureOf(kie.get())).toEqual(["transient", null]);
    kie.answer = refusal(429);
    expect(await failureOf(kie.get())).toEqual(["rate", 10_000]);
  });

  it("cannot be cancelled, and nothing is sent", async () => {
    expect(await kie.cancel()).toBe("unsupported");
    expect(kie.requests).toHaveLength(0);
  });
});

describe("A webhook of Kie", () => {
  const secret = "kie-test-hmac-key";
  const taskId = "281e5b0f0000000000000000000000aa";
  const body = JSON.stringify({ code: 200, data: { taskId } });

  function signed(ageS: number, id = taskId) {
    const timestamp = String(Math.floor(Date.now() / 1_000) - ageS);
    const signature = createHmac("sha256", secret).update(`${id}.${timestamp}`).digest("base64");
    return { "x-webhook-timestamp": timestamp, "x-webhook-signature": signature };
  }

  it("verifies as the protocol's example does", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: 1_795_300_000_000 });
    const headers = {
      "x-webhook-timestamp": "1795300000",
      "x-webhook-signature": "9BoAyM880Br6iIBsvXAhGft808hxLsQkfePrn270afk=",
    };
    expect(await kie.webhook(body, headers, secret)).toEqual({ externalId: taskId });
  });

  it("names its task under both names of the field, and unsigned where no secret is configured", async () => {
    const other = JSON.stringify({ data: { task_id: taskId } });
    expect(await kie.webhook(other, signed(0), secret)).toEqual({ externalId: taskId });
    expect(await kie.webhook(other)).toEqual({ externalId: taskId });
  });

  it.each([
    ["unsigned", body, {}],
    ["stale", body, signed(600)],
    ["of another task", body, signed(0, "t-2")],
    ["no JSON", "nothing", signed(0)],
    ["without a task", "{}", signed(0, "")],
  ])("is refused: %s", async (_, given, headers) => {
    expect(await failureOf(kie.webhook(given, headers, secret))).toEqual(["auth", null]);
  });
});
