import { randomUUID } from "node:crypto";
import { ToldCalls, type Told } from "./told-calls.ts";

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The fields without those that are not of their type. */
function only(fields: Fields, isRight: Readonly<Record<string, (value: unknown) => boolean>>): Fields {
  return Object.fromEntries(
    Object.entries(fields).filter(
      ([name, value]) => !Object.hasOwn(isRight, name) || isRight[name]?.(value) !== false,
    ),
  );
}

const isText = (value: unknown) => typeof value === "string";
const isNumber = (value: unknown) => typeof value === "number";

/** A call of a tool, or a part of one: with its arguments as an object, without `function`, or with a number as its id. */
function tidyCall(call: unknown): Fields[] {
  if (!isFields(call)) return [];
  const { function: inner, name, arguments: outer, ...rest } = call;
  const { arguments: args = outer, ...named } = isFields(inner) ? inner : { name };
  const text = isText(args) || args === undefined || args === null ? args : JSON.stringify(args);
  const id = isNumber(call["id"]) ? String(call["id"]) : call["id"];
  const index = isText(call["index"]) ? Number.parseInt(String(call["index"]), 10) : call["index"];
  const tidy = {
    ...rest,
    id,
    index: Number.isInteger(index) ? index : undefined,
    function: { ...only(named, { name: isText }), arguments: text },
  };
  return [only(tidy, { id: isText })];
}

/** Words as a text, or as parts of one. */
function tidyContent(content: unknown): unknown {
  if (isText(content)) return content;
  const parts = Array.isArray(content) ? content : [content];
  return parts.flatMap((part: unknown) =>
    isText(part) ? [{ type: "text", text: part }] : isFields(part) ? [{ type: "text", ...part }] : [],
  );
}

function tidyDelta(delta: Fields): Fields {
  const { content, tool_calls: calls, ...rest } = delta;
  const listed = Array.isArray(calls) ? calls : [calls];
  const all = listed.flatMap(tidyCall);
  return {
    ...only(rest, {
      role: (value) => value === "assistant",
      reasoning_content: isText,
      reasoning: isText,
    }),
    content: tidyContent(content),
    ...(all.length > 0 ? { tool_calls: all } : {}),
  };
}

/** Other words of servers for the end of an answer. */
const endings: readonly (readonly [RegExp, string])[] = [
  [/^(?:max_?(?:new_|output_)?tokens|(?:max_?|model_?|token_?)length|token_limit|incomplete)$/i, "length"],
  [/^(?:tool_?(?:calls?|use)|function_?call)$/i, "tool_calls"],
  [/^(?:safety|sensitive|refusal|prohibited_content)$/i, "content_filter"],
  [/^(?:length|stop)$/i, ""],
];
/** The server gave up in the middle. */
const givenUp =
  /^(?:error|(?:network|engine|server|internal)_?error|abort(?:ed)?|cancell?ed|timeout|insufficient_system_resource|unavailable)$/i;

function endingOf(reason: unknown): string | null {
  if (typeof reason !== "string" || reason === "") return null;
  const found = endings.find(([pattern]) => pattern.test(reason))?.[1];
  return found === "" ? reason.toLowerCase() : (found ?? reason);
}

/** Some servers write the message of a whole answer instead of a delta, and a reason that is empty until there is one. */
function tidyChoice(choice: unknown): Fields[] {
  if (!isFields(choice)) return [];
  const delta = choice["delta"] ?? choice["message"];
  return [
    {
      ...choice,
      delta: isFields(delta) ? tidyDelta(delta) : null,
      finish_reason: endingOf(choice["finish_reason"]),
    },
  ];
}

/** What went wrong, with a message at least. */
function tidyError(error: unknown): Fields {
  if (!isFields(error)) return { message: String(error) };
  return isText(error["message"]) ? error : { ...error, message: JSON.stringify(error) };
}

const isSuccess = (text: unknown) => isText(text) && /^(?:ok|succe)/i.test(String(text));

/** Whether a code beside a message is that of an error: not where it is empty, zero, 2xx or a word of success. */
function isFault({ code, message }: Fields): boolean {
  if (isSuccess(code) || isSuccess(message)) return false;
  const number = Number(code);
  return Number.isNaN(number) ? isText(code) : number !== 0 && (number < 200 || number > 299);
}

/**
 * The error in an answer or in an event of it: in its own member, as the whole, or as the reason of an end; undefined
 * without one.
 */
export function errorIn(answer: Fields): unknown {
  const { error, choices, data, object, type, message, detail } = answer;
  if (error !== undefined && error !== null) return error;
  if (Array.isArray(choices)) {
    const reasons = choices.map((choice: unknown) => (isFields(choice) ? choice["finish_reason"] : null));
    const reason = reasons.find((each): each is string => typeof each === "string" && givenUp.test(each));
    return reason && { message: `The server ended the answer: ${reason}.`, code: 503 };
  }
  const isNamed = object === "error" || type === "error";
  const isCoded = data === undefined && isText(message) && isFault(answer);
  return isNamed || isCoded || isText(detail) ? { message: detail, ...answer } : undefined;
}

/** A chunk as the SDK takes it, which refuses a whole answer for one field that it does not know. */
export function tidyChunk(chunk: Fields): Fields {
  const { error: _, choices, usage, ...rest } = chunk;
  const error = errorIn(chunk);
  if (error !== undefined) return { error: tidyError(error) };
  const counts = { prompt_tokens: isNumber, completion_tokens: isNumber, total_tokens: isNumber };
  return {
    ...only(rest, { id: isText, model: isText, created: isNumber }),
    choices: (Array.isArray(choices) ? choices : []).flatMap(tidyChoice),
    ...(isFields(usage) ? { usage: only(usage, counts) } : {}),
  };
}

const dataLine = /^data:\s?(.*?)\r?$/;
/** Servers of llama.cpp name the field of an event so instead of what is in it. */
const errorLine = /^error:\s?(\{.*?)\r?$/;

/** The words of a delta; null where its content is more than words. */
function wordsOf(content: unknown): string | null {
  if (content === undefined || isText(content)) return String(content ?? "");
  const parts: unknown[] = Array.isArray(content) ? content : [content];
  const texts = parts.map((part) => (isFields(part) && part["type"] === "text" ? part["text"] : null));
  return texts.every(isText) ? texts.join("") : null;
}

/** A choice with the words that are sure, and the calls that were among them. */
function withTold(choice: Fields, delta: Fields, told: readonly Told[]): Fields {
  const own = Array.isArray(delta["tool_calls"]) ? delta["tool_calls"] : [];
  const calls = told.flatMap((each) => each.calls);
  const all: unknown[] = [
    ...own,
    ...calls.map((called) => ({ id: randomUUID(), type: "function", function: called })),
  ];
  const text = told.map((each) => each.text).join("");
  // Parts that are more than words stay before those that waited.
  const before = wordsOf(delta["content"]) === null ? [delta["content"]].flat() : null;
  const content = before === null ? text : [...before, { type: "text", text }];
  const reason =
    choice["finish_reason"] === "stop" && calls.length > 0 ? "tool_calls" : choice["finish_reason"];
  return {
    ...choice,
    delta: { ...delta, content, ...(all.length > 0 ? { tool_calls: all } : {}) },
    finish_reason: reason,
  };
}

/** Follows a stream: whether it said why it ended, and whether it called tools. */
class ChunkReader {
  readonly #told: ToldCalls | null;
  #isEnded = false;
  #hasCalls = false;

  constructor(tools: readonly string[]) {
    this.#told = tools.length > 0 ? new ToldCalls(tools) : null;
  }

  /** A line of the stream as the SDK is given it. */
  read(line: string): string {
    const failed = errorLine.exec(line)?.[1];
    const data = failed ?? dataLine.exec(line)?.[1]?.trim();
    if (data === undefined) return line;
    if (data === "[DONE]") return this.#finish() + line;
    const chunk = parse(data);
    if (chunk === null) return line;
    const tidy = tidyChunk(failed === undefined ? this.#upToEnd(chunk) : { error: errorIn(chunk) ?? chunk });
    const read = this.#withCalls(tidy);
    this.#note(read);
    return `data: ${JSON.stringify(read)}`;
  }

  /** Of what comes after the end without choices only a plain error and the tokens count: the answer is whole. */
  #upToEnd(chunk: Fields): Fields {
    const isMore = Array.isArray(chunk["choices"]) || (chunk["error"] ?? null) !== null;
    return this.#isEnded && !isMore ? { usage: chunk["usage"] } : chunk;
  }

  /** With the calls that the model has written into its words. */
  #withCalls(chunk: Fields): Fields {
    const [choice] = Array.isArray(chunk["choices"]) ? chunk["choices"] : [];
    if (!this.#told || this.#isEnded || !isFields(choice)) return chunk;
    const delta = isFields(choice["delta"]) ? choice["delta"] : {};
    const content = wordsOf(delta["content"]);
    const isLast = choice["finish_reason"] !== null;
    if (content === null && !isLast) return chunk;
    const told = [this.#told.add(content ?? ""), ...(isLast ? [this.#told.end()] : [])];
    return { ...chunk, choices: [withTold(choice, delta, told)] };
  }

  #note({ error, choices }: Fields): void {
    const [choice] = Array.isArray(choices) ? choices : [];
    if (isFields(choice) && isFields(choice["delta"]) && choice["delta"]["tool_calls"] !== undefined)
      this.#hasCalls = true;
    if (error !== undefined || (isFields(choice) && choice["finish_reason"] !== null)) this.#isEnded = true;
  }

  /** For servers that end an answer without a reason. */
  #finish(): string {
    if (this.#isEnded) return "";
    this.#isEnded = true;
    const last = { index: 0, finish_reason: this.#hasCalls ? "tool_calls" : "stop" };
    const choice = withTold(last, {}, this.#told ? [this.#told.end()] : []);
    return `data: ${JSON.stringify({ choices: [choice] })}\n\n`;
  }

  /** An error for a stream that ended in the middle: a proxy may close it as if it were whole. */
  end(): string {
    if (this.#isEnded) return "";
    return `data: ${JSON.stringify({ error: { message: "The stream ended in the middle." } })}\n\n`;
  }
}

function parse(text: string): Fields | null {
  try {
    // The SDK refuses a whole answer for such a member.
    const value: unknown = JSON.parse(text, (name, member) => (name === "__proto__" ? undefined : member));
    return isFields(value) ? value : null;
  } catch {
    return null;
  }
}

function isCut(line: string): boolean {
  const data = dataLine.exec(line)?.[1]?.trim();
  return data !== undefined && data !== "[DONE]" && parse(data) === null;
}

/** Makes the chunks of a stream of events tidy, line by line; calls of these tools are also found in the words. */
export function tidyStream(tools: readonly string[]): TransformStream<Uint8Array, Uint8Array> {
  const [decoder, encoder, reader] = [new TextDecoder(), new TextEncoder(), new ChunkReader(tools)];
  let rest = "";
  return new TransformStream({
    transform(bytes, controller) {
      const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      if (lines.length === 0) return;
      controller.enqueue(encoder.encode(lines.map((line) => `${reader.read(line)}\n`).join("")));
    },
    flush(controller) {
      // A chunk that was cut is left out: the error says more than its form.
      const last = rest === "" || isCut(rest) ? "" : `${reader.read(rest)}\n\n`;
      controller.enqueue(encoder.encode(`${last}\n${reader.end()}`));
    },
  });
}
