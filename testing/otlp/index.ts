import { serveAnswers } from "@atelier/testing/http";

/** A span as a collector received it, with its attributes as one object. */
export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | null;
  /** Ids of the spans that it links to. */
  readonly links: readonly string[];
  readonly name: string;
  /** As OTLP numbers it: 2 server, 3 client, 5 consumer. */
  readonly kind: number;
  readonly service: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly isError: boolean;
  readonly attributes: Readonly<Record<string, unknown>>;
}

export interface TraceCollector {
  readonly url: string;
  spans(): readonly ReceivedSpan[];
  /** All that was sent, as text. */
  text(): string;
  close(): Promise<void>;
}

type Wire = Record<string, never>;
const valueOf = (value: Wire) => Object.values(value)[0];
const attributesOf = (list: readonly Wire[] = []) =>
  Object.fromEntries(list.map(({ key, value }) => [key, valueOf(value ?? {})]));

/** A collector of traces: a TEST TOOL that keeps what it gets by OTLP as JSON. */
export async function startTraceCollector(): Promise<TraceCollector> {
  const server = await serveAnswers(({ path }) => ({
    status: path === "/v1/traces" ? 200 : 404,
    body: "{}",
  }));
  return {
    url: server.url,
    text: () => server.requests.map(({ body }) => body).join("\n"),
    spans: () => server.requests.flatMap(({ body }) => spansOf(body)),
    close: () => server.close(),
  };
}

function spansOf(body: string): ReceivedSpan[] {
  const { resourceSpans = [] } = JSON.parse(body);
  return resourceSpans.flatMap(({ resource, scopeSpans }: Wire) => {
    const service = String(attributesOf(resource?.["attributes"])["service.name"]);
    const spans: readonly Wire[] = [...(scopeSpans ?? [])].flatMap(({ spans: own }: Wire) => own ?? []);
    return spans.map((span) => spanOf(span, service));
  });
}

function spanOf(span: Wire, service: string): ReceivedSpan {
  return {
    traceId: String(span["traceId"]),
    spanId: String(span["spanId"]),
    parentSpanId: span["parentSpanId"] ?? null,
    links: [...((span["links"] ?? []) as Wire[])].map((link) => String(link["spanId"])),
    name: String(span["name"]),
    kind: Number(span["kind"]),
    service,
    startMs: Number(span["startTimeUnixNano"]) / 1e6,
    endMs: Number(span["endTimeUnixNano"]) / 1e6,
    isError: Number(span["status"]?.["code"] ?? 0) === 2,
    attributes: attributesOf(span["attributes"]),
  };
}
