import { type Env, outsideFetch, parseForeignJson } from "../platform/index.ts";

/** An answer of another program, whatever its status. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** At most `maxBytes`. */
  readonly text: string;
  readonly isCut: boolean;
  /** Undefined when the text is no JSON. */
  readonly json: unknown;
}

interface Question {
  readonly method?: "GET" | "POST" | "PUT" | "HEAD" | "OPTIONS";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** Of another program, against this machine's; positive: it is ahead. */
export interface SeenClock {
  readonly side: string;
  readonly aheadMs: number;
}

const usualTimeoutMs = 8_000;
const maxBytes = 256 * 1024;
/** The end of a cut text may be half of a secret, which would not be recognised. */
const droppedAtCut = 2_000;

/** Asks once, through the proxy in force, and follows no redirect. Throws what `explain` reads when no answer comes. */
export async function ask(url: string, question: Question = {}, clocks?: SeenClock[]): Promise<Answer> {
  const { timeoutMs = usualTimeoutMs, signal, ...init } = question;
  const limits = [AbortSignal.timeout(timeoutMs), ...(signal ? [signal] : [])];
  const startedAt = Date.now();
  const response = await outsideFetch(url, {
    ...init,
    redirect: "manual",
    signal: AbortSignal.any(limits),
  });
  const { status, headers } = response;
  noteClock(clocks, { side: new URL(url).host, headers, startedAt });
  const { text, isCut } = await readText(response);
  return { status, headers, text, isCut, json: isCut ? undefined : parseForeignJson(text) };
}

interface Dated {
  readonly side: string;
  readonly headers: Headers;
  readonly startedAt: number;
}

function noteClock(clocks: SeenClock[] | undefined, { side, headers, startedAt }: Dated): void {
  const at = Date.parse(headers.get("date") ?? "");
  // An answer out of a cache has the time of its first reader.
  if (!clocks || Number.isNaN(at) || headers.has("age")) return;
  clocks.push({ side, aheadMs: at - (startedAt + Date.now()) / 2 });
}

async function readText(response: Response): Promise<{ text: string; isCut: boolean }> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk);
    size += chunk.byteLength;
    if (size > maxBytes) break;
  }
  const text = Buffer.concat(chunks).toString("utf8");
  return size > maxBytes ? { text: text.slice(0, -droppedAtCut), isCut: true } : { text, isCut: false };
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The member of a JSON object; undefined without it. */
export function member(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce((at, name) => (isRecord(at) ? at[name] : undefined), value);
}

const messageNames = [
  "message",
  "error_description",
  "description",
  "detail",
  "msg",
  "title",
  "error",
] as const;

/** The sentence of an error in JSON: servers differ in where it is. */
function sentenceIn(value: unknown, depth = 0): string | null {
  if (typeof value === "string") return value.trim() || null;
  if (depth > 4) return null;
  if (Array.isArray(value)) return sentenceIn(value[0], depth + 1);
  for (const name of messageNames) {
    const found = isRecord(value) && value[name] !== undefined ? sentenceIn(value[name], depth + 1) : null;
    if (found !== null) return found;
  }
  return null;
}

/** What another program says of itself or of an error: the sentence in its JSON, the title of its page, or its text. */
export function wordsOf({ text, json }: Pick<Answer, "text" | "json">): string {
  if (json !== undefined && json !== null) return sentenceIn(json) ?? text;
  if (!/<(!doctype|html|head|body|title|h1)\b/i.test(text)) return text;
  const [, title = ""] = /<title[^>]*>([^<]*)/i.exec(text) ?? [];
  const body = text.replace(/<(script|style)\b[\s\S]*?(<\/\1>|$)/gi, " ").replace(/<[^>]*>/g, " ");
  return `a web page: ${title.trim() || body}`;
}

/** Whether an answer is a page for people, as proxies and sign-ins give. */
export function isPage({ headers, text }: Pick<Answer, "headers" | "text">): boolean {
  return /html/i.test(headers.get("content-type") ?? "") || /^\s*<(!doctype|html)/i.test(text);
}

const secretNames = /(KEY|KEY_ID|TOKEN|SECRET)$/;
/** JSON with secrets in it. */
const jsonOfSecrets = new Set(["SERVER_HEADERS", "OIDC_CLIENT_SECRETS"]);
const shortestSecret = 5;
/** What people leave unchanged and what stands before a token says nothing. */
const publicWords = new Set(["bearer", "basic", "token", "atelier", "postgres", "postgresql", "redis"]);

/** Everything of the environment that no line may show, in the spellings in which programs repeat it. */
export function secretsOf(env: Readonly<Partial<Env>>): string[] {
  const found = Object.entries(env).flatMap(([name, value]) => {
    const texts = [value].flat().filter((text) => typeof text === "string");
    if (secretNames.test(name)) return texts.flatMap(partsOf);
    if (jsonOfSecrets.has(name)) return texts.flatMap(textsInJson).flatMap(partsOf);
    return texts.flatMap((text) => inAddress(text, name === "ALERT_WEBHOOK_URL"));
  });
  const spelled = found.filter((text) => isSecret(text)).flatMap(spellings);
  return [...new Set(spelled)].toSorted((a, b) => b.length - a.length);
}

const isSecret = (text: string) => text.length >= shortestSecret && !publicWords.has(text.toLowerCase());

/** Tokens are `Bearer <token>`, `name=<token>; …`, or `<id>:<secret>`. */
function partsOf(text: string): string[] {
  return [text, ...text.split(/[\s;,]+/).flatMap((part) => [part, ...part.split(/[:=]/)])];
}

function textsInJson(text: string): string[] {
  const rules = Object.values(parseForeignJson(text) ?? {}) as unknown[];
  const values = rules.flatMap((rule) => (isRecord(rule) ? Object.values(rule) : [rule]));
  return values.filter((value) => typeof value === "string");
}

/** Name and password, and the values of the query; of addresses for messages also the path, which is the key to them. */
function inAddress(text: string, isPathSecret: boolean): string[] {
  if (!text.includes("://") && !text.includes("@")) return [];
  const queries = [...text.matchAll(/[?&][^=&#\s]+=([^&#\s]+)/g)].map(([, value = ""]) => value);
  const path = isPathSecret ? (URL.parse(text)?.pathname.split("/") ?? []) : [];
  return [...inLogin(/\/\/([^/?#]*)@/.exec(text)?.[1] ?? ""), ...queries, ...path];
}

/** The password, and the pair as a header has it; a name alone is a token. */
function inLogin(login: string): string[] {
  const at = login.indexOf(":");
  const [name, password] = at < 0 ? [login, ""] : [login.slice(0, at), login.slice(at + 1)];
  const pair = Buffer.from(`${decode(name)}:${decode(password)}`).toString("base64");
  return login === "" ? [] : [password || name, pair];
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function spellings(secret: string): string[] {
  const plain = decode(secret);
  const inPage = plain.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
  const base64 = Buffer.from(plain).toString("base64");
  const inJson = JSON.stringify(plain).slice(1, -1);
  return [secret, plain, encodeURIComponent(plain), inPage, inJson, base64, base64.replace(/=+$/, "")];
}

const escape = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** One line without control characters and secrets, cut to a length. */
export function clean(text: string, secrets: readonly string[], maxLength: number): string {
  // Invisible signs go without a gap: one may break a secret in two.
  const line = text
    .toWellFormed()
    .replace(/\p{Cf}|[^\P{Cc}\t\n\r]/gu, "")
    .replace(/\s+/g, " ")
    .trim();
  const shown = secrets.reduce(
    (rest, secret) => rest.replace(new RegExp(escape(secret), "gi"), "[secret]"),
    line,
  );
  const letters = Array.from(shown);
  return letters.length <= maxLength ? shown : `${letters.slice(0, maxLength - 1).join("")}…`;
}
