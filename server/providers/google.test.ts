import { failureOf, json, onlyRequest, type Scripted, startScripted } from "@atelier/testing/providers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

let google: Scripted;

beforeEach(async () => {
  google = await startScripted("google", "/v1beta");
});

afterEach(() => google.close());

const picture = { bytes: new Uint8Array([1, 2, 3]), mime: "image/png" } as const;
const inline = (text: string) => Buffer.from(text).toString("base64");
const candidates = (parts: unknown[], finishReason = "STOP") =>
  json({ candidates: [{ finishReason, content: { parts } }] });
const refusal = (code: number, status: string, details: unknown[] = []) =>
  json({ error: { code, status, message: "no", details } }, code);

describe("A submit to Google", () => {
  it("sends texts and pictures in their order with the key in a header, once", async () => {
    google.answer = candidates([{ inlineData: { mimeType: "image/png", data: inline("made") } }]);
    await google.submit({ input: { parts: ["make it blue", picture], imageConfig: { aspectRatio: "3:4" } } });
    expect(google.requests).toHaveLength(1);
    const { path, headers, body } = onlyRequest(google);
    expect(path).toBe("/v1beta/models/model-one:generateContent");
    expect(headers["x-goog-api-key"]).toBe(google.access.apiKey);
    expect(JSON.parse(body)).toEqual({
      contents: [
        {
          role: "user",
          parts: [{ text: "make it blue" }, { inlineData: { mimeType: "image/png", data: "AQID" } }],
        },
      ],
      generationConfig: { responseModalities: ["IMAGE"], imageConfig: { aspectRatio: "3:4" } },
    });
  });

  it("takes the last picture that is no thought, under both names of the field", async () => {
    google.answer = candidates([
      { text: "Thinking" },
      { thought: true, inlineData: { data: inline("draft") } },
      { inlineData: { data: inline("first") } },
      { inline_data: { data: inline("last") } },
      { thought: true, inlineData: { data: inline("afterthought") } },
    ]);
    const { run } = await google.submit();
    expect(run).toEqual({ state: "succeeded", outputs: [{ bytes: Buffer.from("last") }], costUsd: null });
  });

  it.each([
    [
      "the last of them",
      [
        { thought: true, inlineData: { data: inline("first") } },
        { thought: true, inlineData: { data: inline("last") } },
      ],
      "STOP",
    ],
    [
      "beside words",
      [{ text: "Here it is." }, { thought: true, inline_data: { data: inline("last") } }],
      "STOP",
    ],
    [
      "beside words about the content",
      [{ text: "Here's your road safety poster." }, { thought: true, inlineData: { data: inline("last") } }],
      "STOP",
    ],
    [
      "beside words about what it could not do",
      [
        { thought: true, inlineData: { data: inline("last") } },
        { text: "Here's your poster. I was unable to add the logo, since none was attached." },
      ],
      "STOP",
    ],
    ["where no reason is given", [{ thought: true, inlineData: { data: inline("last") } }], ""],
  ])("takes a picture that is marked as a thought where there is no other: %s", async (_, parts, reason) => {
    google.answer = candidates(parts, reason);
    const { run } = await google.submit();
    expect(run).toMatchObject({ state: "succeeded", outputs: [{ bytes: Buffer.from("last") }] });
  });

  it.each(["NO_IMAGE", "IMAGE_SAFETY", "OTHER"])("takes no draft of a refusal: %s", async (reason) => {
    google.answer = candidates([{ thought: true, inlineData: { data: inline("draft") } }], reason);
    expect(await google.submit()).toMatchObject({ run: { state: "failed", error: { class: "moderation" } } });
  });

  it.each([
    "I'm unable to create that image because it violates the policy on sexual content.",
    "I can't help with that.",
    "I can’t generate this picture.",
    "Your request was flagged.",
  ])("takes no draft beside words that refuse: %s", async (text) => {
    const draft = { thought: true, inlineData: { data: inline("draft") } };
    google.answer = candidates([draft, { text }]);
    const error = { class: "moderation", words: text };
    expect(await google.submit()).toMatchObject({ run: { state: "failed", error } });
    google.answer = candidates([draft, { text }, { inlineData: { data: inline("made") } }]);
    expect(await google.submit()).toMatchObject({
      run: { state: "succeeded", outputs: [{ bytes: Buffer.from("made") }] },
    });
  });

  const counted = (text: string, modalities: readonly string[]) =>
    json({
      candidates: [
        {
          finishReason: "STOP",
          content: { parts: [{ thought: true, inlineData: { data: inline("draft") } }, { text }] },
        },
      ],
      usageMetadata: {
        thoughtsTokenCount: 900,
        candidatesTokensDetails: modalities.map((modality) => ({ modality, tokenCount: 1_120 })),
      },
    });

  it.each([
    "Ich kann dieses Bild leider nicht erstellen.",
    "Я не могу создать такое изображение.",
    "很抱歉,我无法生成这张图片。",
    "No puedo crear esta imagen.",
  ])("takes no draft where only words are counted, in any language: %s", async (text) => {
    google.answer = counted(text, ["TEXT"]);
    const error = { class: "moderation", words: text };
    expect(await google.submit()).toMatchObject({ run: { state: "failed", error } });
  });

  it.each(["Voilà.", "I can't make it any larger than this.", "Content safety first."])(
    "takes the picture that is counted, whatever the words beside it: %s",
    async (text) => {
      google.answer = counted(text, ["TEXT", "IMAGE"]);
      const outputs = [{ bytes: Buffer.from("draft") }];
      expect(await google.submit()).toMatchObject({ run: { state: "succeeded", outputs } });
    },
  );

  it("takes no draft where a gateway with underscores counts no picture", async () => {
    google.answer = json({
      candidates: [
        {
          finish_reason: "STOP",
          content: { parts: [{ thought: true, inline_data: { data: inline("draft") } }, { text: "Voilà." }] },
        },
      ],
      usage_metadata: { candidates_tokens_details: [{ modality: "IMAGE", token_count: 0 }] },
    });
    expect(await google.submit()).toMatchObject({ run: { state: "failed" } });
  });

  it.each([
    ["SAFETY", "moderation"],
    ["IMAGE_SAFETY", "moderation"],
    ["PROHIBITED_CONTENT", "moderation"],
    ["IMAGE_PROHIBITED_CONTENT", "moderation"],
    ["IMAGE_RECITATION", "moderation"],
    ["BLOCKLIST", "moderation"],
    ["SPII", "moderation"],
    ["NO_IMAGE", "moderation"],
    ["MAX_TOKENS", "input"],
    ["OTHER", "moderation"],
    ["IMAGE_OTHER", "moderation"],
    ["STOP", "moderation"],
  ])("without a picture fails as its finish reason says: %s", async (reason, errorClass) => {
    google.answer = candidates([{ text: "Sorry." }], reason);
    expect(await google.submit()).toMatchObject({ run: { state: "failed", error: { class: errorClass } } });
  });

  it.each([
    "MALFORMED_FUNCTION_CALL",
    "MALFORMED_RESPONSE",
    "UNEXPECTED_TOOL_CALL",
    "TOO_MANY_TOOL_CALLS",
    "MISSING_THOUGHT_SIGNATURE",
    "FINISH_REASON_UNSPECIFIED",
  ])("of a model that lost its way is no refusal of the content: %s", async (finishReason) => {
    const finishMessage = "Malformed function call: make_image";
    google.answer = json({ candidates: [{ finishReason, finishMessage }] });
    expect(await google.submit()).toMatchObject({ run: { state: "failed", error: { class: "transient" } } });
    const safetyRatings = [{ category: "HARM", blocked: true }];
    google.answer = json({ candidates: [{ finishReason, safetyRatings }] });
    expect(await google.submit()).toMatchObject({ run: { state: "failed", error: { class: "moderation" } } });
  });

  it("is read from a gateway that writes names with underscores", async () => {
    const error = { class: "moderation", words: "Not this one." };
    google.answer = json({
      candidates: [{ finish_reason: "IMAGE_SAFETY", finish_message: "Not this one." }],
    });
    expect(await google.submit()).toMatchObject({ run: { state: "failed", error } });
    google.answer = json({
      prompt_feedback: { block_reason: "OTHER", block_reason_message: "Not this one." },
    });
    expect(await google.submit()).toMatchObject({ run: { state: "failed", error } });
  });

  it.each(["SAFETY", "JAILBREAK", "PROHIBITED_CONTENT"])(
    "with a blocked prompt is refused: %s",
    async (reason) => {
      google.answer = json({ promptFeedback: { blockReason: reason } });
      expect(await google.submit()).toMatchObject({
        run: { state: "failed", error: { class: "moderation" } },
      });
    },
  );
});

describe("A refusal of Google", () => {
  const retryInfo = { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "55s" };
  const perDay = { "@type": "QuotaFailure", violations: [{ quotaId: "GenerateRequestsPerDayPerProject" }] };

  it.each([
    ["its delay", refusal(429, "RESOURCE_EXHAUSTED", [retryInfo]), "rate", 55_000],
    ["a delay with decimals", refusal(429, "R", [{ retryDelay: "1.5s" }]), "rate", 1_500],
    ["a delay that is none", refusal(429, "R", [{ retryDelay: "soon" }]), "rate", null],
    ["an hour for the quota of a day", refusal(429, "R", [retryInfo, perDay]), "rate", 3_600_000],
    ["no delay", refusal(429, "R"), "rate", null],
    [
      "a delay in words",
      json({ error: { code: 429, status: "R", message: "Please retry in 34.07s." } }, 429),
      "rate",
      34_070,
    ],
    ["an overload", refusal(503, "UNAVAILABLE"), "capacity", null],
    ["a wrong field", refusal(400, "INVALID_ARGUMENT"), "input", null],
    ["a wrong key", refusal(400, "INVALID_ARGUMENT", [{ reason: "API_KEY_INVALID" }]), "auth", null],
    [
      "a wrong key, in a list",
      json([{ error: { code: 400, message: "API key not valid. Please pass a valid API key." } }], 400),
      "auth",
      null,
    ],
    [
      "its delay, in a list",
      json([{ error: { code: 429, message: "no", details: [retryInfo] } }], 429),
      "rate",
      55_000,
    ],
    ["a region", refusal(400, "FAILED_PRECONDITION"), "auth", null],
    ["a missing right", refusal(403, "PERMISSION_DENIED"), "auth", null],
    ...[
      [400, "API key expired. Please renew the API key."],
      [403, "Your API key was reported as leaked. Please use another API key."],
      [403, "Generative Language API has not been used in project 12 before or it is disabled. Enable it."],
      [403, "Requests to this API generativelanguage.googleapis.com method google.x are blocked."],
      [403, "Consumer 'api_key:AIzaXYZ' has been suspended."],
      [403, "Your project has been denied access. Please contact support."],
    ].map(([code = 0, message = ""]) => {
      const body = {
        error: { code, message, status: code === 400 ? "INVALID_ARGUMENT" : "PERMISSION_DENIED" },
      };
      return [`a key: ${message}`, json(body, Number(code)), "auth", null] as const;
    }),
    [
      "a field that is called as a key in a prompt",
      json({ error: { code: 400, message: "Unsupported size for: the API key is invalid" } }, 400),
      "input",
      null,
    ],
    ["an inner fault", refusal(500, "INTERNAL"), "transient", null],
    ["a deadline that the picture may have passed", refusal(504, "DEADLINE_EXCEEDED"), "lost", null],
    ["the page of a proxy", { body: "<html>" }, "lost", null],
    ["a cut connection", "reset", "lost", null],
  ] as const)("names %s", async (_, answer, errorClass, retryAfterMs) => {
    google.answer = answer;
    const input = { parts: ["the API key is invalid"] };
    expect(await failureOf(google.submit({ input }))).toEqual([errorClass, retryAfterMs]);
    expect(google.requests).toHaveLength(1);
  });

  it("is final for runs and webhooks, which Google has not", async () => {
    expect(await failureOf(google.get())).toEqual(["lost", null]);
    expect(await google.cancel()).toBe("unsupported");
    expect(await failureOf(google.webhook("{}"))).toEqual(["auth", null]);
    expect(google.requests).toHaveLength(0);
  });
});
