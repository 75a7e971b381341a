import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import os from "node:os";
import path from "node:path";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { serveAnswers } from "@atelier/testing/http";
import { startConnectProxy, testCertificate } from "@atelier/testing/network";
import { startTraceCollector } from "@atelier/testing/otlp";
import pino from "pino";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { inspectEnv } from "./env.ts";
import { useProxies } from "./proxy.ts";
import { openTracing, traceCollectorUrl } from "./tracing.ts";

afterEach(() => {
  vi.unstubAllEnvs();
  useProxies(inspectEnv({}).env);
});

type Source = Readonly<Record<string, string>>;

/** Sends one span as a process with this environment, which the SDK reads too; the lines of its log. */
async function sendOne(source: Source): Promise<string[]> {
  for (const [name, value] of Object.entries(source)) vi.stubEnv(name, value);
  const { env, problems } = inspectEnv(source);
  expect(problems).toEqual([]);
  useProxies(env);
  const lines: string[] = [];
  const log = pino({}, { write: (line) => lines.push(line) });
  const tracing = await openTracing(env, { name: "web", log });
  tracing?.start("one", {}).end();
  await tracing?.close();
  return lines;
}

/** A closing process waits two seconds for a collector, which a busy machine may need for the first request. */
const firstOf = (seen: Awaited<ReturnType<typeof serveAnswers>>) =>
  vi.waitFor(() => {
    const [request] = seen.requests;
    if (!request) throw new Error("nothing came");
    return request;
  });

test.each([
  [{}, null],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: "http://otel:4318" }, "http://otel:4318/v1/traces"],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: "https://otel.lan/otlp/" }, "https://otel.lan/otlp/v1/traces"],
  [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "https://otel.lan/in?team=a" }, "https://otel.lan/in?team=a"],
  [
    {
      OTEL_EXPORTER_OTLP_ENDPOINT: "http://all:4318",
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://own:4318/v1/traces",
    },
    "http://own:4318/v1/traces",
  ],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: "http://otel:4318", OTEL_SDK_DISABLED: "true" }, null],
])("S9 with %o spans go to %s", (source, url) => {
  expect(traceCollectorUrl(inspectEnv(source).env)).toBe(url);
});

const attributesSent = (body = "") => {
  const [{ resource }] = JSON.parse(body).resourceSpans;
  return Object.fromEntries(
    resource.attributes.map(({ key, value }: Record<string, { stringValue: string }>) => [
      key,
      value?.stringValue,
    ]),
  );
};

test("S9 the collector gets the headers and the attributes that the environment names for it", async () => {
  const seen = await serveAnswers(() => ({ body: "{}" }));
  onTestFinished(() => seen.close());
  await sendOne({
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${seen.url}/in?team=a`,
    OTEL_EXPORTER_OTLP_HEADERS: "x-key=k%201",
    OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=staging",
  });
  const request = await firstOf(seen);
  expect(request).toMatchObject({ path: "/in?team=a", headers: { "x-key": "k 1" } });
  expect(attributesSent(request.body)).toMatchObject({ "deployment.environment.name": "staging" });
});

test.each([
  [{}, "atelier-web"],
  [{ OTEL_RESOURCE_ATTRIBUTES: "service.name=my%20studio,service.version=3" }, "my studio"],
  [{ OTEL_RESOURCE_ATTRIBUTES: "service.namespace=shop" }, "atelier-web"],
  [{ OTEL_RESOURCE_ATTRIBUTES: "service.name=attribute", OTEL_SERVICE_NAME: "pictures" }, "pictures"],
  [{ OTEL_SERVICE_NAME: "pictures" }, "pictures"],
])("S9 with %o the service is called %s", async (source, serviceName) => {
  const seen = await serveAnswers(() => ({ body: "{}" }));
  onTestFinished(() => seen.close());
  await sendOne({ OTEL_EXPORTER_OTLP_ENDPOINT: seen.url, ...source });
  expect(attributesSent((await firstOf(seen)).body)).toMatchObject({
    "service.name": serviceName,
    "service.instance.id": expect.stringContaining(`/${process.pid}`),
  });
});

test("S9 an instance that the environment names keeps its name", async () => {
  const seen = await serveAnswers(() => ({ body: "{}" }));
  onTestFinished(() => seen.close());
  const OTEL_RESOURCE_ATTRIBUTES = "service.instance.id=pod-7";
  await sendOne({ OTEL_EXPORTER_OTLP_ENDPOINT: seen.url, OTEL_RESOURCE_ATTRIBUTES });
  expect(attributesSent((await firstOf(seen)).body)).toMatchObject({ "service.instance.id": "pod-7" });
});

test("S9 a process that stops sends what has ended, and then each span of the requests that it still answers", async () => {
  const collector = await startTraceCollector();
  onTestFinished(() => collector.close());
  vi.stubEnv("OTEL_BSP_SCHEDULE_DELAY", "3600000");
  const { env } = inspectEnv({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
  const tracing = await openTracing(env, { name: "web", log: pino({ enabled: false }) });
  onTestFinished(() => tracing?.close());
  const names = () => collector.spans().map(({ name }) => name);
  const kept: Promise<unknown>[] = [];
  tracing?.start("ended", {}).end();
  const inFlight = tracing?.start("in flight", {});
  await tracing?.sendAtOnce((sent) => kept.push(sent));
  expect(names()).toEqual(["ended"]);
  inFlight?.end();
  await Promise.all(kept);
  expect(names()).toEqual(["ended", "in flight"]);
  const late = [tracing?.start("late", {}), tracing?.start("latest", {})];
  for (const span of late) span?.end("gone");
  await Promise.all(kept);
  expect(names().toSorted()).toEqual(["ended", "in flight", "late", "latest"]);
});

test("S9 spans for a collector outside of the network go through its proxy", async () => {
  const collector = await startTraceCollector();
  const proxy = await startConnectProxy(Number(new URL(collector.url).port));
  onTestFinished(() => Promise.all([proxy.close(), collector.close()]).then(() => undefined));
  await sendOne({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://otel.example.com", HTTP_PROXY: proxy.url });
  await expect.poll(() => collector.spans()).toMatchObject([{ name: "one" }]);
  expect(proxy.asked).toEqual(["POST http://otel.example.com/v1/traces"]);
});

async function startSecure() {
  const bodies: string[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    bodies.push(Buffer.concat(await Array.fromAsync(request)).toString());
    response.end("{}");
  };
  const server = createServer(testCertificate, (...both) => void answer(...both));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { bodies, port: (server.address() as AddressInfo).port };
}

test("S9 a collector with TLS is reached in a tunnel of the proxy", async () => {
  const { bodies, port } = await startSecure();
  const proxy = await startConnectProxy(port);
  const usual = getCACertificates("default");
  setDefaultCACertificates([...usual, testCertificate.cert]);
  onTestFinished(() => {
    setDefaultCACertificates(usual);
    return proxy.close();
  });
  const source = { OTEL_EXPORTER_OTLP_ENDPOINT: "https://otel.example.com", HTTPS_PROXY: proxy.url };
  expect(await sendOne(source)).toEqual([]);
  await expect.poll(() => bodies.length).toBe(1);
  expect(proxy.asked).toEqual(["CONNECT otel.example.com:443"]);
});

test("S9 a certificate of the environment is what a collector's own is judged by", async () => {
  const { port } = await startSecure();
  const folder = await mkdtemp(path.join(os.tmpdir(), "atelier-otlp-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const certificate = path.join(folder, "ca.pem");
  await writeFile(certificate, testCertificate.cert);
  const source = { OTEL_EXPORTER_OTLP_ENDPOINT: `https://127.0.0.1:${port}` };
  expect((await sendOne(source)).join()).toContain('"DEPTH_ZERO_SELF_SIGNED_CERT"');
  // It is believed: what remains is that the address is none of its names.
  const believed = await sendOne({ ...source, OTEL_EXPORTER_OTLP_CERTIFICATE: certificate });
  expect(believed.join()).toContain('"ERR_TLS_CERT_ALTNAME_INVALID"');
});

test("S9 a collector that takes requests and never answers holds a closing process for two seconds", async () => {
  const arrived = Promise.withResolvers<void>();
  const seen = await serveAnswers(() => {
    arrived.resolve();
    return "hang";
  });
  onTestFinished(() => seen.close());
  const { env } = inspectEnv({ OTEL_EXPORTER_OTLP_ENDPOINT: seen.url });
  const tracing = await openTracing(env, { name: "web", log: pino({ enabled: false }) });
  tracing?.start("one", {}).end();
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  let isClosed = false;
  const closing = tracing?.close().then(() => (isClosed = true));
  await arrived.promise;
  await vi.advanceTimersByTimeAsync(1_999);
  expect(isClosed).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  await closing;
  expect(seen.requests).toHaveLength(1);
});
