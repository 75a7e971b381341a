import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { embedMany } from "ai";
import { afterEach, describe, expect, test, vi } from "vitest";
import { fetchFrom } from "./local-server.ts";
import { isTooLong, toModelError } from "./model-errors.ts";
import { streamAnswer } from "./stream.ts";
import { idleTools } from "./tools.ts";

interface Heard {
  text: string;
  thinking: string;
  readonly calls: unknown[];
  isCut: boolean;
}

/** What the studio hears of a server that answers with this body. */
async function hear(body: string | ReadableStream<Uint8Array>, type = "text/event-stream"): Promise<Heard> {
  const heard: Heard = { text: "", thinking: "", calls: [], isCut: false };
  const { signal } = new AbortController();
  const provider = createOpenAICompatible({
    name: "local",
    baseURL: "http://home/v1",
    fetch: fetchFrom({
      address: "http://home/v1",
      send: () => Promise.resolve(new Response(body, { headers: { "content-type": type } })),
      refused: [],
      onRefused: () => Promise.resolve(),
    }),
  });
  const { isCut } = await streamAnswer(
    { model: provider("simulated"), maxOutputTokens: 500, abortSignal: signal, maxRetries: 0 },
    {
      context: { instructions: "Answer.", messages: [{ role: "user", content: "What is there?" }] },
      tools: idleTools(),
      maxSteps: 1,
      progress: {
        noteFirstText: () => undefined,
        noteSign: () => undefined,
        noteTurn: () => undefined,
        noteStep: () => undefined,
      },
      sink: {
        add: (text) => void (heard.text += text),
        think: (text) => void (heard.thinking += text),
        takeBack: () => void (heard.text = ""),
        noteTool: (call) => void heard.calls.push(call),
      },
    },
  );
  return { ...heard, isCut };
}

/** Why it hears nothing. */
const failure = (body: string, type?: string): Promise<unknown> =>
  hear(body, type).catch((thrown: unknown) => toModelError(thrown, null));

const lines = (...chunks: readonly unknown[]) =>
  chunks.map((chunk) => `data: ${typeof chunk === "string" ? chunk : JSON.stringify(chunk)}\n\n`).join("");
const choice = (delta: unknown, reason?: string | null) => ({
  id: "1",
  object: "chat.completion.chunk",
  created: 1,
  model: "m",
  choices: [{ index: 0, delta, ...(reason === undefined ? {} : { finish_reason: reason }) }],
});
const words = [choice({ role: "assistant", content: "Red " }), choice({ content: "linen." })];
const stop = choice({}, "stop");

describe("chunks that are not quite those of the API", () => {
  test.each([
    ["no reason at its end", lines(...words, "[DONE]")],
    ["an empty reason in each chunk", lines(choice({ content: "Red linen." }, ""), choice({}, ""), "[DONE]")],
    [
      "a last chunk of tokens alone",
      lines(...words, stop, { id: "1", usage: { prompt_tokens: 3 } }, "[DONE]"),
    ],
    [
      "judgements of a filter, before, without a delta, and after the end",
      lines(
        {
          id: "",
          object: "",
          created: 0,
          model: "",
          choices: [],
          prompt_filter_results: [{ prompt_index: 0 }],
        },
        ...words,
        {
          id: "",
          object: "",
          created: 0,
          choices: [{ index: 0, finish_reason: null, content_filter_results: {} }],
        },
        stop,
        {
          id: "",
          object: "",
          choices: [{ index: 0, finish_reason: null, content_filter_offsets: { check_offset: 4 } }],
        },
        "[DONE]",
      ),
    ],
    ["choices that are null", lines({ choices: null }, ...words, stop, "[DONE]")],
    ["an error that is null", lines(...words.map((chunk) => ({ ...chunk, error: null })), stop, "[DONE]")],
    ["signs of life", `: ping\n\nevent: ping\n${lines({ type: "ping" }, ...words, stop)}`],
    ["numbers as texts", lines(...words.map((chunk) => ({ ...chunk, id: 7, created: "1" })), stop)],
    ["tokens as texts", lines(...words, { ...stop, usage: { prompt_tokens: "3", total_tokens: null } })],
    ["another role", lines(choice({ role: "model", content: "Red linen." }), stop)],
    ["parts of words", lines(choice({ content: [{ type: "text", text: "Red " }, "linen."] }), stop)],
    ["a message instead of a delta", lines({ choices: [{ message: { content: "Red linen." } }] }, stop)],
    ["thoughts as an object", lines(choice({ content: "Red linen.", reasoning: { steps: [] } }), stop)],
    [
      "members named as those of every object",
      lines(...words.map((chunk) => JSON.stringify(chunk).replace("{", '{"__proto__":1,')), stop),
    ],
    ["breaks of Windows", lines(...words, stop).replaceAll("\n", "\r\n")],
    ["no break at its end", lines(...words, stop).trimEnd()],
    ...[0, 200, null, "", "0", "200", "Success", "ok"].map((code) => [
      `a code that is none of an error: ${JSON.stringify(code)}`,
      lines({ code, message: "started" }, ...words, { code, message: "fine" }, stop, "[DONE]"),
    ]),
    [
      "a code beside a message of success",
      lines(...words, { code: 10_000, message: "Success" }, stop, "[DONE]"),
    ],
    ["tokens with a code after its end", lines(...words, stop, { code: 1_001, message: "billed" }, "[DONE]")],
  ])("%s", async (_what, body) => {
    expect((await hear(body)).text).toBe("Red linen.");
  });

  test("a whole answer without a reason, for a server that does not stream", async () => {
    const answer = {
      choices: [{ message: { role: "assistant", content: "Red linen." }, finish_reason: null }],
    };
    expect((await hear(JSON.stringify(answer), "application/json")).text).toBe("Red linen.");
  });

  const plain = lines(...words, stop, "[DONE]");
  const counted = (usage: unknown) => lines(...words, stop, { id: "1", choices: [], usage }, "[DONE]");
  test.each([
    ["an event of nothing as a sign of life", `data:\n\n${lines(...words)}data: \n\n${lines(stop)}`],
    ["one line break behind each chunk", plain.replaceAll("\n\n", "\n")],
    ["words before its chunks, with one line break", `data: ping\n${plain.replaceAll("\n\n", "\n")}`],
    [
      "a cut chunk before them, with one line break",
      `data: {"choices":[{"del\n${plain.replaceAll("\n\n", "\n")}`,
    ],
    [
      "JSON over several lines that are JSON",
      lines('{"choices":[\ndata: {"delta":{"content":"Red linen."}}\ndata: ]}', stop),
    ],
    ["returns alone", plain.replaceAll("\n", "\r")],
    ["returns and line breaks", plain.replaceAll("\n", "\r\n")],
    ["JSON over several lines", lines('{"choices":[{\ndata: "delta":{"content":"Red linen."}}]}', stop)],
    ["no error as an empty text", lines({ ...choice({ content: "Red linen." }, "stop"), error: "" })],
    ["no error as an empty object", lines({ ...choice({ content: "Red linen." }, "stop"), error: {} })],
    [
      "no error as a code and a message of none",
      lines({ ...choice({ content: "Red linen." }, "stop"), error: { code: 0, message: null } }),
    ],
    [
      "parts of tokens as texts",
      counted({ prompt_tokens: 3, prompt_tokens_details: { cached_tokens: "3" } }),
    ],
    ["parts of tokens as a list", counted({ completion_tokens: 2, completion_tokens_details: [] })],
  ])("an answer with %s is heard", async (_what, body) => {
    expect(await hear(body)).toMatchObject({ text: "Red linen.", calls: [] });
  });

  test("line separators of Unicode are letters of the answer", async () => {
    const body = lines(choice({ content: "Red\u2028" }), choice({ content: "linen\u2029." }, "stop"));
    expect((await hear(body)).text).toBe("Red\u2028linen\u2029.");
  });

  test("words in place of JSON say why an answer ends, and may be asked for again", async () => {
    for (const told of [
      "data: Internal Server Error\n\n",
      "event: error\ndata: no worker\n\n",
      "data: no worker\ndata: [DONE]\n",
    ])
      expect(await failure(lines(...words) + told)).toMatchObject({ class: "unavailable" });
  });

  test("letters of several bytes are whole, wherever a chunk is cut", async () => {
    const text = "Лён и 亚麻 👗";
    const bytes = Buffer.from(lines(choice({ content: text }), stop));
    const cut = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
        controller.close();
      },
    });
    expect((await hear(cut)).text).toBe(text);
  });

  test.each([
    ["in the middle of the answer", lines(...words)],
    ["in the middle of a chunk", lines(...words) + 'data: {"choices":[{"del'],
  ])(
    "a stream that a proxy closes %s is no whole answer, and may be asked for again",
    async (_what, body) => {
      const error: unknown = await hear(body).catch((thrown: unknown) => toModelError(thrown, null));
      expect(error).toMatchObject({ class: "unavailable" });
    },
  );
});

/** As a network cuts it. */
function inPieces(body: string, bytes: number): ReadableStream<Uint8Array> {
  const all = new TextEncoder().encode(body);
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at < all.length) controller.enqueue(all.subarray(at, (at += bytes)));
      else controller.close();
    },
  });
}

describe("what is read of an answer is no more than a few times its length", () => {
  afterEach(() => vi.restoreAllMocks());
  const sum = (texts: readonly unknown[]) =>
    texts.reduce<number>((all, text) => all + String(text).length, 0);

  test("in an event of very many lines that are no JSON", async () => {
    const body = "data: x\n".repeat(5_000);
    const read = vi.spyOn(JSON, "parse");
    expect(await failure(body)).toMatchObject({ class: "unavailable" });
    expect(sum(read.mock.calls.map(([text]) => text))).toBeLessThan(10 * body.length);
  });

  test("in an event of very many lines that are one JSON", async () => {
    const delta = { content: "Red linen.", x: Array.from({ length: 5_000 }, () => '{ "') };
    const event = JSON.stringify({ choices: [{ delta }] }, null, 1).replaceAll(/^/gm, "data: ");
    const read = vi.spyOn(JSON, "parse");
    expect(await hear(`${event}\n\n${lines(stop, "[DONE]")}`)).toMatchObject({ text: "Red linen." });
    expect(sum(read.mock.calls.map(([text]) => text))).toBeLessThan(10 * event.length);
  });

  test.each([
    ["a line of very many pieces", "", choice({ content: "Red linen.", x: "x".repeat(50_000) })],
    ["very many signs of life before the first words", ": ping\n\n".repeat(5_000), words[0]],
  ])("in %s", async (_what, before, chunk) => {
    const body = `${before}${lines(chunk, stop, "[DONE]")}`;
    const [split, searched] = [vi.spyOn(String.prototype, "split"), vi.spyOn(RegExp.prototype, "exec")];
    expect(await hear(inPieces(body, 50))).toMatchObject({ text: expect.stringContaining("Red") });
    expect(sum(split.mock.contexts)).toBeLessThan(10 * body.length);
    // Those that look for the first event.
    const texts = searched.mock.calls.flatMap(([text], at) =>
      String(searched.mock.contexts[at]).includes("data|error") ? [text] : [],
    );
    expect(texts.length).toBeGreaterThan(0);
    expect(sum(texts)).toBeLessThan(10 * body.length);
  });

  test("in words that begin very many calls, of which none far behind is looked for", async () => {
    const content = "<tool_call></tool_call>".repeat(10_000);
    const weighed = vi.spyOn(String.prototype, "matchAll");
    expect(await hear(lines(choice({ content }), stop, "[DONE]"))).toMatchObject({ calls: [], isCut: true });
    expect(sum(weighed.mock.contexts)).toBeLessThan(300_000_000);
  });
});

test.each([
  { reasoning_content: "It is red." },
  { reasoning: "It is red.", reasoning_details: [{ type: "reasoning.text", text: "It is red." }] },
  { reasoning_details: [{ text: "It is " }, { type: "reasoning.summary", summary: "red." }] },
  { reasoning: { content: "It is red." } },
  { reasoning_text: "It is red." },
  { thinking: "It is red." },
  { thinking_blocks: [{ type: "thinking", thinking: "It is red.", signature: null }] },
  { content: "<seed:think>It is red.</seed:think>" },
])("a thought is heard as one, and as a sign of the model: %o", async (delta) => {
  const heard = await hear(lines(choice(delta), ...words, stop, "[DONE]"));
  expect(heard).toMatchObject({ text: "Red linen.", thinking: "It is red." });
});

test.each([
  [{ message: "Overloaded", type: "overloaded_error" }, "unavailable"],
  [{ message: "Slow down.", code: 429 }, "rate_limited"],
  [{ message: "CUDA error: out of memory", code: null }, "unavailable"],
  [{ message: "The context length is exceeded.", code: 400 }, "over_limit"],
  ["out of memory", "unavailable"],
  [{ detail: "out of memory" }, "unavailable"],
])(
  "an error in the middle of an answer is one of the model, not of its address: %o",
  async (told, errorClass) => {
    const error: unknown = await hear(lines(...words, { error: told })).catch((thrown: unknown) =>
      toModelError(thrown, null),
    );
    expect(error).toMatchObject({ class: errorClass });
  },
);

test.each([
  [
    "as the whole event",
    lines({ object: "error", message: "CUDA error", code: 500 }, "[DONE]"),
    "unavailable",
  ],
  ["as a code below zero", lines(...words, { code: -1, message: "No worker." }, "[DONE]"), "unavailable"],
  ["as a code in words", lines(...words, { code: "busy", message: "No worker." }, "[DONE]"), "unavailable"],
  ["in its own member after an end", lines(...words, stop, { error: "No worker." }), "unavailable"],
  ["as a sentence of FastAPI", lines(...words, { detail: "The engine is dead." }, "[DONE]"), "unavailable"],
  [
    "under the name of its event",
    `error: ${JSON.stringify({ code: 400, message: "the request exceeds the available context size" })}\n\n`,
    "over_limit",
  ],
  [
    "under the name of its event, in the middle",
    `${lines(...words)}error: ${JSON.stringify({ code: 503, message: "Loading model" })}\n\n`,
    "unavailable",
  ],
  ["with its own status at first", lines({ error: { message: "Slow down.", code: 429 } }), "rate_limited"],
  ["with its status as a text", lines({ error: { message: "No worker.", code: "503" } }), "unavailable"],
  ["as the reason of an end", lines(...words, choice({}, "error"), "[DONE]"), "unavailable"],
  [
    "as a reason of DeepSeek",
    lines(...words, choice({}, "insufficient_system_resource"), "[DONE]"),
    "unavailable",
  ],
  ["by a small code", lines({ code: 1, message: "invalid key" }), "refused"],
  ["as a reason of GLM", lines(choice({ content: "Red" }, "network_error"), "[DONE]"), "unavailable"],
])("an error is found %s", async (_where, body, errorClass) => {
  expect(await failure(body)).toMatchObject({ class: errorClass });
});

describe("vectors", () => {
  /** Those of the texts "one" and "two", as the studio reads them. */
  async function vectorsIn(answer: object): Promise<unknown> {
    const provider = createOpenAICompatible({
      name: "local",
      baseURL: "http://home/v1",
      fetch: fetchFrom({
        address: "http://home/v1",
        send: () => Promise.resolve(Response.json(answer)),
        refused: [],
        onRefused: () => Promise.resolve(),
      }),
    });
    const model = provider.embeddingModel("simulated");
    const { embeddings, usage } = await embedMany({ model, values: ["one", "two"], maxRetries: 0 });
    return [...embeddings, usage.tokens];
  }
  const [one, two] = [
    [1, 0.5],
    [2, -0.25],
  ];
  const base64 = (vector: readonly number[] = []) =>
    Buffer.from(Float32Array.from(vector).buffer).toString("base64");
  const usage = { prompt_tokens: 2, total_tokens: 2 };

  test.each([
    [
      "by their numbers",
      [
        { index: 1, embedding: two },
        { index: 0, embedding: one },
      ],
      usage,
    ],
    ["without numbers", [{ embedding: one }, { embedding: two }], usage],
    [
      "with one number for all",
      [
        { index: 0, embedding: one },
        { index: 0, embedding: two },
      ],
      usage,
    ],
    ["as base64", [base64(one), base64(two)].map((embedding, index) => ({ index, embedding })), usage],
    [
      "in a list each",
      [
        { index: 0, embedding: [one] },
        { index: 1, embedding: [two] },
      ],
      usage,
    ],
    ["with all tokens alone", [{ embedding: one }, { embedding: two }], { total_tokens: 2 }],
  ])("are those of their texts: %s", async (_how, data, counted) => {
    expect(await vectorsIn({ object: "list", data, usage: counted })).toEqual([one, two, 2]);
  });
});

test.each([
  ["error: unauthorized, see the log", "not_api"],
  ["\n: a page of a proxy\nerror: no such route", "not_api"],
  ['error: {"code":503,"message":"Loading model"}\n\n', "unavailable"],
])("what is no stream and begins as one is no language model: %s", async (body, errorClass) => {
  expect(await failure(body, "text/plain")).toMatchObject({ class: errorClass });
});

test.each([
  ["MAX_TOKENS", true],
  ["model_length", true],
  ["LENGTH", true],
  ["eos_token", false],
  ["end_turn", false],
  ["COMPLETE", false],
] as const)("an answer that ends with %s is whole or cut", async (reason, isCut) => {
  expect(await hear(lines(...words, choice({}, reason), "[DONE]"))).toMatchObject({
    text: "Red linen.",
    isCut,
  });
});

test("a whole answer under the type of a stream is read, and an error in one", async () => {
  const message = { role: "assistant", content: "Red linen." };
  const answer = { choices: [{ message, finish_reason: "stop" }] };
  expect((await hear(JSON.stringify(answer))).text).toBe("Red linen.");
  const refusal = { error: { message: "This model's maximum prompt length is 4096." } };
  expect(await failure(JSON.stringify(refusal))).toMatchObject({ class: "over_limit" });
});

test.each([
  "Range of input length should be [1, 30720]",
  "This model's maximum prompt length is 131072 but the request contains 215000 tokens.",
  "Invalid request: Your request exceeded model token limit: 8192",
  "Prompt length 5000 is greater than max_seq_len 4096",
  "Input length 131393 exceeds the maximum allowed input length of 131040 tokens.",
  "The prompt has a length of 9000 tokens, larger than what the model takes",
  "The max input length is 4096",
  "Prompt length: 9000 tokens (8192 allowed)",
  "Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192",
])("a refusal of what is too long: %s", (text) => {
  expect(isTooLong(400, text)).toBe(true);
});

test.each([
  "Invalid value for the input: seed",
  "The prompt was flagged by the policy",
  "max_tokens is too small",
  "Input should have length at least 1 character",
  'Grammar error: "prompt" length {1,900} not supported',
  "The prompt needs a length of at least 3, not more than the limit of words",
])("no refusal of what is too long: %s", (text) => expect(isTooLong(400, text)).toBe(false));

/** A call as servers write it. */
const calling = (call: unknown) => lines(choice({ tool_calls: call }), "[DONE]");
const searched = (input: unknown) => [expect.objectContaining({ toolName: "search_gallery", input })];

describe("calls that are not quite those of the API", () => {
  const name = "search_gallery";
  const args = '{"words":["red"]}';
  test.each([
    ["without a number", [{ id: "a", type: "function", function: { name, arguments: args } }]],
    ["with a number as a text", [{ index: "0", function: { name, arguments: args } }]],
    ["with a number as its id", [{ index: 0, id: 7, function: { name, arguments: args } }]],
    ["with its arguments as an object", [{ index: 0, function: { name, arguments: { words: ["red"] } } }]],
    ["without a function around it", [{ name, arguments: { words: ["red"] } }]],
    ["with its arguments twice", [{ index: 0, function: { name, arguments: args + args } }]],
    ["with its first brace twice", [{ index: 0, function: { name, arguments: `{${args}` } }]],
    ["not in a list", { index: 0, function: { name, arguments: args } }],
    ["with markup of the model", [{ function: { name: `${name}<|channel|>commentary`, arguments: args } }]],
    ["with a namespace", [{ function: { name: `functions.${name}`, arguments: args } }]],
    ["with a namespace and a number", [{ function: { name: `functions.${name}:0`, arguments: args } }]],
    ["with the name of a server", [{ function: { name: `mcp__studio__${name}`, arguments: args } }]],
    ["with brackets", [{ function: { name: `${name}()`, arguments: args } }]],
    ["in capitals", [{ function: { name: "Search_Gallery", arguments: args } }]],
    ["with a hyphen", [{ function: { name: "search-gallery", arguments: args } }]],
    ["as one word", [{ function: { name: "searchGallery", arguments: args } }]],
  ])("%s", async (_what, call) => {
    expect((await hear(calling(call))).calls).toEqual(searched({ words: ["red"] }));
  });

  test.each([
    [
      "with another id in each part",
      [
        { index: 0, id: "a", function: { name, arguments: "" } },
        { index: 0, id: "b", function: { name: "", arguments: '{"words":["re' } },
        { index: 0, id: "c", function: { name: "", arguments: 'd"]}' } },
      ],
      1,
    ],
    [
      "with its name in each part",
      [
        { index: 0, id: "a", function: { name, arguments: '{"words":["re' } },
        { index: 0, id: "a", function: { name, arguments: 'd"]}' } },
      ],
      1,
    ],
    [
      "that are two under one number",
      ["red", "red"].map((word, at) => ({
        index: 0,
        id: `call_${at}`,
        function: { name, arguments: JSON.stringify({ words: [word] }) },
      })),
      2,
    ],
    [
      "without ids after the first part",
      [
        { index: 0, id: "a", function: { name, arguments: '{"words":' } },
        { index: 0, function: { arguments: '["red"]}' } },
      ],
      1,
    ],
  ])("in parts %s", async (_what, parts, count) => {
    const body = lines(...parts.map((part) => choice({ tool_calls: [part] })), choice({}, "stop"), "[DONE]");
    const { calls } = await hear(body);
    expect(calls).toEqual(Array.from({ length: count }, () => searched({ words: ["red"] })[0]));
  });

  test("as the only one, in the older member", async () => {
    const parts = [{ name, arguments: '{"words":' }, { arguments: '["red"]}' }];
    const chunks = parts.map((part) => choice({ function_call: part }));
    const { calls } = await hear(lines(...chunks, choice({}, "function_call"), "[DONE]"));
    expect(calls).toEqual(searched({ words: ["red"] }));
  });

  const xml = '<function=search_gallery>\n<parameter=words>\n["red"]\n</parameter>\n</function>';
  const object = `{"name": "${name}", "arguments": ${args}}`;
  const lettersOf = (text: string) => Array.from(text, (content) => choice({ content }));
  describe("that the server left in the words of the model", () => {
    test.each([
      ["of Hermes and Qwen", `<tool_call>\n${object}\n</tool_call>`],
      ["of Qwen Coder", `<tool_call>\n${xml}\n</tool_call>`],
      ["of Qwen Coder without its mark", xml],
      [
        "of GLM",
        `<tool_call>${name}\n<arg_key>words</arg_key>\n<arg_value>["red"]</arg_value>\n</tool_call>`,
      ],
      ["of Llama", `<|python_tag|>{"name": "${name}", "parameters": ${args}}`],
      ["of Llama as a function", `<function=${name}>${args}</function>`],
      ["of LM Studio", `[TOOL_REQUEST]${object}[END_TOOL_REQUEST]`],
      ["of MiniMax", `[TOOL_CALL] { "tool": "${name}", "args": ${args} } [/TOOL_CALL]`],
      ["of Mistral", `[TOOL_CALLS][${object}]`],
      ["of a newer Mistral", `[TOOL_CALLS]${name}[ARGS]${args}`],
      ["of Liquid", `<|tool_call_start|>[${name}(words=["red"])]<|tool_call_end|>`],
      [
        "of Kimi",
        `<|tool_calls_section_begin|><|tool_call_begin|>functions.${name}:0<|tool_call_argument_begin|>${args}<|tool_call_end|><|tool_calls_section_end|>`,
      ],
      [
        "of DeepSeek",
        `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>${name}\n\`\`\`json\n${args}\n\`\`\`<｜tool▁call▁end｜><｜tool▁calls▁end｜>`,
      ],
      [
        "of harmony",
        `<|channel|>commentary to=functions.${name} <|constrain|>json<|message|>${args}<|call|>`,
      ],
      ["of harmony, thought of", `<|channel|>analysis to=functions.${name} code<|message|>${args}<|call|>`],
      [
        "of harmony, with whom it calls first",
        `<|start|>assistant to=functions.${name}<|channel|>commentary json<|message|>${args}<|call|>`,
      ],
      ["of harmony without its marks", `commentary to=functions.${name} json${args}`],
      ["with a label before its name", `<tool_call>\nname: ${name}\narguments: ${args}\n</tool_call>`],
      ["without its end", `<tool_call>\n${object}`],
      ["as plain JSON", `{"type": "function", "name": "${name}", "parameters": ${args}}`],
      ["as JSON in a fence", `\`\`\`json\n${object}\n\`\`\``],
    ])("%s", async (_what, text) => {
      const whole = await hear(lines(choice({ content: text }), stop, "[DONE]"));
      // By single letters, in a stream that says no reason for its end.
      const letters = await hear(lines(...lettersOf(text), "[DONE]"));
      const message = { role: "assistant", content: text };
      const unstreamed = { choices: [{ index: 0, message, finish_reason: "stop" }] };
      const plain = await hear(JSON.stringify(unstreamed), "application/json");
      for (const { text: said, calls } of [whole, letters, plain]) {
        expect(calls).toEqual(searched({ words: ["red"] }));
        expect(said.trim()).toBe("");
      }
    });

    test("of harmony behind a thought", async () => {
      const thought = "<|channel|>analysis<|message|>I search.<|end|><|start|>assistant";
      const call = `<|channel|>commentary to=functions.${name} <|constrain|>json<|message|>${args}<|call|>`;
      const heard = await hear(lines(...lettersOf(thought + call), "[DONE]"));
      expect(heard.calls).toEqual(searched({ words: ["red"] }));
      expect([heard.text.trim(), heard.thinking.trim()]).toEqual(["", "I search."]);
    });

    test("not a word that is one of its marks", async () => {
      const text = "commentary to the picture: red.";
      expect((await hear(lines(...lettersOf(text), stop, "[DONE]"))).text).toBe(text);
    });

    test("behind and before words, twice", async () => {
      const text = `I look. <tool_call>${object}</tool_call> <tool_call>${object}</tool_call> There.`;
      const { text: said, calls } = await hear(lines(choice({ content: text }), stop, "[DONE]"));
      expect(said.replaceAll(/\s+/g, " ")).toBe("I look. There.");
      expect(calls).toHaveLength(2);
    });

    test.each([
      `Write \`<tool_call>${object}</tool_call>\` for it.`,
      '<tool_call>{"name": "remove_all", "arguments": {}}</tool_call>',
      '{"name": "Ann", "likes": "red"}',
      '```json\n{"type": "linen"}\n```',
      "[TOOL: a hammer] and <functions> of <b>cloth</b>, 3 < 4 [1",
      "<tool_call>",
      `The mark <tool_call> is written by me before a call of ${name} and so on. Your next question?`,
      `The mark <tool_call> names a function ${name} ${args}. Your next question?`,
      `I write <tool_call> and then ${name} ${args}. Your next question?`,
      `It is so:\n\`\`\`xml\n<tool_call>${object}</tool_call>\n\`\`\`\nYour next question?`,
    ])("not what only looks like one: %s", async (text) => {
      const { text: said, calls } = await hear(lines(...lettersOf(text), stop, "[DONE]"));
      expect({ said, calls }).toEqual({ said: text, calls: [] });
    });

    test.each([
      [`<tool_call>${name}</tool_call>`, ""],
      [`<tool_call>\n<function=${name}>\n</function>\n</tool_call>`, ""],
      [`<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>${name}<｜tool▁call▁end｜>`, ""],
      [`So:\n\`\`\`\n1\n\`\`\`\n<tool_call>{"name": "${name}"}</tool_call>`, "So:\n```\n1\n```"],
      [`<tool_call>{"name": "${name}", "arguments": {}}\nI look (a moment).`, "I look (a moment)."],
    ])("without arguments: %s", async (text, words) => {
      const { text: said, calls } = await hear(lines(...lettersOf(text), stop, "[DONE]"));
      expect({ said: said.trim(), calls }).toEqual({ said: words, calls: searched({}) });
    });

    test("not what a model thinks of without the beginning of its thought", async () => {
      for (const end of ["</think>", "</seed:think>", "[/THINK]"]) {
        const text = `Perhaps <tool_call>${object}</tool_call>?${end}Red linen.`;
        const { text: said, calls } = await hear(lines(...lettersOf(text), stop, "[DONE]"));
        expect(calls).toEqual([]);
        expect(said).toContain("Red linen.");
      }
    });

    test.each([
      ["<think>", "</think>"],
      ["<seed:think>", "</seed:think>"],
      ["<thoughts>", "</thoughts>"],
      ["◁think▷", "◁/think▷"],
    ])("not what a model thinks of in %s", async (begin, end) => {
      const text = `${begin}Perhaps <tool_call>${object}</tool_call>?${end}Red linen.`;
      const { text: said, calls } = await hear(lines(choice({ content: text }), stop, "[DONE]"));
      expect({ said, calls }).toEqual({ said: "Red linen.", calls: [] });
    });
  });

  test("two without numbers stay two", async () => {
    const two = ["red", "blue"].map((word) => ({ function: { name, arguments: `{"words":["${word}"]}` } }));
    expect((await hear(calling(two))).calls).toHaveLength(2);
  });

  test.each([
    ["null for what is left out", '{"words":["red"],"from":null,"to":"None"}', { words: ["red"] }],
    ["an empty text for what is left out", '{"words":["red"],"from":""}', { words: ["red"] }],
    ["a word without its list", '{"words":"red"}', { words: ["red"] }],
    ["a list as a text", String.raw`{"words":"[\"red\",'long']"}`, { words: ["red", "long"] }],
    ["a moment for a day", '{"words":[],"from":"2026-11-29T10:00:00Z"}', { words: [], from: "2026-11-29" }],
    ["JSON in JSON", JSON.stringify(args), { words: ["red"] }],
    ["JSON of Python in a fence", "```json\n{'words': ['red'],}\n```", { words: ["red"] }],
    ["two objects", `{}${args}`, { words: ["red"] }],
    ["arguments in arguments", `{"arguments":${args}}`, { words: ["red"] }],
  ])("arguments: %s", async (_what, text, input) => {
    const call = [{ index: 0, id: "a", function: { name, arguments: text } }];
    expect((await hear(calling(call))).calls).toEqual(searched(input));
  });

  test.each([
    ["the outer object is broken off", '{"kind":"edit","params":{"kind":"upscale"}'],
    ["the second object is broken off", '{}{"kind":"edit","params":{"kind":"upscale"}'],
    ["a word is the name of something in JavaScript", '{"kind":"edit","prompt":toString}'],
    ["two objects are orders", '{"kind":"edit","prompt":"a"}{"kind":"upscale"}'],
  ])("a call is not mended into a part of what was meant: %s", async (_what, text) => {
    const call = [{ index: 0, id: "a", function: { name: "propose_job", arguments: text } }];
    const [heard] = (await hear(calling(call))).calls;
    expect(heard).not.toMatchObject({ input: { kind: expect.anything() } });
  });

  test("numbers as texts become numbers, and what they are of stays", async () => {
    const text = '{"kind":"upscale","scale":"2","width":"1024","image":7,"prompt":"42"}';
    const call = [{ index: 0, id: "a", function: { name: "propose_job", arguments: text } }];
    expect((await hear(calling(call))).calls).toMatchObject([
      { input: { kind: "upscale", scale: 2, width: 1_024, image: "7", prompt: "42" } },
    ]);
  });

  test("a call that no mending helps stays as it was sent, for the model to read why", async () => {
    const unknown = [{ index: 0, id: "a", function: { name: "delete_everything", arguments: "{}" } }];
    expect((await hear(calling(unknown))).calls).toMatchObject([
      { toolName: "delete_everything", input: {} },
    ]);
    const wrong = [{ index: 0, id: "a", function: { name: "propose_job", arguments: '{"kind":"fly"}' } }];
    expect((await hear(calling(wrong))).calls).toMatchObject([{ input: { kind: "fly" } }]);
  });
});
