import { once } from "node:events";
import { inspectEnv, isUnsent, outsideFetch, useProxies } from "@atelier/server/platform";
import {
  ErrorCode,
  isJSONRPCRequest,
  type JSONRPCMessage,
  JSONRPCMessageSchema,
  type RequestId,
} from "@modelcontextprotocol/sdk/types.js";
import { EventSourceParserStream } from "eventsource-parser/stream";
import { parseFlags } from "./flags.ts";

const usage = "Usage: ATELIER_API_KEY=<key> atelier mcp [--url http://localhost:3000]";

/**
 * `atelier mcp`: hands the messages of a program that speaks MCP on stdin and stdout to `/mcp` of a studio, and its answers
 * back. It needs no database: the studio may be on another machine. Ends when stdin does, after the answers to what came before.
 */
export async function mcp(args: string[]): Promise<number> {
  const options = { url: { type: "string", default: "http://localhost:3000" } } as const;
  const flags = parseFlags({ args, options, required: [], usage });
  if (!flags) return 1;
  const url = URL.parse("/mcp", flags.url);
  const key = process.env["ATELIER_API_KEY"];
  const fault = faultOf(url, key);
  if (fault !== null || !url || !key) {
    // Standard output is for messages alone.
    console.error(`${fault}\n${usage}`);
    return 1;
  }
  useProxies(inspectEnv(process.env).env);
  await bridge(new Studio(url, key));
  return 0;
}

function faultOf(url: URL | null, key: string | undefined): string | null {
  if (!url || !/^https?:$/.test(url.protocol)) return "The address is no URL.";
  // Errors have the address in them, and they go to a language model.
  if (url.username !== "" || url.password !== "")
    return "Leave the name and the password out of the address: the key is in ATELIER_API_KEY.";
  return key ? null : "ATELIER_API_KEY is not set.";
}

/** A line with a picture, above what the studio takes, which refuses in words itself. */
const maxLineBytes = 32 * 1_048_576;

async function bridge(studio: Studio): Promise<void> {
  const handed = new Set<Promise<void>>();
  // Nobody reads any more. Each later write fails as well.
  process.stdout.on("error", () => studio.leave());
  for await (const line of linesOf(process.stdin)) {
    const one = (typeof line === "string" ? take(studio, line) : refuse(line)).finally(() =>
      handed.delete(one),
    );
    handed.add(one);
  }
  await Promise.all(handed);
}

async function take(studio: Studio, line: string): Promise<void> {
  if (line.trim() === "") return;
  const message = parse(line, null);
  if (message) await hand(studio, message);
  else console.error("A line that is no message of JSON-RPC is left out.");
}

/** A line above the limit, of which only this is kept. */
interface Excess {
  readonly sizeBytes: number;
  readonly start: string;
  readonly end: string;
}

/** Programs write the id of a request either first or last. */
const idAtEnd = /"id"\s*:\s*(\d+|"(?:[^"\\]|\\.)*")\s*\}\s*$/;
const idAtStart = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d+|"(?:[^"\\]|\\.)*")/;

async function refuse({ sizeBytes, start, end }: Excess): Promise<void> {
  const text = `A message of ${sizeBytes} bytes is left out: at most ${maxLineBytes} are read.`;
  console.error(text);
  const [, id] = idAtStart.exec(start) ?? idAtEnd.exec(end) ?? [];
  if (id !== undefined)
    await give({
      jsonrpc: "2.0",
      id: JSON.parse(id),
      error: { code: ErrorCode.InvalidRequest, message: text },
    });
}

const newline = 10;
const excerptBytes = 1_024;

/** The lines of a stream. Of one above the limit no more than the limit is held. */
async function* linesOf(stream: AsyncIterable<Buffer>): AsyncGenerator<string | Excess> {
  let line = new Line();
  for await (const chunk of stream) {
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      line.add(chunk.subarray(start, end));
      yield line.read();
      line = new Line();
      start = end + 1;
    }
    line.add(chunk.subarray(start));
  }
  yield line.read();
}

class Line {
  #parts: Buffer[] = [];
  #sizeBytes = 0;
  #start = "";
  #end = Buffer.alloc(0);

  add(part: Buffer): void {
    this.#sizeBytes += part.length;
    this.#parts.push(part);
    if (this.#sizeBytes <= maxLineBytes) return;
    if (this.#start === "") this.#start = Buffer.concat(this.#parts).toString("utf8", 0, excerptBytes);
    this.#end = Buffer.concat([this.#end, ...this.#parts]).subarray(-excerptBytes);
    this.#parts = [];
  }

  read(): string | Excess {
    if (this.#sizeBytes <= maxLineBytes) return Buffer.concat(this.#parts).toString("utf8");
    return { sizeBytes: this.#sizeBytes, start: this.#start, end: this.#end.toString("utf8") };
  }
}

/** Hands a message to the program; waits while it reads slowly. */
async function give(message: JSONRPCMessage): Promise<void> {
  if (!process.stdout.writable) return;
  if (!process.stdout.write(`${JSON.stringify(message)}\n`)) await once(process.stdout, "drain");
}

/** Every request gets an answer, also one that did not reach the studio, or whose answer did not come back. */
async function hand(studio: Studio, message: JSONRPCMessage): Promise<void> {
  const id = isJSONRPCRequest(message) ? message.id : null;
  let isAnswered = false;
  try {
    for await (const answer of studio.ask(message, id)) {
      isAnswered ||= !("method" in answer) && answer.id === id;
      await give(answer);
    }
    if (id !== null && !isAnswered) throw new Error(brokenOff);
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    console.error(text);
    if (id !== null && !isAnswered)
      await give({ jsonrpc: "2.0", id, error: { code: -32_000, message: text } });
  }
}

const brokenOff = "The studio's answer broke off. What it has begun goes on there: look before asking again.";

class Studio {
  /** The name that the studio gave to this session. */
  #session: string | null = null;
  /** The version of the protocol that was agreed on, which later requests name. */
  #version: string | null = null;
  readonly #leaving = new AbortController();
  readonly #url: URL;
  readonly #key: string;

  constructor(url: URL, key: string) {
    this.#url = url;
    this.#key = key;
  }

  /** Gives up all calls. */
  leave(): void {
    this.#leaving.abort();
  }

  /** Sends a message and yields what comes back: progress, then the answer. Throws when the studio does not take it. */
  async *ask(message: JSONRPCMessage, id: RequestId | null): AsyncGenerator<JSONRPCMessage> {
    const response = await this.#post(message);
    this.#session = response.headers.get("mcp-session-id") ?? this.#session;
    for await (const text of textsOf(response)) {
      const answer = parse(text, id);
      if (answer === null) throw new Error(refusalOf(response.status, text));
      this.#noteVersion(answer);
      yield answer;
    }
  }

  async #post(message: JSONRPCMessage): Promise<Response> {
    const response = await outsideFetch(this.#url, {
      method: "POST",
      headers: {
        authorization: `Bearer ${this.#key}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...(this.#session === null ? {} : { "mcp-session-id": this.#session }),
        ...(this.#version === null ? {} : { "mcp-protocol-version": this.#version }),
      },
      body: JSON.stringify(message),
      // The key is for this address alone.
      redirect: "manual",
      signal: this.#leaving.signal,
    }).catch((error: unknown) => {
      const cause = causeOf(error);
      const what = isUnsent(error) ? `${this.#url.origin} cannot be reached` : brokenOff;
      throw new Error(`${what} (${cause.message})`, { cause: error });
    });
    const place = response.status >= 300 && response.status < 400 ? response.headers.get("location") : null;
    if (place === null) return response;
    await response.body?.cancel();
    throw new Error(
      `${this.#url.href} leads to ${new URL(place, this.#url).href}: give that address by --url.`,
    );
  }

  #noteVersion(answer: JSONRPCMessage): void {
    if (!("result" in answer)) return;
    const { protocolVersion } = answer.result;
    if (typeof protocolVersion === "string") this.#version = protocolVersion;
  }
}

/** The messages of an answer, as JSON each. */
async function* textsOf(response: Response): AsyncGenerator<string> {
  const { body, headers } = response;
  if (body === null) return;
  if (headers.get("content-type")?.startsWith("text/event-stream") !== true) {
    const text = await response.text().catch((error: unknown) => {
      throw new Error(brokenOff, { cause: error });
    });
    if (text !== "" || !response.ok) yield text;
    return;
  }
  const events = body
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream({ maxBufferSize: maxLineBytes }));
  try {
    for await (const { data } of events) if (data !== "") yield data;
  } catch (error) {
    throw new Error(brokenOff, { cause: error });
  }
}

/** Null for what is no message of JSON-RPC, such as a page. A refusal that names no request is one of the request that was sent. */
function parse(text: string, id: RequestId | null): JSONRPCMessage | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  const isNameless = typeof value === "object" && value !== null && "id" in value && value.id === null;
  // Safe cast: it is an object.
  const named = isNameless && id !== null ? { ...(value as object), id } : value;
  return JSONRPCMessageSchema.safeParse(named).data ?? null;
}

const maxShown = 200;

function refusalOf(status: number, text: string): string {
  const [start = ""] = text.trim().split("\n");
  const words = `The address answers HTTP ${status}, which is not a studio's answer: ${start.slice(0, maxShown)}`;
  // What stands before the studio may have handed the request on.
  return status < 500 ? words : `${words}\n${brokenOff}`;
}

function causeOf(error: unknown): Error {
  const { cause } = error instanceof Error ? error : { cause: undefined };
  if (cause instanceof Error) return cause;
  return error instanceof Error ? error : new Error(String(error));
}
