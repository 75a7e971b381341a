import { AsyncLocalStorage } from "node:async_hooks";
import type { Logger } from "pino";
import type { Env } from "./env.ts";

type Value = string | number | boolean | readonly string[];

/** What a span says; what is undefined or null is left out. */
export type SpanAttributes = Readonly<Record<string, Value | null | undefined>>;

export interface SpanStart {
  /**
   * W3C `traceparent` of the span that it belongs to; null: a new trace begins. By default the span that the code runs in; of
   * the first span below a request's own `traceparent` that is its parent where the operator says so, else a link.
   */
  readonly parent?: string | null;
  readonly kind?: "server" | "client" | "producer" | "consumer";
  readonly attributes?: SpanAttributes;
  /** For what was only noticed later; now by default. */
  readonly startedAt?: Date;
}

export interface OpenSpan {
  /** For spans below it, also in other processes. */
  readonly traceparent: string;
  set(attributes: SpanAttributes): void;
  /** Once. `error`: a code, never a text that people wrote. */
  end(error?: string): void;
}

/** Spans for a collector. Nothing here throws or waits: without a collector spans are dropped. */
export interface Tracing {
  start(name: string, start: SpanStart): OpenSpan;
  /** Whether spans may hold prompts; only when the operator asked for it. */
  readonly takesPrompts: boolean;
  /**
   * For a process that was told to stop and still answers: sends what has ended, for two seconds at most, and from then on each span
   * with its end, whose sending `keepAlive` gets.
   */
  sendAtOnce(keepAlive: (sent: Promise<void>) => void): Promise<void>;
  /** Sends what is left, for two seconds at most; spans that end later are lost. */
  close(): Promise<void>;
}

type CollectorEnv = Pick<
  Env,
  "OTEL_EXPORTER_OTLP_ENDPOINT" | "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT" | "OTEL_SDK_DISABLED"
>;

type TracingEnv = CollectorEnv &
  Pick<Env, "OTEL_SERVICE_NAME" | "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT" | "TRUST_TRACEPARENT">;

/** Where spans are sent; null: nothing is traced. */
export function traceCollectorUrl(env: CollectorEnv): string | null {
  if (env.OTEL_SDK_DISABLED) return null;
  const { OTEL_EXPORTER_OTLP_ENDPOINT: base, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: own } = env;
  return own ?? (base === undefined ? null : `${base}/v1/traces`);
}

/** Null without a collector: then nothing of OpenTelemetry is loaded. */
export async function openTracing(
  env: TracingEnv,
  { name, log }: { readonly name: string; readonly log: Logger },
): Promise<Tracing | null> {
  const url = traceCollectorUrl(env);
  if (url === null) return null;
  const { createTracing } = await import("./open-telemetry.ts");
  return createTracing({
    url,
    usualName: `atelier-${name}`,
    serviceName: env.OTEL_SERVICE_NAME,
    takesPrompts: env.OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT,
    takesParents: env.TRUST_TRACEPARENT,
    log,
  });
}

interface Place {
  readonly traceparent: string;
  /** It came with a request: whoever sent it could put what is done here into any trace. */
  readonly isForeign: boolean;
}

const current = new AsyncLocalStorage<Place>();

/** The span that this code runs in; null outside of one. A job keeps it on its row. */
export function currentTraceparent(): string | null {
  const place = current.getStore();
  return place && !place.isForeign ? place.traceparent : null;
}

/** What the request named as its span, until a span of the studio's own begins below it. */
export function foreignTraceparent(): string | null {
  const place = current.getStore();
  return place?.isForeign ? place.traceparent : null;
}

const form = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** Runs `work` for the span that a client or a proxy names in the header `traceparent`; a header of another form is ignored. */
export function underTraceparent<Answer>(header: string | null, work: () => Answer): Answer {
  return header !== null && form.test(header)
    ? current.run({ traceparent: header, isForeign: true }, work)
    : work();
}

/** The same work within a span, which ends with it; the work alone while nothing is traced. */
export async function inSpan<Answer>(
  tracing: Tracing | null,
  name: string,
  start: SpanStart,
  work: (span: OpenSpan | null) => Promise<Answer>,
): Promise<Answer> {
  if (tracing === null) return work(null);
  const span = tracing.start(name, start);
  try {
    const answer = await current.run({ traceparent: span.traceparent, isForeign: false }, () => work(span));
    span.end();
    return answer;
  } catch (error) {
    span.end(codeOf(error));
    throw error;
  }
}

/** Codes of our own errors and names of the others: what people wrote stays out. */
function codeOf(error: unknown): string {
  if (error instanceof Error && "code" in error && typeof error.code === "string") return error.code;
  return error instanceof Error ? error.name : "error";
}
