// @module-tag all
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { inAll } from "@atelier/testing/cases";
import { createHttpApp } from "@atelier/server/api";
import { schema } from "@atelier/server/db";
import { createEndpoint } from "@atelier/server/deliveries";
import { startWebhookReceiver } from "@atelier/testing/deliveries";
import { startTraceCollector } from "@atelier/testing/otlp";
import { runNode } from "@atelier/testing/processes";
import { createTestServices, openOwner, testOrigin } from "@atelier/testing/services";
import { processEnv, startTestWorker } from "@atelier/testing/worker";
import { inArray } from "drizzle-orm";
import { expect, onTestFinished, test } from "vitest";

const traceId = "0af7651916cd43dd8448eb211c80319c";
const parent = `00-${traceId}-b7ad6b7169203331-01`;
const slow = { timeout: 120_000 };

async function openTraced(env: Readonly<Record<string, string>>) {
  const opened = await createTestServices({ env: { ALLOWED_PRIVATE_HOSTS: "127.0.0.1", ...env } });
  onTestFinished(() => opened.close());
  const owner = await openOwner(opened.services, "owner@example.com");
  const post = (route: string, body: object) =>
    createHttpApp(opened.services).fetch(
      new Request(`${testOrigin}/api/v1/${route}`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${owner.apiKey}`,
          "content-type": "application/json",
          traceparent: parent,
        },
        body: JSON.stringify(body),
      }),
    );
  const upscale = { kind: "upscale", inputs: { image: owner.imageId } };
  const submit = (body: object) => post("jobs", { ...upscale, ...body });
  const submitBatch = (size: number) =>
    post("batches", { jobs: Array.from({ length: size }, () => upscale) });
  return { services: opened.services, owner, submit, submitBatch };
}

test("S9 one trace goes from the request over the worker to the delivery", slow, async () => {
  const collector = await startTraceCollector();
  const receiver = await startWebhookReceiver();
  onTestFinished(() => Promise.all([collector.close(), receiver.close()]).then(() => undefined));
  const { services, owner, submit } = await openTraced({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    TRUST_TRACEPARENT: "true",
  });
  await createEndpoint(services, { ownerId: owner.caller.userId, url: null });
  const worker = await startTestWorker(services, { env: { OTEL_BSP_SCHEDULE_DELAY: "100" } });
  onTestFinished(() => worker.kill9());
  const answer = await submit({ webhookUrl: `${receiver.url}/job` });
  expect(answer.status).toBe(202);
  const { id } = (await answer.json()) as { id: string };
  await services.tracing?.close();
  // The owner has a job of an earlier day, which no trace knows.
  const inTrace = () => collector.spans().filter((span) => span.traceId === traceId);
  const named = (name: string) => inTrace().find((span) => span.name === name);
  const below = ["wait", "claim", "run upscale", "deliver webhook"];
  const inRun = ["generate_content local/upscale", "store"];
  for (const last of ["accept upscale", ...below, ...inRun])
    await expect.poll(() => named(last)).toBeDefined();
  const names = inTrace().map(({ name }) => name);
  expect(new Set(names)).toEqual(new Set([...below, "accept upscale", ...inRun]));
  const accept = named("accept upscale");
  expect(accept).toMatchObject({ service: "atelier-test", parentSpanId: "b7ad6b7169203331", isError: false });
  for (const name of below) {
    expect(named(name)).toMatchObject({ service: "atelier-test worker", parentSpanId: accept?.spanId });
    expect(named(name)?.attributes).toMatchObject({ "atelier.job.id": id });
  }
  const run = named("run upscale");
  for (const name of inRun) expect(named(name)?.parentSpanId).toBe(run?.spanId);
  expect(named("generate_content local/upscale")?.attributes).toMatchObject({
    "gen_ai.operation.name": "generate_content",
    "gen_ai.provider.name": "local",
    "gen_ai.request.model": "local/upscale",
    "gen_ai.output.type": "image",
  });
  expect(run?.attributes).toMatchObject({ "atelier.outcome": "completed" });
  expect(inTrace().every(({ startMs, endMs }) => endMs >= startMs)).toBe(true);
});

test("S9 a stranger's traceparent is a link, and a batch is one trace of its own", slow, async () => {
  const collector = await startTraceCollector();
  onTestFinished(() => collector.close());
  const { services, submit, submitBatch } = await openTraced({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
  expect((await submit({})).status).toBe(202);
  const answer = await submitBatch(3);
  expect(answer.status).toBe(202);
  const { jobIds } = (await answer.json()) as { jobIds: string[] };
  await services.tracing?.close();
  // What the closing has begun to send may arrive after it, if the collector is slow.
  await expect.poll(() => collector.spans()).toHaveLength(3);
  // The first is that of the owner's earlier job, which no request named.
  const [earlier, ...spans] = collector.spans();
  expect(earlier).toMatchObject({ parentSpanId: null, links: [] });
  expect(spans.map(({ name }) => name)).toEqual(["accept upscale", "accept batch"]);
  for (const name of ["accept upscale", "accept batch"]) {
    const span = spans.find((one) => one.name === name);
    expect(span).toMatchObject({ parentSpanId: null, links: ["b7ad6b7169203331"], isError: false });
    expect(span?.traceId).not.toBe(traceId);
  }
  const batch = spans.find(({ name }) => name === "accept batch");
  expect(batch?.attributes).toMatchObject({ "atelier.batch.jobs": 3 });
  const { jobs } = schema;
  const rows = await services.db.select({ by: jobs.traceparent }).from(jobs).where(inArray(jobs.id, jobIds));
  expect(rows.map(({ by }) => by)).toEqual(Array(3).fill(`00-${batch?.traceId}-${batch?.spanId}-01`));
});

test("S9 without an endpoint no module of OpenTelemetry is loaded, with one they are", slow, async () => {
  const { services } = await openTraced({});
  expect(services.tracing).toBeNull();
  const hook = `data:text/javascript,${encodeURIComponent(`
    import { registerHooks } from "node:module";
    registerHooks({ load(url, context, next) {
      if (/node_modules\\/@opentelemetry|open-telemetry\\.ts/.test(url)) process.stderr.write("LOADED " + url + "\\n");
      return next(url, context);
    } });`)}`;
  const main = path.resolve(import.meta.dirname, "../../worker/main.ts");
  const loadedWith = async (env: Readonly<Record<string, string>>) => {
    const run = runNode(["--import", hook, main, "--once", "--wait", "0"], {
      ...processEnv(services),
      ...env,
    });
    expect(await run.ended).toBe(0);
    return run.output().match(/LOADED/g)?.length ?? 0;
  };
  const [without, withOne] = await Promise.all([
    loadedWith({}),
    loadedWith({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1" }),
  ]);
  expect(without).toBe(0);
  expect(withOne).toBeGreaterThan(0);
});

test("S9 a collector that is away harms nothing, and its fault is known", { ...slow, ...inAll }, async () => {
  const { services, submit } = await openTraced({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1" });
  expect((await submit({})).status).toBe(202);
  // Not measured but raced: the timers of a process fire in their order, however long the machine stands still.
  const late = sleep(4_000, "late");
  expect(await Promise.race([services.tracing?.close().then(() => "closed"), late])).toBe("closed");
  expect((await submit({})).status).toBe(202);
});
