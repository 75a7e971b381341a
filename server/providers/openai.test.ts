import { failureOf, json, onlyRequest, type Scripted, startScripted } from "@atelier/testing/providers";
import sharp from "sharp";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { clientOf, tryKey } from "./clients.ts";

let openai: Scripted;

beforeEach(async () => {
  openai = await startScripted("openai", "/v1");
  openai.answer = json({ data: [{ b64_json: Buffer.from("made").toString("base64") }] });
});

afterEach(() => openai.close());

const refusal = (status: number, code: string | null, headers = {}) =>
  json({ error: { code, type: "invalid_request_error", message: "no" } }, status, headers);

/** A PNG of 2 x 1 pixels: black at the left, white at the right. */
function halves(channels: 1 | 3) {
  const raw = Buffer.from([...Array<number>(channels).fill(0), ...Array<number>(channels).fill(255)]);
  return sharp(raw, { raw: { width: 2, height: 1, channels } })
    .png()
    .toBuffer();
}

/** The parts of the form that arrived. */
async function arrivedForm() {
  const [request] = openai.requests;
  const type = request?.headers["content-type"] ?? "";
  return new Response(Buffer.from(request?.body ?? "", "latin1"), {
    headers: { "content-type": type },
  }).formData();
}

describe("A submit to an images server of OpenAI's kind", () => {
  it("without pictures is JSON to generations, and its answer is bytes", async () => {
    const { run } = await openai.submit({ input: { prompt: "a red door", size: "1024x1024" } });
    expect(run).toEqual({ state: "succeeded", outputs: [{ bytes: Buffer.from("made") }], costUsd: null });
    const { path, headers, body } = onlyRequest(openai);
    expect([path, headers.authorization]).toEqual([
      "/v1/images/generations",
      `Bearer ${openai.access.apiKey}`,
    ]);
    expect(JSON.parse(body)).toEqual({ model: "model-one", prompt: "a red door", size: "1024x1024" });
  });

  it.each([
    { id: "task-1", status: "queued" },
    { data: [{ task_id: "task-1", status: "submitted" }] },
    { task_id: "task-1", status: "processing", data: [] },
    { output: { task_id: "task-1", task_status: "PENDING" }, request_id: "r" },
    { code: 200, data: { id: 7, state: "in progress" } },
    { id: "task-1", polling_url: "https://eu.pictures.test/get_result?id=task-1" },
    { task_id: "task-1" },
    { code: 200, msg: "success", data: { taskId: "task-1" } },
    { data: [{ jobId: 7 }], message: "Accepted" },
    { data: { taskId: "task-1", state: "waiting" } },
    { id: "task-1", status: "generating" },
    { id: "task-1", status: "Queueing" },
    { task_id: "task-1", status: "success", images: [] },
    { data: { id: "task-1", status: "created", outputs: [], urls: { get: "https://tasks.test/1" } } },
    { data: { task_id: "QkxYWJj" }, status_url: "https://tasks.test/1" },
    { id: 7, status: "processing", fetch_result: "https://tasks.test/7", future_links: ["https://a.test/1"] },
  ])("that names a task may have been paid, and nobody else is asked: %j", async (body) => {
    openai.answer = json(body);
    expect(await failureOf(openai.submit())).toEqual(["lost", null]);
  });

  it.each([
    { id: "task-1", status: "processing", data: [{ url: "https://pictures.test/1.png" }] },
    { id: "task-1", status: "Ready", result: { sample: "https://pictures.test/1.png" } },
    { output: [{ id: "call-1", status: "in_progress", result: "https://pictures.test/1.png" }] },
    { id: "task-1", status: "created", url: "https://pictures.test/1.png" },
    { id: "task-1", status: "accepted", result: { url: "https://pictures.test/1.png" } },
    { id: "task-1", status: "created", results: ["https://pictures.test/1.png"] },
    { task_id: "task-1", status_url: "https://tasks.test/1", image_url: "https://pictures.test/1.png" },
    { task_id: "task-1", status: "completed", result_url: "https://pictures.test/1.png" },
    {
      id: "task-1",
      status: "created",
      urls: { get: "https://tasks.test/1" },
      artifacts: [{ uri: "https://pictures.test/1.png" }],
    },
    {
      data: {
        task_id: "task-1",
        task_status: "SUCCEEDED",
        results: [{ url: "https://pictures.test/1.png" }],
      },
    },
  ])("that has its picture is no task: %j", async (body) => {
    openai.answer = json(body);
    expect((await openai.submit()).run).toMatchObject({
      state: "succeeded",
      outputs: [{ url: "https://pictures.test/1.png" }],
    });
  });

  it("that has its picture as base64 is no task", async () => {
    const picture = Buffer.from("made");
    openai.answer = json({ id: "task-1", status: "created", b64_json: picture.toString("base64") });
    expect((await openai.submit()).run).toMatchObject({ state: "succeeded", outputs: [{ bytes: picture }] });
  });

  it.each([{ task_id: "task-1", status: "failed" }, { task_id: "" }, { job_id: null, state: "ERROR" }])(
    "that names a task which has failed, or none, has made nothing: %j",
    async (body) => {
      openai.answer = json(body);
      expect(await failureOf(openai.submit())).toEqual(["internal", null]);
    },
  );

  it.each(["Content Moderated", "Request Moderated"])("whose state is a refusal: %s", async (status) => {
    for (const name of ["id", "task_id"]) {
      openai.answer = json({ [name]: "task-1", status, result: null });
      expect((await openai.submit()).run).toMatchObject({ state: "failed", error: { class: "moderation" } });
    }
  });

  it.each([
    [{ cost_in_usd_ticks: 200_000_000 }, 0.02],
    [{ cost_in_usd_ticks: 0 }, null],
    [{ cost_in_usd_ticks: "200000000" }, null],
    [{ cost_in_usd_ticks: 1e15 }, null],
    // Of an unnamed unit.
    [{ cost: 4 }, null],
    [null, null],
  ])("takes what it cost from %j", async (usage, costUsd) => {
    openai.answer = json({ data: [{ url: "https://pictures.test/1.png" }], usage });
    expect((await openai.submit()).run).toMatchObject({ state: "succeeded", costUsd });
    openai.answer = json({ data: [{ url: "https://pictures.test/1.png", nsfw: true }], usage });
    expect((await openai.submit()).run).toMatchObject({ state: "failed", costUsd });
    openai.answer = json({ error: { message: "The prompt was flagged." }, usage });
    expect((await openai.submit()).run).toMatchObject({ state: "failed", costUsd: null });
  });

  it("goes to a deployment of Azure with its version and its header of the key", async () => {
    const azure = await startScripted(
      "openai",
      "/openai/deployments/pictures?api-version=2025-04-01-preview",
    );
    azure.answer = ({ path, headers }) => {
      const { pathname, searchParams } = new URL(path, "http://azure.test");
      if (headers["api-key"] !== azure.access.apiKey || headers.authorization !== undefined)
        return refusal(401, "401");
      const isKnown = /^\/openai\/(?:models|deployments\/pictures\/images\/(?:generations|edits))$/.test(
        pathname,
      );
      if (!isKnown || !searchParams.has("api-version")) return refusal(404, "404");
      return json({ data: [{ url: "./1.png" }] });
    };
    const image = { bytes: await halves(3), mime: "image/png" } as const;
    const answers = [await azure.submit(), await azure.submit({ input: { prompt: "a door", image } })];
    const url = azure.access.baseUrl.replace(/\?.*/, "/images/1.png");
    for (const { run } of answers) expect(run).toMatchObject({ state: "succeeded", outputs: [{ url }] });
    const key = { provider: "openai", keyId: "key", access: azure.access } as const;
    expect(await tryKey(key, AbortSignal.timeout(60_000))).toMatchObject({ status: 200 });
    await azure.close();
  });

  it("takes an answer that is an address", async () => {
    openai.answer = json({ data: [{ url: "https://pictures.test/1.png" }] });
    const { run } = await openai.submit();
    expect(run).toMatchObject({ state: "succeeded", outputs: [{ url: "https://pictures.test/1.png" }] });
  });

  it.each([
    ["a path", { data: [{ url: "/api/v1/files/1/content" }] }, "/api/v1/files/1/content"],
    [
      "a path in a list without an object around it",
      [{ url: "/api/v1/files/1/content" }],
      "/api/v1/files/1/content",
    ],
    ["a path from the folder of the request", { data: [{ url: "./1.png" }] }, "/v1/images/1.png"],
    ["a path above it", { data: [{ b64_json: null, url: "../files/1.png" }] }, "/v1/files/1.png"],
  ])("takes an address of the server itself that is %s", async (_, body, path) => {
    openai.answer = json(body);
    const { run } = await openai.submit();
    const url = new URL(path, openai.access.baseUrl).href;
    expect(run).toMatchObject({ state: "succeeded", outputs: [{ url }] });
  });

  const missing = { type: "missing", loc: ["body", "image"], msg: "Field required", input: null };
  it.each<[string, unknown, number, boolean]>([
    ["by FastAPI", { detail: [missing] }, 422, true],
    ["by LiteLLM", { error: { message: "Field required: image", type: "None", code: "422" } }, 422, true],
    ["in OpenAI's words", { error: { message: "Missing required parameter: 'image'." } }, 400, true],
    ["for the mask", { detail: [{ ...missing, loc: ["body", "mask"] }] }, 422, false],
    [
      "for its prompt, which quotes it",
      { error: { message: "The prompt 'field required: image' is refused." } },
      400,
      false,
    ],
    ["after a fault of its own", { detail: [missing] }, 500, false],
  ])(
    "sends several pictures under their plain name once a list is refused %s",
    async (_, body, status, isAgain) => {
      const image = { bytes: await halves(3), mime: "image/png" } as const;
      openai.answer = ({ body: form }) =>
        form.includes('name="image[]"')
          ? json(body, status)
          : json({ data: [{ url: "https://pictures.test/1.png" }] });
      const sent = openai.submit({ input: { prompt: "a door", image: [image, image] } });
      const isMade = await sent.then(
        ({ run }) => run.state === "succeeded",
        () => false,
      );
      expect(isMade).toBe(isAgain);
      expect(openai.requests).toHaveLength(isAgain ? 2 : 1);
      const last = openai.requests.at(-1)?.body ?? "";
      expect(last.split('name="image"').length - 1).toBe(isAgain ? 2 : 0);
    },
  );

  it("sends one picture, which has no other name, once", async () => {
    const image = { bytes: await halves(3), mime: "image/png" } as const;
    openai.answer = json({ detail: [missing] }, 422);
    expect(await failureOf(openai.submit({ input: { image: [image] } }))).toEqual(["input", null]);
    expect(openai.requests).toHaveLength(1);
  });

  it("sends pictures a second time for a missing field, and no third time", async () => {
    const image = { bytes: await halves(3), mime: "image/png" } as const;
    openai.answer = json({ detail: [missing] }, 422);
    expect(await failureOf(openai.submit({ input: { image: [image, image] } }))).toEqual(["input", null]);
    expect(openai.requests).toHaveLength(2);
  });

  describe("that a gateway streams to keep the call open", () => {
    const made = Buffer.from("made").toString("base64");
    const event = (data: unknown, name?: string) =>
      `${name === undefined ? "" : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`;
    const partial = { type: "image_generation.partial_image", partial_image_index: 0, b64_json: "QUFB" };
    const completed = { type: "image_generation.completed", b64_json: made };
    const url = "https://pictures.test/1.png";
    const streamed = (body: string) => ({ body, headers: { "content-type": "text/event-stream" } });

    it.each<[string, string, unknown[]]>([
      ["by its last event", event(partial, partial.type) + event(completed, completed.type), ["made"]],
      ["as two pictures", event(completed) + event(completed), ["made", "made"]],
      ["by an address", `: wait\n\n${event({ type: "image_edit.completed", url })}data: [DONE]\n\n`, [url]],
      ["as one whole answer", event({ created: 1, data: [{ url }] }), [url]],
      ["with blanks of Windows", event(completed).replaceAll("\n", "\r\n"), ["made"]],
      [
        "with an event for each state",
        event({ type: "queued" }) + event(completed) + event({ usage: {} }),
        ["made"],
      ],
      [
        "twice, once as a part",
        event({ type: "item.done", result: url }) + event({ type: "completed", output: url }),
        [url],
      ],
      [
        "as JSON behind comments",
        `: wait\n\n: wait\n\n${JSON.stringify({ data: [{ b64_json: made }] })}`,
        ["made"],
      ],
      [
        "with the error of another one",
        event(completed) + event({ error: { message: "The second failed." } }),
        ["made"],
      ],
    ])("is taken %s", async (_, body, expected) => {
      openai.answer = streamed(body);
      const { run } = await openai.submit();
      const outputs = expected.map((one) => (one === url ? { url } : { bytes: Buffer.from("made") }));
      expect(run).toMatchObject({ state: "succeeded", outputs });
    });

    it("costs what its last event states", async () => {
      openai.answer = streamed(event({ ...completed, usage: { cost_in_usd_ticks: 200_000_000 } }));
      expect((await openai.submit()).run).toMatchObject({ state: "succeeded", costUsd: 0.02 });
    });

    it.each([
      ["a picture on the way alone", event(partial)],
      ["signs of life alone", ": wait\n\n: wait\n\n"],
      ["an end that is cut", event(partial) + event(completed).slice(0, -12)],
    ])("may be paid where it has %s", async (_, body) => {
      openai.answer = streamed(body);
      expect(await failureOf(openai.submit())).toEqual(["lost", null]);
    });

    it.each<[string, string]>([
      ["the first of two pictures", event(completed)],
      ["a draft", event({ type: "image.draft", b64_json: made })],
      ["the error of one of two", event({ error: { code: "moderation_blocked", message: "No." } })],
      ["an end mark inside of a picture's words", event({ ...completed, words: "data: [DONE]" })],
    ])("may be paid where the connection broke behind %s", async (_, body) => {
      openai.answer = { ...streamed(body), isCut: true };
      expect(await failureOf(openai.submit())).toEqual(["lost", null]);
    });

    it("is taken where the connection broke behind its end mark", async () => {
      openai.answer = { ...streamed(`${event(completed)}data: [DONE]\n\n`), isCut: true };
      expect((await openai.submit()).run).toMatchObject({ state: "succeeded" });
    });

    it.each([200, 400])("is a refusal where it says so, with HTTP %s", async (status) => {
      const error = { code: "moderation_blocked", message: "Rejected by the safety system." };
      openai.answer = { status, ...streamed(event({ type: "error", error })) };
      const failure = await openai.submit().then(
        ({ run }) => run,
        (thrown: unknown) => ({ error: thrown }),
      );
      expect(failure).toMatchObject({ error: { class: "moderation", words: error.message } });
    });
  });

  it("takes a JPEG as base64, which begins as a path does", async () => {
    const jpeg = await sharp(await halves(3))
      .jpeg()
      .toBuffer();
    openai.answer = json({ data: [{ url: jpeg.toString("base64") }] });
    const { run } = await openai.submit();
    expect(run).toMatchObject({ state: "succeeded", outputs: [{ bytes: jpeg }] });
  });

  it("takes a picture beside the words of a chat's answer", async () => {
    const url = `data:image/png;base64,${(await halves(3)).toString("base64")}`;
    const message = {
      role: "assistant",
      content: "Here is your cat!",
      images: [{ type: "image_url", image_url: { url } }],
    };
    openai.answer = json({ choices: [{ message }] });
    const { run } = await openai.submit();
    expect(run).toMatchObject({ state: "succeeded", outputs: [{ bytes: await halves(3) }] });
  });

  it.each([
    ["a sentence", { error: "1 of 2 pictures failed" }],
    ["a word that means none", { error: "none" }],
    ["an object", { error: { message: "The safety filter took one." } }],
  ])("takes a picture, which is paid, beside an error: %s", async (_, error) => {
    const bytes = await halves(3);
    const made = { state: "succeeded", outputs: [{ bytes }] };
    openai.answer = json({ data: [{ b64_json: bytes.toString("base64") }], ...error });
    expect(await openai.submit()).toMatchObject({ run: made });
    openai.answer = json({ images: [bytes.toString("base64")], ...error });
    expect(await openai.submit()).toMatchObject({ run: made });
  });

  it("counts a picture that is marked as refused as made, also beside an error", async () => {
    const b64_json = (await halves(3)).toString("base64");
    openai.answer = json({ data: [{ b64_json }], has_nsfw_concepts: [true], error: "filtered" });
    expect(await openai.submit()).toMatchObject({
      run: { state: "failed", error: { class: "moderation", isCharged: true } },
    });
  });

  it("takes no address of an error, or beside it, for a picture", async () => {
    const url = "https://docs.test/errors/width";
    openai.answer = json({ error: { message: "width must be a multiple of 64", url }, documentation: url });
    expect(await openai.submit()).toMatchObject({ run: { state: "failed", error: { class: "input" } } });
  });

  it.each([
    ["a sentence", { error: "no such model: sdxl" }, "model"],
    ["a sentence about the content", { error: "Blocked by the safety filter.", data: null }, "moderation"],
    ["an object", { error: { message: "width must be a multiple of 64" } }, "input"],
  ])("tells an error with a good status as what it is: %s", async (_, body, errorClass) => {
    openai.answer = json(body);
    expect(await openai.submit()).toMatchObject({ run: { state: "failed", error: { class: errorClass } } });
  });

  it("with pictures is a form to edits, with a list where there are several", async () => {
    const picture = { bytes: await halves(3), mime: "image/png" } as const;
    await openai.submit({ input: { prompt: "both", image: [picture, picture], n: 1 } });
    expect(openai.requests[0]?.path).toBe("/v1/images/edits");
    const form = await arrivedForm();
    expect([form.get("model"), form.get("prompt"), form.get("n")]).toEqual(["model-one", "both", "1"]);
    const files = form.getAll("image[]").map((file) => (file instanceof File ? [file.name, file.type] : []));
    expect(files).toEqual([
      ["image-0.png", "image/png"],
      ["image-1.png", "image/png"],
    ]);
  });

  it.each([1, 3] as const)(
    "makes the mask of %i channels transparent where it was white",
    async (channels) => {
      const picture = { bytes: await halves(3), mime: "image/png" } as const;
      await openai.submit({
        input: { prompt: "p", image: picture, mask: { bytes: await halves(channels), mime: "image/png" } },
      });
      const mask = (await arrivedForm()).get("mask");
      if (!(mask instanceof File)) throw new Error("The form has no mask.");
      const { data, info } = await sharp(await mask.arrayBuffer())
        .raw()
        .toBuffer({ resolveWithObject: true });
      expect([info.width, info.height, info.channels]).toEqual([2, 1, 4]);
      expect([data[3], data[7]]).toEqual([255, 0]);
    },
  );

  it("sends no key to a server that has none", async () => {
    const access = { ...openai.access, apiKey: "" };
    const submission = {
      endpoint: "m",
      kind: "text_to_image",
      input: { prompt: "p" },
      idempotencyKey: "k",
      webhookUrl: null,
      beforePaid: () => Promise.resolve(),
    } as const;
    await clientOf("openai").submit(access, submission, AbortSignal.timeout(30_000));
    expect(openai.requests[0]?.headers).not.toHaveProperty("authorization");
  });
});

describe("A refusal of an images server", () => {
  it.each([
    ["a blocked prompt", refusal(400, "moderation_blocked"), "moderation", null],
    ["a policy", refusal(400, "content_policy_violation"), "moderation", null],
    ["a filter", refusal(400, "content_filter"), "moderation", null],
    ["spent money", refusal(429, "insufficient_quota"), "credit", null],
    ["the limit of a bill", refusal(400, "billing_hard_limit_reached"), "credit", null],
    [
      "a spending limit, as Fireworks has it",
      json(
        {
          error: {
            code: "PRECONDITION_FAILED",
            message:
              "Account x is suspended, possibly due to reaching the monthly spending limit or failure to pay past invoices.",
          },
        },
        412,
      ),
      "credit",
      null,
    ],
    [
      "an account in arrears, as DashScope has it",
      json(
        {
          error: {
            code: "Arrearage",
            message: "Access denied, please make sure your account is in good standing.",
          },
        },
        400,
      ),
      "credit",
      null,
    ],
    [
      "a balance in another form",
      json({ code: 30_001, message: "Sorry, your account balance is insufficient" }, 403),
      "credit",
      null,
    ],
    [
      "a balance with the status of a rate",
      json({ error: { code: "1113", message: "余额不足或无可用资源包,请充值。" } }, 429),
      "credit",
      null,
    ],
    [
      "a rate that is lower for accounts with little money",
      json(
        {
          detail:
            "Your rate limit is reduced to 6 requests per minute while you have less than $5.0 in credit. Try again in 8s.",
        },
        429,
      ),
      "rate",
      8_000,
    ],
    ["a rate", refusal(429, "rate_limit_exceeded", { "retry-after": "20" }), "rate", 20_000],
    [
      "a rate in words",
      json({ error: { message: "No deployments available, Try again in 60 seconds." } }, 429),
      "rate",
      60_000,
    ],
    ["a wrong key", refusal(401, "invalid_api_key"), "auth", null],
    [
      "a wrong key, in a list",
      json([{ error: { code: 400, message: "API key not valid. Please pass a valid API key." } }], 400),
      "auth",
      null,
    ],
    ["a policy, in a list", json([{ error: { code: "content_filter" } }], 400), "moderation", null],
    ["an empty list", json([], 400), "input", null],
    ["a wrong field", refusal(400, null), "input", null],
    ["an inner fault", refusal(500, null), "transient", null],
    ["an overload", refusal(503, null), "transient", null],
    ["a gateway that waited too long", { status: 504, body: "<html>" }, "lost", null],
    ["a timeout of Cloudflare", { status: 524, body: "<html>" }, "lost", null],
    ["an answer that Cloudflare cannot read", json({ title: "Error 520" }, 520), "lost", null],
    ["a read that took another proxy too long", { status: 598 }, "lost", null],
    ["a server that Cloudflare does not reach", { status: 522, body: "<html>" }, "transient", null],
    ["the page of a proxy", { body: "<html>" }, "lost", null],
    ["an answer without a picture", json({ data: [] }), "internal", null],
    ["a cut connection", "reset", "lost", null],
  ] as const)("names %s", async (_, answer, errorClass, retryAfterMs) => {
    openai.answer = answer;
    expect(await failureOf(openai.submit())).toEqual([errorClass, retryAfterMs]);
    expect(openai.requests).toHaveLength(1);
  });

  it("holds no key, although the server repeats it", async () => {
    const message = `Incorrect API key provided: ${openai.access.apiKey}.`;
    openai.answer = json({ error: { code: "invalid_api_key", message } }, 401);
    const error = await openai.submit().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ class: "auth", message: expect.stringContaining("[key]") });
    expect(String(error)).not.toContain("canary");
  });

  it("is final for runs and webhooks, which such a server has not", async () => {
    expect(await failureOf(openai.get())).toEqual(["lost", null]);
    expect(await openai.cancel()).toBe("unsupported");
    expect(await failureOf(openai.webhook("{}"))).toEqual(["auth", null]);
  });
});
