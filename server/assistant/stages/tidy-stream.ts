import { randomUUID } from "node:crypto";
import { errorIn, type Fields, isFields, isNoError, isText, tidyChunk } from "./tidy-chunks.ts";
import { ToldCalls, type Told } from "./told-calls.ts";

const dataLine = /^data:\s?(.*?)\r?$/s;
/** Servers of llama.cpp name the field of an event so instead of what is in it. */
const errorLine = /^error:\s?(\{.*?)\r?$/s;

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

const quoted = /"(?:[^"\\]|\\.)*"?/g;

/** Brackets that a line of JSON opens and does not close. No string of JSON goes over two lines. */
function opened(line: string): number {
  let open = 0;
  for (const [sign] of line.replaceAll(quoted, "").matchAll(/[[\]{}]/g))
    open += sign === "{" || sign === "[" ? 1 : -1;
  return open;
}

/**
 * Lines of an event whose JSON goes over several. They are read together once, where their brackets are closed: to try at
 * each line would cost the square of their bytes.
 */
class BegunEvent {
  readonly #lines: string[] = [];
  #open = 0;
  /** Its brackets were closed and it was no JSON, which more lines do not change. */
  #isWords = false;

  get isEmpty(): boolean {
    return this.#lines.length === 0;
  }

  /** The chunk that is whole with this line. */
  add(line: string): Fields | null {
    this.#lines.push(line);
    if (this.#isWords) return null;
    this.#open += opened(line);
    if (this.#open > 0) return null;
    const chunk = parse(this.text);
    this.#isWords = chunk === null;
    return chunk;
  }

  get text(): string {
    return this.#lines.join("\n");
  }
}

/** Follows a stream: whether it said why it ended, and whether it called tools. */
class ChunkReader {
  readonly #told: ToldCalls | null;
  #isEnded = false;
  #hasCalls = false;
  #begun = new BegunEvent();

  constructor(tools: readonly string[]) {
    this.#told = tools.length > 0 ? new ToldCalls(tools) : null;
  }

  /** A line of the stream as the SDK is given it: each chunk as an event by itself, which some servers leave to the lines. */
  read(line: string): string {
    const failed = errorLine.exec(line)?.[1];
    const data = failed ?? dataLine.exec(line)?.[1]?.trim();
    if (data === undefined) return line.trim() === "" ? this.#endEvent() : line;
    if (data === "[DONE]") return `${this.#endEvent()}\n${this.#finish()}${line}\n`;
    const chunk = this.#gather(data);
    if (chunk === null) return "";
    return this.#tell(failed === undefined ? this.#upToEnd(chunk) : { error: errorIn(chunk) ?? chunk });
  }

  /**
   * The chunk that is whole with this line, or by itself behind lines that were none; null before, and for an event of nothing,
   * which is a sign of life.
   */
  #gather(data: string): Fields | null {
    if (data === "") return null;
    const chunk = this.#begun.add(data) ?? wholeChunk(data);
    if (chunk !== null) this.#begun = new BegunEvent();
    return chunk;
  }

  #tell(chunk: Fields): string {
    const read = this.#withCalls(tidyChunk(chunk));
    this.#note(read);
    return `data: ${JSON.stringify(read)}\n`;
  }

  /** An event that holds no JSON says in words why the answer ends. */
  #endEvent(): string {
    if (this.#begun.isEmpty) return "";
    const message = this.#begun.text;
    this.#begun = new BegunEvent();
    return message === "" || this.#isEnded ? "" : this.#tell({ error: { message } });
  }

  /** Of what comes after the end without choices only a plain error and the tokens count: the answer is whole. */
  #upToEnd(chunk: Fields): Fields {
    const isMore = Array.isArray(chunk["choices"]) || !isNoError(chunk["error"]);
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

/** A line that is a chunk, and no part of one over several lines. */
function wholeChunk(line: string): Fields | null {
  const chunk = parse(line);
  const isWhole = Array.isArray(chunk?.["choices"]) || chunk?.["error"] !== undefined;
  return isWhole ? chunk : null;
}

function isCut(line: string): boolean {
  const data = dataLine.exec(line)?.[1]?.trim();
  return data !== undefined && data !== "[DONE]" && parse(data) === null;
}

/** A return at the end of what has come may be half of one. */
const lineEnd = /\r?\n|\r(?=[^\n])/;

/** The lines of a text that comes in pieces. Those of a line are put together and searched once, however many they are. */
export class GrowingLines {
  #begun: string[] = [];

  /** The lines that end in this piece. */
  add(text: string): string[] {
    if (text === "") return [];
    const mayEnd = /[\r\n]/.test(text) || this.#begun.at(-1)?.endsWith("\r") === true;
    this.#begun.push(text);
    if (!mayEnd) return [];
    const lines = this.rest.split(lineEnd);
    this.#begun = [lines.pop() ?? ""];
    return lines;
  }

  /** The line that has no end yet. */
  get rest(): string {
    return this.#begun.join("");
  }
}

/** Makes the chunks of a stream of events tidy, line by line; calls of these tools are also found in the words. */
export function tidyStream(tools: readonly string[]): TransformStream<Uint8Array, Uint8Array> {
  const [decoder, encoder, reader] = [new TextDecoder(), new TextEncoder(), new ChunkReader(tools)];
  const growing = new GrowingLines();
  return new TransformStream({
    transform(bytes, controller) {
      const lines = growing.add(decoder.decode(bytes, { stream: true }));
      if (lines.length === 0) return;
      controller.enqueue(encoder.encode(lines.map((line) => `${reader.read(line)}\n`).join("")));
    },
    flush(controller) {
      const { rest } = growing;
      // A chunk that was cut is left out: the error says more than its form.
      const last = rest === "" || isCut(rest) ? "" : `${reader.read(rest)}\n\n`;
      controller.enqueue(encoder.encode(`${last}\n${reader.end()}`));
    },
  });
}
