import { addNode, addOwner, addServer, insertJob } from "@atelier/testing/jobs";
import { addHistory } from "@atelier/testing/monitoring";
import {
  createTestServices,
  openAdmin,
  openOwner,
  testOrigin,
  type TestServices,
} from "@atelier/testing/services";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { readNodes, readOverview } from "../../monitoring/index.ts";
import { metricsResponse } from "./metrics.ts";

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

test("O5 /metrics holds the figures of the page", async () => {
  // Nothing ends meanwhile; only ages go on.
  const overview = await readOverview(opened.services, { window: "1h" });
  const response = await ask(adminKey);
  expect(response.headers.get("content-type")).toMatch(/^application\/openmetrics-text; version=1\.0\.0/);
  const text = await response.text();
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
  expect(samples.get(`atelier_node_slots{node="${node?.name}",id="${node?.id}",queue="cpu-light"}`)).toBe(2);
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
