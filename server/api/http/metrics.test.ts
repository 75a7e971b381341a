import { isDeepStrictEqual } from "node:util";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { addNode, addOwner, addServer, insertJob } from "@atelier/testing/jobs";
import { addHistory } from "@atelier/testing/monitoring";
import {
  createTestServices,
  openAdmin,
  openOwner,
  testOrigin,
  type TestServices,
} from "@atelier/testing/services";
import { ask as askAssistant, readFigures } from "../../assistant/index.ts";
import { schema } from "../../db/index.ts";
import { type Overview, readNodes, readOverview } from "../../monitoring/index.ts";
import { newId } from "../../platform/index.ts";
import { createHttpApp } from "../index.ts";
import { createApiKey, type KeyRight, resolveCaller } from "../../accounts/index.ts";
import { metricsResponse } from "./metrics.ts";

describe("metrics", () => {
  let opened: TestServices;
  let adminKey: string;
  let strangerKey: string;

  beforeAll(async () => {
    opened = await createTestServices();
    const { services } = opened;
    adminKey = (await openOwner(services, "admin@example.com", openAdmin)).apiKey;
    strangerKey = (await openOwner(services, "stranger@example.com")).apiKey;
    const owner = await addOwner(services);
    await addHistory(services, { jobs: 4_000, days: 2, ownerIds: [owner.userId] });
    await insertJob(services, { owner });
    await addNode(services, { slots: 2 });
  });
  afterAll(() => opened.close());

  const ask = (key?: string) =>
    metricsResponse(
      opened.services,
      new Request(`${testOrigin}/metrics`, { headers: key ? { authorization: `Bearer ${key}` } : {} }),
    );

  /** Samples by name and labels, in the order of the text. */
  function parse(text: string): Map<string, number> {
    const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
    return new Map(
      lines.map((line) => {
        const at = line.lastIndexOf(" ");
        return [line.slice(0, at), Number(line.slice(at + 1))];
      }),
    );
  }

  test("S1 /metrics is opened by an admin's key alone", async () => {
    expect((await ask()).status).toBe(401);
    expect((await ask("atelier_unknown")).status).toBe(401);
    const refused = await ask(strangerKey);
    expect(refused.status).toBe(403);
    expect(await refused.json()).toMatchObject({ code: "forbidden" });
  });

  test("S1 /metrics is opened by the right to it, of an admin alone", async () => {
    const { services } = opened;
    const statusOf = async (ownerKey: string, ...rights: KeyRight[]) => {
      const headers = new Headers({ authorization: `Bearer ${ownerKey}` });
      const userId = (await resolveCaller(services, headers))?.userId ?? "";
      return (await ask((await createApiKey(services, { userId, name: "chosen", rights })).key)).status;
    };
    expect(await statusOf(adminKey, "metrics")).toBe(200);
    expect(await statusOf(adminKey, "read", "create", "admin")).toBe(403);
    expect(await statusOf(strangerKey, "read", "metrics")).toBe(403);
  });

  test("S1 /scaling is opened by the right `metrics` alone, and by no account that is no admin's", async () => {
    const { services } = opened;
    const open = (key: string) =>
      createHttpApp(services).fetch(
        new Request(`${testOrigin}/api/v1/scaling`, { headers: { authorization: `Bearer ${key}` } }),
      );
    const ownerOf = async (key: string) =>
      (await resolveCaller(services, new Headers({ authorization: `Bearer ${key}` })))?.userId ?? "";
    const keyOf = async (ownerKey: string, ...rights: KeyRight[]) =>
      (await createApiKey(services, { userId: await ownerOf(ownerKey), name: "scaler", rights })).key;
    const key = await keyOf(adminKey, "metrics");
    expect((await open(key)).status).toBe(200);
    expect((await open(adminKey)).status).toBe(200);
    expect((await open(strangerKey)).status).toBe(403);
    expect((await open(await keyOf(strangerKey, "metrics"))).status).toBe(403);
    expect((await open(await keyOf(adminKey, "read", "admin"))).status).toBe(403);
    // It opens nothing else.
    const others = await createHttpApp(services).fetch(
      new Request(`${testOrigin}/api/v1/jobs`, { headers: { authorization: `Bearer ${key}` } }),
    );
    expect(others.status).toBe(403);
  });

  test("/scaling has one number for each configured queue, the same as /metrics", async () => {
    const { services } = opened;
    const response = await createHttpApp(services).fetch(
      new Request(`${testOrigin}/api/v1/scaling`, { headers: { authorization: `Bearer ${adminKey}` } }),
    );
    const { queues } = (await response.json()) as { queues: Record<string, { jobs: number }> };
    expect(Object.keys(queues)).toEqual(expect.arrayContaining(Object.keys(services.config.queues)));
    expect(queues["cpu-light"]).toMatchObject({ jobs: 3, waiting: 3, running: 0, slots: 2, workers: 1 });
    expect(queues["gpu-high"]).toEqual({
      jobs: 0,
      waiting: 0,
      running: 0,
      slots: 0,
      workers: 0,
      oldestWaitingS: 0,
    });
    const samples = parse(await (await ask(adminKey)).text());
    for (const [queue, { jobs }] of Object.entries(queues))
      expect(samples.get(`atelier_jobs_open{queue="${queue}"}`)).toBe(jobs);
  });

  /** The figures of the page and the text of /metrics, both of one minute: with its end jobs leave the last hour. */
  async function readBoth() {
    const countsOf = ({ queues, failures, estimate }: Overview) => {
      return [failures, estimate, queues.map(({ lastHour, window }) => [lastHour, window])];
    };
    for (;;) {
      const overview = await readOverview(opened.services, { window: "1h" });
      const response = await ask(adminKey);
      const text = await response.text();
      const after = await readOverview(opened.services, { window: "1h" });
      if (isDeepStrictEqual(countsOf(overview), countsOf(after)))
        return { overview, type: response.headers.get("content-type"), text };
    }
  }

  test("O5 /metrics holds the figures of the page", async () => {
    const { overview, type, text } = await readBoth();
    expect(type).toMatch(/^application\/openmetrics-text; version=1\.0\.0/);
    expect(text.endsWith("# EOF\n")).toBe(true);
    const samples = parse(text);
    expect(overview.failures.length).toBeGreaterThan(0);
    for (const { code, count } of overview.failures)
      expect(samples.get(`atelier_failures{code="${code}",window="1h"}`)).toBe(count);
    for (const { queue, waiting, running, slots, lastHour, window } of overview.queues) {
      const of = (name: string) => samples.get(`${name}{queue="${queue}"}`);
      expect([of("atelier_jobs_waiting"), of("atelier_jobs_running"), of("atelier_slots")]).toEqual([
        waiting,
        running,
        slots,
      ]);
      expect(of("atelier_jobs_completed_last_hour")).toBe(lastHour.completed);
      expect(of("atelier_jobs_failed_last_hour")).toBe(lastHour.failed);
      const p95 = samples.get(`atelier_wait_seconds{queue="${queue}",quantile="0.95",window="1h"}`);
      expect(p95).toBe(window.waitMs.p95 === null ? undefined : window.waitMs.p95 / 1_000);
    }
    expect(samples.get('atelier_estimate_within_ratio{window="1h"}')).toBe(overview.estimate.within);
    const [node] = await readNodes(opened.services);
    expect(samples.get(`atelier_node_slots{node="${node?.name}",id="${node?.id}",queue="cpu-light"}`)).toBe(
      2,
    );
  });

  test("O5 B10 /metrics holds the figures of the assistant", async () => {
    const { db } = opened.services;
    const { userId } = await addOwner(opened.services);
    await askAssistant(opened.services, { ownerId: userId, text: "What do I like?" });
    await db.insert(schema.modelCalls).values({
      id: newId(),
      stage: "analyzer",
      try: 2,
      model: "openai/model-a",
      expectedUsd: 1,
      inputTokens: 30,
      outputTokens: 4,
      costUsd: 0.25,
    });
    const { backlog } = await readFigures(opened.services, { hours: 1 });
    expect(backlog).toBeGreaterThan(0);
    const samples = parse(await (await ask(adminKey)).text());
    const of = (name: string, more = "") =>
      samples.get(`atelier_${name}{stage="analyzer",model="openai/model-a"${more}}`);
    expect(samples.get("atelier_assistant_runs_open")).toBe(backlog);
    expect(samples.get('atelier_assistant_runs_last_hour{status="failed"}')).toBe(0);
    expect([of("model_calls_last_hour"), of("model_spend_last_hour_usd")]).toEqual([1, 0.25]);
    expect(of("model_call_troubles_last_hour", ',trouble="retry"')).toBe(1);
    expect(of("model_tokens_last_hour", ',direction="in"')).toBe(30);
  });

  test("O5 every family of /metrics has a type, and its unit ends its name", async () => {
    const text = await (await ask(adminKey)).text();
    const families = [...text.matchAll(/^# TYPE (\S+) gauge$/gm)].map(([, name]) => name);
    for (const [, name, unit] of text.matchAll(/^# UNIT (\S+) (\S+)$/gm))
      expect(name?.endsWith(`_${unit}`)).toBe(true);
    for (const sample of parse(text).keys()) expect(families).toContain(sample.replace(/\{.*$/, ""));
  });

  test("a name with quotes does not break the text", async () => {
    const id = await addNode(opened.services);
    await opened.services.db.execute(sql`update nodes set name = ${'a "b"\n\\c'} where id = ${id}`);
    const text = await (await ask(adminKey)).text();
    expect(text).toContain(String.raw`atelier_node_active{node="a \"b\"\n\\c",`);
  });

  test("O5 no two samples of /metrics have equal labels, also while a node restarts under its name", async () => {
    const { services } = opened;
    const server = { url: "http://gpu-1:8188", needs: ["comfyui/t2i_sdxl"] } as const;
    for (const state of ["draining", "active"] as const) {
      const nodeId = await addNode(services, { state });
      await services.db.execute(sql`update nodes set name = 'studio' where id = ${nodeId}`);
      await addServer(services, { nodeId, ...server });
    }
    const lines = (await (await ask(adminKey)).text()).split("\n");
    const series = lines
      .filter((line) => /^[a-z]/.test(line))
      .map((line) => line.slice(0, line.lastIndexOf(" ")));
    expect(series.filter((one) => one.includes('node="studio"')).length).toBeGreaterThan(8);
    expect(new Set(series).size).toBe(series.length);
  });

  test("O2 /metrics takes at most ten statements", async () => {
    // Safe: drizzle keeps the pool that it was given here.
    const { $client: pool } = opened.services.db as unknown as { $client: { query(text: unknown): unknown } };
    const query = vi.spyOn(pool, "query");
    await ask(adminKey);
    const read = query.mock.calls.filter(([text]) =>
      /node_queues|job_figures|nodes|jobs/.test(JSON.stringify(text)),
    );
    query.mockRestore();
    expect(read.length).toBeGreaterThan(0);
    expect(read.length).toBeLessThanOrEqual(10);
  });
});
