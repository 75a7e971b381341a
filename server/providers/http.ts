import {
  isUnsent,
  outsideFetch,
  parseForeignJson,
  retryAfterInText,
  retryAfterOf as askedWait,
} from "../platform/index.ts";
import { isPictureStart } from "./outputs.ts";
import { ProviderError } from "./port.ts";

/** A call of a provider's API. */
export interface ProviderCall {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent as JSON, unless it is a form. */
  readonly body?: unknown;
  readonly signal: AbortSignal;
  /** Of a call that may start work that costs money: `Submission.beforePaid`. Without an answer such a call is `lost`. */
  readonly beforePaid?: () => Promise<void>;
  readonly timeoutMs?: number;
  readonly maxBytes?: number;
}

export interface ProviderAnswer {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body as JSON; undefined when it is none. */
  readonly json: unknown;
  /** The JSON of each event where the body is a stream of events, as some gateways answer that keep a long call open. */
  readonly events: readonly unknown[];
  /** The body itself where the server answers with the picture; null for others. */
  readonly picture: Uint8Array | null;
  /** The first part of the body, for messages. */
  readonly excerpt: string;
  /** The body of the call: a refusal may repeat the user's prompt out of it. */
  readonly sent: unknown;
}

const usualTimeoutMs = 20_000;
const usualMaxBytes = 4 * 1024 ** 2;
/** Of an answer that may hold pictures as text. */
export const maxPictureBytes = 60 * 1024 ** 2;
const excerptLength = 300;

/**
 * Makes one call and reads the whole answer, whatever its status; repeats nothing and follows no redirect. Throws
 * `transient` when nothing was sent, or `unsent` when a submit was stopped before; `lost` or `timeout` when the answer did
 * not come; and `lost` or `internal` for an answer above `maxBytes`.
 */
export async function callProvider(call: ProviderCall): Promise<ProviderAnswer> {
  const { method, url, headers, body, signal } = call;
  const isSubmit = call.beforePaid !== undefined;
  await call.beforePaid?.();
  if (signal.aborted)
    throw new ProviderError(isSubmit ? "unsent" : "transient", "The call was stopped before it was sent.");
  const timeout = AbortSignal.timeout(call.timeoutMs ?? usualTimeoutMs);
  const isForm = body instanceof FormData;
  try {
    const response = await outsideFetch(url, {
      method,
      headers: {
        accept: "application/json",
        ...(body === undefined || isForm ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
      redirect: "manual",
      signal: AbortSignal.any([signal, timeout]),
    });
    const content = await readContent(response, call);
    const head = { status: response.status, headers: Object.fromEntries(response.headers), sent: body };
    return { ...head, ...content };
  } catch (error) {
    throw failureOf(error, { isSubmit, isTimeout: timeout.aborted });
  }
}

type Content = Pick<ProviderAnswer, "json" | "events" | "picture" | "excerpt">;

async function readContent(response: Response, { maxBytes, headers }: ProviderCall): Promise<Content> {
  const { bytes, broken } = await readBounded(response, maxBytes ?? usualMaxBytes);
  const content = contentOf(bytes, headers);
  if (broken && !cameInWhole(content, bytes)) throw broken;
  return content;
}

function contentOf(bytes: Uint8Array, headers: ProviderCall["headers"]): Content {
  if (isPictureStart(bytes)) return { json: undefined, events: [], picture: bytes, excerpt: "(a picture)" };
  const text = withoutSecrets(new TextDecoder().decode(bytes), headers);
  const json = parseForeignJson(text);
  const events = json === undefined ? eventsIn(text) : [];
  return { json, events, picture: null, excerpt: text.slice(0, excerptLength) };
}

const endMark = /^data: ?\[DONE\]\s*$/m;

/** Whether a body says by itself that it is over: a submit whose connection broke behind it was answered. After an event more may come. */
const cameInWhole = ({ json }: Content, bytes: Uint8Array) =>
  (typeof json === "object" && json !== null) || endMark.test(new TextDecoder().decode(bytes.subarray(-40)));

function failureOf(
  error: unknown,
  { isSubmit, isTimeout }: { isSubmit: boolean; isTimeout: boolean },
): ProviderError {
  if (error instanceof ProviderError)
    return isSubmit ? new ProviderError("lost", error.message, { cause: error }) : error;
  if (isUnsent(error))
    return new ProviderError("transient", "The provider cannot be reached.", { cause: error });
  if (isSubmit)
    return new ProviderError("lost", "The answer of the provider did not come.", { cause: error });
  if (isTimeout)
    return new ProviderError("timeout", "The provider did not answer in time.", { cause: error });
  return new ProviderError("transient", "The connection to the provider broke.", { cause: error });
}

const shortestSecret = 8;

/** Some servers repeat the key that they refuse; messages are made of answers. */
function withoutSecrets(text: string, headers: ProviderCall["headers"]): string {
  const keys = ["authorization", "api-key", "x-goog-api-key"].map(
    (name) => headers[name]?.split(" ").at(-1) ?? "",
  );
  // Some keys are `<id>:<secret>`.
  const secrets = keys.flatMap((key) => [key, key.slice(key.indexOf(":") + 1)]);
  return secrets
    .filter(({ length }) => length >= shortestSecret)
    .reduce((rest, secret) => rest.replaceAll(secret, "[key]"), text);
}

interface Body {
  readonly bytes: Uint8Array;
  /** Why no more came, where the connection broke. */
  readonly broken: Error | null;
}

async function readBounded(response: Response, maxBytes: number): Promise<Body> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of response.body ?? []) {
      size += chunk.byteLength;
      chunks.push(Buffer.from(chunk));
      if (size > maxBytes) break;
    }
  } catch (error) {
    return {
      bytes: Buffer.concat(chunks),
      broken: error instanceof Error ? error : new Error(String(error)),
    };
  }
  if (size <= maxBytes) return { bytes: Buffer.concat(chunks), broken: null };
  // Beside a page of a proxy only what was made takes so much room.
  const isCharged = response.ok && !startsAsPage(chunks);
  throw new ProviderError("internal", `The answer has more than ${maxBytes} bytes.`, { isCharged });
}

const startsAsPage = (chunks: readonly Buffer[]) =>
  /^\s*</.test(Buffer.concat(chunks.slice(0, 8)).subarray(0, excerptLength).toString("latin1"));

const eventField = /^(?:data|event|id|retry)?:/;

/** The data of the events of a stream; nothing for another text. One that was cut is left out. JSON may stand behind comments. */
function eventsIn(text: string): unknown[] {
  if (!eventField.test(text.trimStart())) return [];
  return text.split(/\r?\n\r?\n|\r\r/).flatMap((event) => {
    const data = event.split(/\r\n|\r|\n/).flatMap((line) => /^data: ?(.*)$/.exec(line)?.[1] ?? []);
    return parseForeignJson(data.length > 0 ? data.join("\n") : event) ?? [];
  });
}

/** The longest wait that a provider can ask for. */
export const maxRetryAfterMs = 3_600_000;

/** How long the headers of an answer ask to wait, ms, at most an hour; null when they do not say. */
export function retryAfterOf(answer: Pick<ProviderAnswer, "status" | "headers">): number | null {
  return atMost(askedWait(answer));
}

/** The same from the words of a refusal. */
export function retryAfterInWords(text: string): number | null {
  return atMost(retryAfterInText(text));
}

const atMost = (ms: number | null) => (ms === null ? null : Math.min(maxRetryAfterMs, ms));
