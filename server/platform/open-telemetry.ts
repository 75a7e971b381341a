import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { hostname } from "node:os";
import {
  type Attributes,
  type AttributeValue,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import {
  detectResources,
  envDetector,
  type Resource,
  resourceFromAttributes,
} from "@opentelemetry/resources";
import { BasicTracerProvider, BatchSpanProcessor, type SpanExporter } from "@opentelemetry/sdk-trace-base";
import type { Logger } from "pino";
import { orLate } from "./aborts.ts";
import { proxyFor } from "./proxy.ts";
import {
  currentTraceparent,
  foreignTraceparent,
  type OpenSpan,
  type SpanAttributes,
  type SpanStart,
  type Tracing,
} from "./tracing.ts";

interface TracingInput {
  /** The collector's whole address. */
  readonly url: string;
  /** Where the environment gives the service none. */
  readonly usualName: string;
  /** `OTEL_SERVICE_NAME`: before the one of `OTEL_RESOURCE_ATTRIBUTES`. */
  readonly serviceName: string | undefined;
  readonly takesPrompts: boolean;
  /** A request's `traceparent` is the parent of what it begins, not a link. */
  readonly takesParents: boolean;
  readonly log: Logger;
}

/** One request to the collector; spans wait meanwhile, and above `maxQueueSize` new ones are dropped. */
const exportTimeoutMs = 5_000;
const closeTimeoutMs = 2_000;

const kinds = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
} as const;

/**
 * Spans over OTLP with the SDK of OpenTelemetry. It is not registered as the process's own: no library sends spans by itself.
 * `OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_RESOURCE_ATTRIBUTES`, `OTEL_TRACES_SAMPLER` and `OTEL_BSP_*` are read by the SDK.
 */
export function createTracing(input: TracingInput): Tracing {
  const { url, takesPrompts, takesParents, log } = input;
  const sending = { url, timeoutMillis: exportTimeoutMs, ...wayThroughProxy(url) };
  const exporter = noting(new OTLPTraceExporter(sending), log);
  const processor = new BatchSpanProcessor(exporter, { exportTimeoutMillis: exportTimeoutMs });
  const provider = new BasicTracerProvider({ resource: resourceOf(input), spanProcessors: [processor] });
  const tracer = provider.getTracer("atelier");
  const flush = () => atMost(processor.forceFlush());
  let keep: ((sent: Promise<void>) => void) | null = null;
  return {
    takesPrompts,
    start(name, { parent: asked, kind, attributes, startedAt }: SpanStart): OpenSpan {
      const foreign = asked === undefined ? foreignTraceparent() : null;
      const parent = asked === undefined ? ((takesParents ? foreign : null) ?? currentTraceparent()) : asked;
      const context = parent === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, contextOf(parent));
      const span = tracer.startSpan(
        name,
        {
          kind: kind === undefined ? SpanKind.INTERNAL : kinds[kind],
          ...(startedAt ? { startTime: startedAt } : {}),
          attributes: known(attributes),
          ...(foreign !== null && parent === null ? { links: [{ context: contextOf(foreign) }] } : {}),
        },
        context,
      );
      const { traceId, spanId, traceFlags } = span.spanContext();
      return {
        traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`,
        set: (more) => void span.setAttributes(known(more)),
        end(error) {
          if (error !== undefined) {
            span.setAttribute("error.type", error);
            span.setStatus({ code: SpanStatusCode.ERROR });
          }
          span.end();
          keep?.(flush());
        },
      };
    },
    sendAtOnce(keepAlive) {
      keep = keepAlive;
      return flush();
    },
    close: () => atMost(provider.shutdown()),
  };
}

/** What the environment says of the service is before what is known without it. */
function resourceOf({ usualName, serviceName }: TracingInput): Resource {
  const usual = { "service.name": usualName, "service.instance.id": `${hostname()}/${process.pid}` };
  const given = serviceName === undefined ? {} : { "service.name": serviceName };
  return resourceFromAttributes(usual)
    .merge(detectResources({ detectors: [envDetector] }))
    .merge(resourceFromAttributes(given));
}

/** Waits for the collector for a while; the exporter logs what it refuses. */
function atMost(sending: Promise<void>): Promise<void> {
  const sent = sending.catch(() => undefined);
  return orLate(sent, closeTimeoutMs, () => undefined);
}

/** The SDK knows no proxy. */
function wayThroughProxy(url: string) {
  const proxy = proxyFor(new URL(url))?.href;
  if (proxy === undefined) return {};
  const options = {
    keepAlive: true,
    timeout: exportTimeoutMs,
    // Only the proxies are read; the type asks for the rest, since Next names it in every environment.
    proxyEnv: { HTTP_PROXY: proxy, HTTPS_PROXY: proxy, NODE_ENV: "production" as const },
  };
  return {
    httpAgentOptions: (protocol: string) =>
      protocol === "https:" ? new HttpsAgent(options) : new HttpAgent(options),
  };
}

function contextOf(traceparent: string) {
  const [, traceId = "", spanId = "", flags = "00"] = traceparent.split("-");
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
}

/** A loop: as a chain of lists it was a fifth of the start of a span. */
function known(attributes: SpanAttributes = {}): Attributes {
  const set: Attributes = {};
  for (const name in attributes) {
    const value = attributes[name];
    // Safe cast: an array is not written to.
    if (value !== undefined && value !== null) set[name] = value as AttributeValue;
  }
  return set;
}

/** The exporter; the log tells once that the collector takes no spans, and once that it does again. */
function noting(exporter: OTLPTraceExporter, log: Logger): SpanExporter {
  let wasFault = false;
  return {
    export(spans, onResult) {
      exporter.export(spans, (result) => {
        const isFault = result.code !== 0;
        if (isFault && !wasFault) log.warn({ err: result.error }, "the trace collector takes no spans");
        if (!isFault && wasFault) log.info("the trace collector takes spans again");
        wasFault = isFault;
        onResult(result);
      });
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
  };
}
