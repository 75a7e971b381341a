/** The usual forms of dates in headers: three of HTTP, and ISO 8601. */
const dateForm = /^(?:[a-z]{3,9},? |\d{4}-\d\d-\d\d[T ])/i;
const zone = /(?:GMT|UTC|Z|[+-]\d\d:?\d\d)$/i;
const seconds = /^\d+(?:\.\d+)? *s?(?: *, *\d+(?:\.\d+)? *s?)*$/;
/** As Go writes it: `1m30s`, `6m0s`, `120ms`. */
const span = /^(?:\d{1,9}(?:\.\d{1,9})?(?:ms|s|m|h))+$/;

type Headers = Readonly<Record<string, string | undefined>>;

interface Answered {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Headers;
}

/**
 * How long an answer asks to be left alone, whole ms; null when its headers do not say. Read are `retry-after-ms`,
 * `retry-after` in seconds, as a span or as a date, by the clock of the server where its `date` says that, and, of a 429, the
 * `ratelimit` and `x-ratelimit` headers. Of several values that a proxy joined the longest counts. The caller bounds the result.
 */
export function retryAfterOf({ status, headers }: Answered, nowMs: number = Date.now()): number | null {
  const value = textOf(headers, "retry-after");
  const serverMs = dateMs(textOf(headers, "date")) ?? nowMs;
  const found = [
    millisecondsOf(textOf(headers, "retry-after-ms")),
    secondsOf(value) ?? spanOf(value),
    untilDate(value, serverMs),
    status === 429 ? limitWaitOf(headers, serverMs) : null,
  ];
  return found.find((wait) => wait !== null && Number.isFinite(wait)) ?? null;
}

const textOf = (headers: Headers, name: string) => headers[name]?.trim() ?? "";

/**
 * The longest wait of the policies of which nothing is left, ms; null without one. Many servers send these headers with
 * each answer, also where much is left.
 */
function limitWaitOf(headers: Headers, serverMs: number): number | null {
  const given = textOf(headers, "ratelimit");
  const spent = given
    .split(",")
    .filter((policy) => /;\s*r=0(?![\d.])/.test(policy))
    .map((policy) => /;\s*t=(\d+)/.exec(policy)?.[1] ?? "");
  // An older draft has all of a policy in one list: `limit=100, remaining=0, reset=50`.
  const older = [/\bremaining=([\d.]+)/g, /\breset=(\d+)/g].map((form) =>
    [...given.matchAll(form)].map(([, value = ""]) => value),
  );
  const [left = [], ends = []] = older;
  spent.push(...ends.filter((_, at) => /^0+$/.test(left[at] ?? "")));
  const isSpent = /^0+(?:\s*,\s*0+)*$/.test(textOf(headers, "ratelimit-remaining"));
  const resets = isSpent ? [...spent, textOf(headers, "ratelimit-reset")] : spent;
  const waits = [...resets, ...spentResets(headers)]
    .map((reset) => untilReset(reset, serverMs))
    .filter((wait) => wait > 0);
  return waits.length === 0 ? null : Math.max(...waits);
}

/** Of `x-ratelimit-remaining`, also with the name of what is counted: `x-ratelimit-remaining-tokens`. */
function spentResets(headers: Headers): string[] {
  return Object.keys(headers).flatMap((name) => {
    const isSpent = name.startsWith("x-ratelimit-remaining") && /^0+(?:\.0+)?$/.test(textOf(headers, name));
    return isSpent ? [textOf(headers, name.replace("remaining", "reset"))] : [];
  });
}

/** Above these a value is no wait but a moment since 1970, in seconds or in milliseconds. */
const moments = { s: 1e9, ms: 1e12 };

/** What is left until a reset, ms; 0 when it is no number. */
function untilReset(value: string, nowMs: number): number {
  const ms = secondsOf(value) ?? spanOf(value) ?? 0;
  if (ms < moments.s * 1_000) return ms;
  return (ms < moments.ms * 1_000 ? ms : Math.round(ms / 1_000)) - nowMs;
}

function millisecondsOf(value: string): number | null {
  return /^\d+(?:\.\d+)?$/.test(value) ? Math.round(Number(value)) : null;
}

function secondsOf(value: string): number | null {
  if (!seconds.test(value)) return null;
  return Math.round(Math.max(...value.split(",").map((part) => Number.parseFloat(part))) * 1_000);
}

function spanOf(value: string): number | null {
  return span.test(value) ? sumOf(value) : null;
}

function untilDate(value: string, nowMs: number): number | null {
  const atMs = dateMs(value);
  return atMs === null ? null : Math.max(0, atMs - nowMs);
}

/** A date without a zone is in UTC, as HTTP has it. */
function dateMs(value: string): number | null {
  if (!dateForm.test(value)) return null;
  const atMs = Date.parse(zone.test(value) ? value : `${value}${value.includes("T") ? "Z" : " GMT"}`);
  return Number.isNaN(atMs) ? null : atMs;
}

const unitMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 };
const units =
  /(\d+(?:\.\d+)?)\s*(ms|milliseconds?|s(?:ec(?:ond)?s?)?|m(?:in(?:ute)?s?)?|h(?:(?:ou)?rs?)?)(?![a-z])/gi;
const spoken = new RegExp(
  String.raw`\b(?:try again|retry|wait|resets?|available)\b[^\d.]{0,40}?((?:${units.source}[\s,]*(?:and\s+)?)+)`,
  "i",
);
const member = /"retry_?after(?:_seconds)?"\s*:\s*"?(\d+(?:\.\d+)?)/i;

/**
 * The same from the body of an answer whose headers do not say: "Try again in 6m0s", "retry after 26 seconds", or a member
 * `retry_after` in seconds; null without one.
 */
export function retryAfterInText(text: string): number | null {
  const given = member.exec(text)?.[1];
  if (given !== undefined) return Math.round(Number(given) * 1_000);
  const said = spoken.exec(text)?.[1];
  if (said === undefined) return null;
  return sumOf(said);
}

function sumOf(spans: string): number {
  const parts = [...spans.matchAll(units)].map(
    ([, count, unit = "s"]) => Number(count) * msOf(unit.toLowerCase()),
  );
  return Math.round(parts.reduce((sum, part) => sum + part, 0));
}

function msOf(unit: string): number {
  if (unit === "ms" || unit.startsWith("milli")) return 1;
  return unitMs[unit.slice(0, 1)] ?? 1_000;
}
