import { type Body, type Feature, features, featuresIn, lessAndLess, meantBy, without } from "./features.ts";
import { hasPicture, isTooLong, ModelError, takesNoPictures } from "./model-errors.ts";
import { errorIn, tidyChunk, tidyVectors } from "./tidy-chunks.ts";
import { GrowingLines, tidyStream } from "./tidy-stream.ts";

/** A server with the chat API of OpenAI, as a model of it is called. */
export interface LocalServer {
  /** `LLM_BASE_URL` */
  readonly address: string;
  /** Sends one request; bounded in size. */
  readonly send: typeof fetch;
  /** What the model is known to refuse. */
  readonly refused: readonly Feature[];
  /** The model answers without these, and not with them. The answer waits for it, so that the next call knows. Never rejects. */
  onRefused(refused: readonly Feature[]): Promise<void>;
}

/** Statuses of requests that a server does not take as they are. */
const refusals: readonly number[] = [400, 404, 405, 415, 422, 500, 501];
/** Those that ask the model for a form. Without these a server that fails may work; others it would refuse. */
const formFeatures: readonly Feature[] = ["tools", "json_schema", "json"];

/** How servers say that they cannot read what the model wrote, which differs each time: the model knows the form all the same. */
const unreadableWords =
  /failed_generation|tool_use_failed|json_validate_failed|\b(?:error|failed)(?: to)? pars(?:e|ing)\b.{0,20}\b(?:tool[ _]calls?\b|input at pos\b)|\bXML syntax error on line\b/i;

interface Sending extends LocalServer {
  readonly url: string;
  readonly init: RequestInit;
}

/** The paths of servers that were found below their address: `LLM_BASE_URL` without `/v1`. */
const foundAt = new Map<string, string>();

/**
 * `fetch` for servers at home, which differ in what they know. A refused request is sent again with less: how a server words
 * its refusal differs too, so this decides only what is left out first. Throws `ModelError`, `not_api` for an answer that is
 * none of the API.
 */
export function fetchFrom(server: LocalServer): typeof fetch {
  return async (input, init = {}) => {
    const url = input instanceof Request ? input.url : String(input);
    const body: unknown = typeof init.body === "string" ? JSON.parse(init.body) : null;
    // Safe: the SDK sends objects.
    return sendAll({ ...server, url, init }, (body ?? {}) as Body);
  };
}

/** The addresses to try: as it is set, then with `/v1`. */
function addressesOf({ address, url }: Sending): readonly string[] {
  const base = address.replace(/\/+$/, "");
  const known = foundAt.get(base);
  if (known !== undefined) return [url.replace(base, known)];
  return /\/v\d+\w*$/.test(base) ? [url] : [url, url.replace(base, `${base}/v1`)];
}

async function sendAll(sending: Sending, body: Body): Promise<Response> {
  const addresses = addressesOf(sending);
  let last: Response | ModelError | undefined;
  for (const url of addresses) {
    try {
      const response = await sendWithLess({ ...sending, url }, without(body, sending.refused));
      const isElsewhere = url !== addresses[0];
      if (response.ok && isElsewhere) noteAddress(sending, url);
      if (response.ok || !(await isElsewhereOrUnknown(response, body))) return response;
      last ??= response;
    } catch (error) {
      if (!(error instanceof ModelError)) throw error;
      last ??= error;
    }
  }
  if (last instanceof ModelError) throw last;
  throw new ModelError("refused", notFound(sending.address), {
    cause: last && (await textOf(last)),
    reach: "all",
  });
}

/** 404 and 405, with which some servers also say that they take no pictures. */
async function isElsewhereOrUnknown(response: Response, body: Body): Promise<boolean> {
  if (response.status !== 404 && response.status !== 405) return false;
  return !hasPicture(body) || !takesNoPictures(await textOf(response.clone()));
}

const notFound = (address: string) =>
  `The server of the language model at ${plain(address)} knows no such model or address (404). The admin checks LLM_BASE_URL and the name of the model.`;

function noteAddress({ address, url }: Sending, found: string): void {
  const base = address.replace(/\/+$/, "");
  const path = url.slice(base.length);
  foundAt.set(base, found.slice(0, found.length - path.length));
}

async function sendWithLess(sending: Sending, wanted: Body): Promise<Response> {
  const first = await post(sending, wanted);
  if (!(await isRefusal(first, wanted))) return first;
  const text = await textOf(first.clone());
  if (unreadableWords.test(text)) return sendAgain(sending, wanted);
  const meant = meantBy(wanted, text);
  if (meant !== null) {
    const less = without(wanted, [meant]);
    const second = await sendWithLess(sending, less);
    if (second.ok) await sending.onRefused([meant]);
    if (second.ok || second.status !== first.status) return second;
  }
  const found = await findTaken(sending, wanted);
  if (!found) return first;
  await sending.onRefused(found.left);
  return found.response;
}

/** Once more as it is, then without what the model has to write in a form: nothing of it is remembered. */
async function sendAgain(sending: Sending, wanted: Body): Promise<Response> {
  const second = await post(sending, wanted);
  const isUnreadable = !second.ok && unreadableWords.test(await textOf(second.clone()));
  return isUnreadable ? post(sending, without(wanted, formFeatures)) : second;
}

async function isRefusal(response: Response, body: Body): Promise<boolean> {
  if (response.ok || !refusals.includes(response.status)) return false;
  const own = featuresIn(body);
  if (own.length === 0) return false;
  const text = await textOf(response.clone());
  if (isTooLong(response.status, text) || (hasPicture(body) && takesNoPictures(text))) return false;
  return (
    response.status < 500 || response.status === 501 || own.some((feature) => formFeatures.includes(feature))
  );
}

/** What a server takes of a request. The least that can be asked is tried first: a wrong key or name costs one request. */
async function findTaken(sending: Sending, wanted: Body) {
  const least = await post(sending, without(wanted, features));
  await least.body?.cancel();
  if (!least.ok) return null;
  for (const left of lessAndLess(wanted)) {
    const response = await post(sending, without(wanted, left));
    if (response.ok) return { left, response };
    await response.body?.cancel();
  }
  return null;
}

async function post({ url, init, send, address }: Sending, body: Body): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.delete("content-length");
  const response = await send(url, { ...init, headers, body: JSON.stringify(body) });
  const reading = { isStreamed: wantsStream(init), tools: toolsIn(body), address };
  return response.ok ? readAnswer(response, reading) : response;
}

/** Whether the SDK reads a stream, whatever was sent. */
function wantsStream({ body }: RequestInit): boolean {
  return typeof body === "string" && (JSON.parse(body) as Body)["stream"] === true;
}

function toolsIn({ tools }: Body): string[] {
  const names = (Array.isArray(tools) ? tools : []).map(
    (tool: unknown) => Object(Object(tool).function).name,
  );
  return names.filter((name) => typeof name === "string");
}

interface Reading {
  readonly isStreamed: boolean;
  /** The names of those that the model may call. */
  readonly tools: readonly string[];
  readonly address: string;
}

/** An answer of the API as the SDK reads it; an error with status 200 becomes one with its own status, or 400. */
async function readAnswer(response: Response, reading: Reading): Promise<Response> {
  const type = response.headers.get("content-type") ?? "";
  if (type.includes("text/event-stream")) return readStream(response, reading);
  const text = await response.text();
  if (/^(?:\s*:.*\n)*\s*(?:data:|event:|error:\s*\{)/.test(text))
    return readStream(new Response(text, { headers: { "content-type": "text/event-stream" } }), reading);
  return readWhole(text, reading);
}

function readWhole(text: string, reading: Reading): Response {
  const answer = objectOf(text);
  if (answer && errorIn(answer) !== undefined) return asError(answer, text);
  if (!answer || !(Array.isArray(answer["choices"]) || Array.isArray(answer["data"])))
    throw new ModelError("not_api", notApi(reading.address), { cause: new Error(text.slice(0, 500)) });
  if (reading.isStreamed) return asStream(answer, reading);
  const whole = Array.isArray(answer["choices"]) ? text : JSON.stringify(tidyVectors(answer));
  return new Response(whole, { headers: { "content-type": "application/json" } });
}

const notApi = (address: string) =>
  `${plain(address)} answers, but not as a language model does. The admin checks LLM_BASE_URL and what answers there.`;

/** An address without a password. */
function plain(address: string): string {
  try {
    const url = new URL(address);
    return `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
  } catch {
    return "LLM_BASE_URL";
  }
}

function asError(answer: Record<string, unknown>, text: string): Response {
  const error = errorIn(answer);
  const own: unknown[] = [Object(error).code, Object(error).status, answer["code"], answer["status"]];
  const status = own.map(Number).find((code) => passing.has(code)) ?? 400;
  return new Response(text, { status, headers: { "content-type": "application/json" } });
}

/** Statuses of errors that pass by themselves. */
const passing: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504, 524, 529]);

function objectOf(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : null;
  } catch {
    return null;
  }
}

const eventLine = /^(data|error):\s?(.*)$/s;

/** An error in the first event of a stream. */
function errorInstead([, name, text = ""]: RegExpExecArray): Response | null {
  const first = objectOf(text);
  const isError = first !== null && (name === "error" || errorIn(first) !== undefined);
  return isError ? asError(first, text) : null;
}

/** A whole answer, which some servers name a stream. */
async function wholeInstead(chunks: readonly Uint8Array[], reading: Reading): Promise<Response | null> {
  const text = await new Blob(chunks.map((chunk) => chunk.slice())).text();
  return objectOf(text) ? readWhole(text, reading) : null;
}

/** Looks at the first event of a stream: an error there is a refusal. */
async function readStream(response: Response, reading: Reading): Promise<Response> {
  if (!response.body) throw new ModelError("not_api", notApi(reading.address));
  const reader = response.body.getReader();
  const chunks: Uint8Array[] = [];
  const [decoder, growing] = [new TextDecoder(), new GrowingLines()];
  let event: RegExpExecArray | null | undefined;
  for (let isDone = false; !isDone && !event;) {
    const { done, value } = await reader.read();
    isDone = done;
    if (!value) continue;
    chunks.push(value);
    const lines = growing.add(decoder.decode(value, { stream: true }));
    event = lines.map((line) => eventLine.exec(line)).find((found) => found !== null);
  }
  const instead = event ? errorInstead(event) : await wholeInstead(chunks, reading);
  if (instead) {
    await reader.cancel();
    return instead;
  }
  const rest = new ReadableStream<Uint8Array>({
    start: (controller) => chunks.forEach((chunk) => controller.enqueue(chunk)),
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
  const { status } = response;
  const headers = { "content-type": "text/event-stream" };
  return new Response(rest.pipeThrough(tidyStream(reading.tools)), { status, headers });
}

/** A whole answer as a stream of one event, for a server that does not stream. */
function asStream(answer: Record<string, unknown>, { tools }: Reading): Response {
  const tidy = tidyChunk({ ...answer, object: "chat.completion.chunk" });
  const body = new Response(`data: ${JSON.stringify(tidy)}\n\ndata: [DONE]\n\n`).body;
  return new Response(body?.pipeThrough(tidyStream(tools)), {
    headers: { "content-type": "text/event-stream" },
  });
}

async function textOf(response: Response): Promise<string> {
  return (await response.text().catch(() => "")).slice(0, 20_000);
}
