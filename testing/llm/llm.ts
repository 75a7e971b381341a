import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { embeddingsOf, type EmbeddingRequest, readEmbeddingRequest } from "./embeddings.ts";

const messageSchema = z.looseObject({
  role: z.enum(["system", "developer", "user", "assistant", "tool"]),
  content: z.unknown().optional(),
  tool_call_id: z.string().optional(),
});

const requestSchema = z.looseObject({
  model: z.string(),
  messages: z.array(messageSchema).min(1),
  stream: z.boolean().optional(),
  temperature: z.number().optional(),
  response_format: z.looseObject({ type: z.string() }).optional(),
  tools: z.array(z.looseObject({ function: z.looseObject({ name: z.string() }) })).optional(),
});

export type LlmRequest = z.infer<typeof requestSchema>;

/** What one request gets. Without a status the answer is a success. */
export interface LlmReply extends Fault {
  readonly text?: string;
  /** Comes before the text, in a field of its own. */
  readonly reasoning?: string;
  /** Instead of an answer of the API: what a proxy or another program says, as it is. */
  readonly raw?: { readonly type: string; readonly body: string };
  /** Tokens that the server counts of what it was sent. */
  readonly readTokens?: number;
  readonly finishReason?: string;
  readonly toolCalls?: readonly LlmToolCall[];
  /** Between two words of a stream. */
  readonly wordMs?: number;
  /** The words of a stream after the first wait for this. */
  readonly until?: Promise<void>;
  /** Cuts the connection after this many words of a stream. */
  readonly cutAfterWords?: number;
}

interface LlmToolCall {
  readonly name: string;
  readonly args: unknown;
  readonly id?: string;
  /** Of the thought that led to the call, as Gemini has it. */
  readonly signature?: string;
}

interface Fault {
  /** HTTP status of a fault, with its `Retry-After`. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly message?: string;
  /** In place of the body that has the message. */
  readonly body?: unknown;
  /** Waits this long before the first byte of the answer; `Infinity` never answers. */
  readonly delayMs?: number;
}

/** What a request for vectors gets: a fault, vectors of a test, else those of the simulated model. */
interface EmbeddingReply extends Fault {
  readonly vectors?: readonly (readonly number[])[];
}

export interface Llm {
  readonly url: string;
  /** Lines for the environment of a studio. */
  readonly env: Readonly<Record<string, string>>;
  /** All requests, oldest first. */
  readonly requests: readonly LlmRequest[];
  /** Decides what the next requests get; set it in tests. */
  answer: (request: LlmRequest, number: number) => LlmReply | Promise<LlmReply>;
  /** All requests for vectors, oldest first. */
  readonly embeddings: readonly EmbeddingRequest[];
  /** Decides on a fault of the next requests for vectors, or names other vectors. */
  answerEmbedding: (request: EmbeddingRequest, number: number) => EmbeddingReply | Promise<EmbeddingReply>;
  close(): Promise<void>;
}

/** All words of a message, which may be a text or a list of parts. */
export function textOf({ content }: LlmRequest["messages"][number]): string {
  if (typeof content === "string") return content;
  const parts = z.array(z.looseObject({ text: z.string().optional() })).safeParse(content);
  return parts.success ? parts.data.map(({ text = "" }) => text).join("") : "";
}

/** Counts words as tokens: near enough for an invoice of nobody. */
const countTokens = (text: string) => text.split(/\s+/).filter(Boolean).length;

export interface LlmOptions {
  /** A free one by default. */
  readonly port?: number;
  readonly answer: Llm["answer"];
  /** The server is a deployment of Azure and takes this key. */
  readonly azureKey?: string;
}

const deployment = "/openai/deployments/simulated";

/** The path as other servers name it; Azure knows another one, and nothing at all without its version. */
function pathOf({ url = "/" }: IncomingMessage, isAzure: boolean): string {
  const { pathname, searchParams } = new URL(url, "http://localhost");
  if (!isAzure) return pathname;
  if (!searchParams.has("api-version")) return "/";
  return pathname === "/openai/models" ? "/v1/models" : pathname.replace(deployment, "/v1");
}

export async function openLlm({ port = 0, answer, azureKey }: LlmOptions): Promise<Llm> {
  const requests: LlmRequest[] = [];
  const embeddings: EmbeddingRequest[] = [];
  const llm: Pick<Llm, "answer" | "answerEmbedding"> = { answer, answerEmbedding: () => ({}) };
  const server = createServer((incoming, response) => {
    serve(incoming, response).catch(() => response.destroy());
  });

  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    if (azureKey !== undefined && incoming.headers["api-key"] !== azureKey)
      return json(
        response,
        401,
        fault("Access denied due to invalid subscription key or wrong API endpoint."),
      );
    const path = pathOf(incoming, azureKey !== undefined);
    if (path === "/v1/models") return json(response, 200, { data: [{ id: "simulated", object: "model" }] });
    if (path === "/v1/embeddings") return embed(response, readEmbeddingRequest(await readBody(incoming)));
    if (path !== "/v1/chat/completions") return json(response, 404, fault("There is nothing here."));
    const parsed = requestSchema.safeParse(await readBody(incoming));
    if (!parsed.success) return json(response, 400, fault(z.prettifyError(parsed.error)));
    const request = parsed.data;
    requests.push(request);
    const reply = await llm.answer(request, requests.length);
    if (await isFault(response, reply)) return;
    if (reply.raw) {
      response.writeHead(200, { "content-type": reply.raw.type }).end(reply.raw.body);
      return;
    }
    await (request.stream ? stream(response, request, reply) : whole(response, request, reply));
  }

  async function embed(response: ServerResponse, request: EmbeddingRequest | null): Promise<void> {
    if (!request) return json(response, 400, fault("model and input are required"));
    embeddings.push(request);
    const reply = await llm.answerEmbedding(request, embeddings.length);
    if (await isFault(response, reply)) return;
    json(response, 200, embeddingsOf(request, reply.vectors));
  }

  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const { port: opened } = server.address() as AddressInfo;
  const origin = `http://127.0.0.1:${opened}`;
  const url = azureKey === undefined ? `${origin}/v1` : `${origin}${deployment}?api-version=2024-10-21`;
  const key: Record<string, string> = azureKey === undefined ? {} : { LLM_API_KEY: azureKey };
  return {
    url,
    env: { LLM_BASE_URL: url, ...key, LLM_RESPONDER_MODEL: "local/simulated" },
    requests,
    get answer() {
      return llm.answer;
    },
    set answer(answer) {
      llm.answer = answer;
    },
    embeddings,
    get answerEmbedding() {
      return llm.answerEmbedding;
    },
    set answerEmbedding(answer) {
      llm.answerEmbedding = answer;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Waits, or sends the fault; true when nothing else is to be sent. */
async function isFault(
  response: ServerResponse,
  { delayMs, status, message, body, headers }: Fault,
): Promise<boolean> {
  if (delayMs === Infinity) return true;
  if (delayMs !== undefined) await sleep(delayMs);
  if (status === undefined) return false;
  json(response, status, body ?? fault(message ?? "scripted fault"), headers);
  return true;
}

const fault = (message: string) => ({
  error: { message, type: "simulated", code: null, param: null },
});

function json(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
}

const maxBodyBytes = 4 * 1024 ** 2;

async function readBody(incoming: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of incoming) {
    bytes += (chunk as Buffer).byteLength;
    if (bytes > maxBodyBytes) throw new Error("The request is too large.");
    chunks.push(chunk as Buffer);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString("utf8"));
  } catch {
    return null;
  }
}

/** Of a picture, as a small model counts it. */
const pictureTokens = 256;

function tokensOf(message: LlmRequest["messages"][number]): number {
  const pictures = [message.content].flat().filter((part: unknown) => Object(part).type === "image_url");
  return countTokens(textOf(message)) + pictureTokens * pictures.length;
}

function usageOf({ messages }: LlmRequest, { text = "", readTokens }: LlmReply) {
  const prompt = readTokens ?? messages.reduce((sum, message) => sum + tokensOf(message), 0);
  const completion = countTokens(text);
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
}

let calls = 0;

function toolCallsOf({ toolCalls = [] }: LlmReply) {
  return toolCalls.map(({ name, args, id, signature }, index) => ({
    index,
    id: id ?? `call_${(calls += 1)}`,
    type: "function",
    ...(signature === undefined ? {} : { extra_content: { google: { thought_signature: signature } } }),
    function: { name, arguments: typeof args === "string" ? args : JSON.stringify(args) },
  }));
}

const createdS = 1_760_000_000;

function whole(response: ServerResponse, request: LlmRequest, reply: LlmReply): void {
  const toolCalls = toolCallsOf(reply);
  json(response, 200, {
    id: "chatcmpl-simulated",
    object: "chat.completion",
    created: createdS,
    model: request.model,
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: reply.text ?? null,
          ...(reply.reasoning === undefined ? {} : { reasoning_content: reply.reasoning }),
          ...(toolCalls.length > 0 ? { tool_calls: toolCalls } : {}),
        },
        finish_reason: reasonOf(reply, toolCalls),
      },
    ],
    usage: usageOf(request, reply),
  });
}

const wordsIn = (text = "") => text.match(/\s*\S+\s*/g) ?? [];

function reasonOf({ finishReason }: LlmReply, toolCalls: readonly unknown[]): string {
  return finishReason ?? (toolCalls.length > 0 ? "tool_calls" : "stop");
}

async function stream(response: ServerResponse, request: LlmRequest, reply: LlmReply): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const send = (choices: unknown[], more: object = {}) =>
    response.write(
      `data: ${JSON.stringify({ id: "chatcmpl-simulated", object: "chat.completion.chunk", created: createdS, model: request.model, choices, ...more })}\n\n`,
    );
  const delta = (content: object) => send([{ index: 0, delta: content, finish_reason: null }]);
  delta({ role: "assistant", content: "" });
  for (const thought of wordsIn(reply.reasoning)) delta({ reasoning_content: thought });
  const words = wordsIn(reply.text);
  for (const [at, word] of words.entries()) {
    if (at === reply.cutAfterWords) {
      response.socket?.resetAndDestroy();
      return;
    }
    delta({ content: word });
    if (reply.wordMs !== undefined) await sleep(reply.wordMs);
    await reply.until;
    if (response.destroyed) return;
  }
  const toolCalls = toolCallsOf(reply);
  if (toolCalls.length > 0) delta({ tool_calls: toolCalls });
  send([
    {
      index: 0,
      delta: {},
      finish_reason: reasonOf(reply, toolCalls),
    },
  ]);
  send([], { usage: usageOf(request, reply) });
  response.end("data: [DONE]\n\n");
}
