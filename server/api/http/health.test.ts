import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import { getTableName, sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { addNode, addOwner, addServer, insertJob } from "@atelier/testing/jobs";
import { addHistory } from "@atelier/testing/monitoring";
import { listObjects } from "@atelier/testing/pictures";
import { type PrivatePostgres, startPrivatePostgres, takeAllSessions } from "@atelier/testing/postgres";
import {
  createTestServices,
  openAdmin,
  openOwner,
  testOrigin,
  testPassword,
  type TestServices,
} from "@atelier/testing/services";
import { ask as askAssistant, readFigures } from "../../assistant/index.ts";
import { schema } from "../../db/index.ts";
import { type Overview, readNodes, readOverview } from "../../monitoring/index.ts";
import { newId, openLog } from "../../platform/index.ts";
import { createHttpApp, handleAuth, handleTrpc, healthResponse, readyResponse } from "../index.ts";
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

describe("health", () => {
  let fixture: TestServices;

  beforeAll(async () => {
    fixture = await createTestServices();
  });
  afterAll(() => fixture.close());

  /** A copy of the services has no answer kept from before. */
  async function health() {
    const response = await healthResponse({ ...fixture.services });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  }

  describe("A3 health", () => {
    test("says that no worker is alive, and that all is well once one is", async () => {
      expect(await health()).toMatchObject({
        status: 200,
        body: {
          status: "degraded",
          database: { ok: true, reason: null, ageMs: expect.any(Number) },
          queue: { ok: true, reason: null, ageMs: expect.any(Number) },
          storage: { ok: true, reason: null, ageMs: expect.any(Number) },
          engines: { ok: true, reason: null, ageMs: null, all: 0 },
          workers: {
            ok: false,
            active: 0,
            reason: expect.stringMatching(/has been started yet/),
            ageMs: null,
          },
        },
      });
      await fixture.services.db.insert(schema.nodes).values({
        id: newId(),
        name: "one",
        hostname: "host",
        bootId: "boot",
        pid: 1,
        pidStartedAt: "0",
        capability: { cores: 1, memoryBytes: 1, gpus: [], kinds: ["upscale"], engines: ["local"] },
      });
      const well = await health();
      expect(well).toMatchObject({ status: 200, body: { status: "ok", workers: { ok: true, active: 1 } } });
      const { latencyMs } = well.body.database as { latencyMs: number };
      expect(latencyMs).toBeGreaterThanOrEqual(0);
    });

    test("says that the store takes nothing, leaves nothing in it, and is well when it takes files again", async () => {
      const { env } = fixture.services;
      const files = path.join(env.ATELIER_DATA_DIR, "files");
      await health();
      expect(await listObjects(fixture.services)).toEqual([]);
      await rm(files, { recursive: true, force: true });
      await writeFile(files, "no folder");
      expect((await health()).body).toMatchObject({
        status: "degraded",
        storage: { ok: false, reason: expect.stringContaining("image store") },
      });
      await rm(files);
      expect((await health()).body).toMatchObject({ storage: { ok: true } });
    });

    /** The last beat of the only worker was so long ago. */
    const seen = (secondsAgo: number) =>
      fixture.services.db
        .update(schema.nodes)
        .set({ seenAt: sql`now() - ${secondsAgo} * interval '1 second'` });

    test("D9 counts no worker that has been silent for 30 s, and says why and since when", async () => {
      await seen(25);
      expect((await health()).body).toMatchObject({ status: "ok", workers: { ok: true, active: 1 } });
      await seen(31);
      const { status, workers } = (await health()).body as { status: string; workers: { ageMs: number } };
      expect([status, workers]).toMatchObject([
        "degraded",
        { ok: false, active: 0, reason: "No worker is connected. Jobs wait for the next one." },
      ]);
      expect(workers.ageMs).toBeGreaterThanOrEqual(31_000);
      expect(workers.ageMs).toBeLessThan(60_000);
      await seen(0);
      expect((await health()).body).toMatchObject({
        status: "ok",
        workers: { ok: true, active: 1, reason: null },
      });
    });

    test("D9 a process that was frozen for ten minutes answers with what is true then, and ages grow while an answer is kept", async () => {
      const services = { ...fixture.services };
      const read = async () => (await healthResponse(services)).json();
      vi.useFakeTimers({ toFake: ["performance"] });
      try {
        await seen(0);
        expect(await read()).toMatchObject({ status: "ok", storage: { ageMs: 0 } });
        vi.advanceTimersByTime(1_500);
        expect(await read()).toMatchObject({ status: "ok", storage: { ageMs: 1_500 } });
        vi.advanceTimersByTime(600_000);
        await seen(1);
        expect(await read()).toMatchObject({ status: "ok", workers: { active: 1 }, storage: { ageMs: 0 } });
        vi.advanceTimersByTime(600_000);
        await seen(600);
        expect(await read()).toMatchObject({ status: "degraded", workers: { active: 0 } });
      } finally {
        vi.useRealTimers();
        await seen(0);
      }
    });

    test("counts the servers of active workers, and is degraded once an engine has no healthy one", async () => {
      const { services } = fixture;
      const nodeIds = [await addNode(services), await addNode(services)];
      const url = "http://one.example.org:8188";
      for (const nodeId of nodeIds) await addServer(services, { nodeId, url, needs: [] });
      await addServer(services, {
        nodeId: await addNode(services),
        url: "http://two.example.org:8188",
        needs: [],
        state: "down",
      });
      await addServer(services, {
        nodeId: await addNode(services, { state: "lost" }),
        url: "http://forgotten.example.org:8188",
        needs: [],
      });
      expect((await health()).body).toMatchObject({
        status: "ok",
        engines: { ok: true, healthy: 1, all: 2 },
      });
      await services.db.update(schema.engineServers).set({ state: "down" });
      expect(await health()).toMatchObject({
        status: 200,
        body: {
          status: "degraded",
          engines: { ok: false, healthy: 0, all: 2, reason: "No comfyui server is healthy." },
        },
      });
      await services.db.update(schema.engineServers).set({ state: "healthy" });
      await seen(40);
      const { engines } = (await health()).body as { engines: { ageMs: number } };
      expect(engines).toMatchObject({
        ok: false,
        healthy: 0,
        all: 2,
        reason: "No comfyui server is healthy: no worker that could see one is connected.",
      });
      expect(engines.ageMs).toBeGreaterThanOrEqual(40_000);
      await services.db.delete(schema.engineServers);
      await seen(0);
    });

    test("A3 is not ready while a bucket has failed for ten seconds, unlike after one bad answer or with files", async () => {
      const bucket = { ...fixture.services, env: { ...fixture.services.env, S3_BUCKET: "pictures" } };
      const files = { ...fixture.services };
      const put = vi.spyOn(fixture.services.disk, "put").mockRejectedValue(new Error("refused"));
      // Each call is answered by what the one before has found.
      const ready = async (services: typeof files) => {
        await readyResponse(services);
        await new Promise(setImmediate);
        return (await readyResponse(services)).status;
      };
      vi.useFakeTimers({ toFake: ["performance"] });
      try {
        expect([await ready(bucket), await ready(files)]).toEqual([200, 200]);
        vi.advanceTimersByTime(5_000);
        expect(await ready(bucket)).toBe(200);
        vi.advanceTimersByTime(6_000);
        expect([await ready(bucket), await ready(files)]).toEqual([503, 200]);
        expect(put.mock.calls.length).toBe(3);
        put.mockRestore();
        vi.advanceTimersByTime(3_000);
        await expect.poll(() => ready(bucket)).toBe(200);
        vi.spyOn(fixture.services.disk, "put").mockRejectedValueOnce(new Error("one bad answer"));
        vi.advanceTimersByTime(31_000);
        expect(await ready(bucket)).toBe(200);
      } finally {
        vi.useRealTimers();
        vi.restoreAllMocks();
      }
    });

    test("writes one probe object for many calls, and starts no second probe while one is late", async () => {
      const services = { ...fixture.services };
      const put = services.disk.put.bind(services.disk);
      const held = Promise.withResolvers<void>();
      const writes = vi.spyOn(services.disk, "put").mockImplementation(async (...input) => {
        await held.promise;
        return put(...input);
      });
      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
      try {
        const late = Promise.all(Array.from({ length: 5 }, () => healthResponse(services)));
        await vi.advanceTimersByTimeAsync(3_000);
        for (const answer of await late)
          expect(await answer.json()).toMatchObject({ storage: { ok: false } });
        const next = healthResponse(services);
        held.resolve();
        expect(await (await next).json()).toMatchObject({ storage: { ok: true } });
        expect(writes).toHaveBeenCalledTimes(1);
      } finally {
        vi.useRealTimers();
        writes.mockRestore();
      }
    });

    test("A3 F32 is not ready with an older schema and says so; a newer one is that of a deployment under way", async () => {
      const { services } = fixture;
      const answer = async () => {
        const response = await readyResponse(services);
        const { reason }: { reason: string | null } = await response.json();
        return [response.status, reason];
      };
      const shift = (ms: number) =>
        services.db.execute(sql`update drizzle.__drizzle_migrations set created_at = created_at + ${ms}`);
      await shift(1);
      expect(await answer()).toEqual([200, null]);
      await shift(-2);
      expect(await answer()).toEqual([503, expect.stringContaining("older than this web")]);
      await shift(1);
      expect(await answer()).toEqual([200, null]);
    });

    test("is ready when the database answers", async () => {
      const response = await readyResponse(fixture.services);
      expect([response.status, await response.json()]).toMatchObject([200, { ready: true }]);
    });
  });

  test("A3 a read-only database is not ok, and writes say that it is unavailable", async () => {
    const { services } = fixture;
    const { apiKey, browser } = await openOwner(services, "reader@example.com");
    const name = sql.identifier(new URL(services.env.DATABASE_URL ?? "").pathname.slice(1));
    await services.db.execute(sql`alter database ${name} set default_transaction_read_only = on`);
    try {
      const readOnly = await fixture.openAnother();
      const json = { "content-type": "application/json" };
      const http = await createHttpApp(readOnly).fetch(
        new Request(`${testOrigin}/api/v1/jobs`, {
          method: "POST",
          headers: { ...json, authorization: `Bearer ${apiKey}` },
          body: JSON.stringify({ kind: "text_to_image", params: { prompt: "a boat" }, inputs: {} }),
        }),
      );
      const headers = new Headers(browser.headers);
      headers.set("content-type", "application/json");
      const trpc = await handleTrpc(
        readOnly,
        new Request(`${testOrigin}/api/trpc/apiKeys.create`, {
          method: "POST",
          headers,
          body: JSON.stringify({ json: { name: "one" } }),
        }),
      );
      const auth = await handleAuth(
        readOnly,
        new Request(`${testOrigin}/api/auth/sign-in/anonymous`, { method: "POST", headers, body: "{}" }),
      );
      expect([http.status, trpc.status, auth.status]).toEqual([503, 503, 503]);
      for (const response of [http, trpc, auth])
        expect(await response.text()).toContain("database_unavailable");
      const answer = await healthResponse(readOnly);
      expect([answer.status, await answer.json()]).toMatchObject([
        503,
        { status: "down", database: { ok: false, reason: expect.stringContaining("takes no writes") } },
      ]);
      expect((await readyResponse(readOnly)).status).toBe(200);
    } finally {
      await services.db.execute(sql`alter database ${name} reset default_transaction_read_only`);
    }
  });

  describe("with a database of its own and log files", () => {
    let postgres: PrivatePostgres;
    let own: TestServices;
    let logDir: string;

    beforeAll(async () => {
      postgres = await startPrivatePostgres({ max_connections: "40" });
      logDir = await mkdtemp(path.join(os.tmpdir(), "atelier-log-"));
      const log = await openLog({ env: { LOG_LEVEL: "trace", ATELIER_DATA_DIR: logDir }, name: "web" });
      own = await createTestServices({ env: { DATABASE_URL: postgres.url }, log });
      vi.spyOn(process.stdout, "write").mockReturnValue(true);
    });
    afterAll(async () => {
      vi.restoreAllMocks();
      await own.close();
      await postgres.destroy();
      await rm(logDir, { recursive: true, force: true });
    });

    const absences = [
      [
        "was killed",
        async () => {
          await postgres.kill9();
          return () => postgres.start();
        },
      ],
      [
        "has no connection left",
        async () => {
          const hoard = await takeAllSessions(postgres.url);
          return () => hoard.free();
        },
      ],
    ] as const;
    test.for(absences)(
      "A3 F18 a database that %s: every door says so with 503 and a code, and works again when it is back",
      async ([what, begin]) => {
        const { services } = own;
        const { apiKey, browser } = await openOwner(services, `${what.length}@example.com`);
        const app = createHttpApp(services);
        const http = () =>
          app.fetch(
            new Request(`${testOrigin}/api/v1/jobs`, { headers: { authorization: `Bearer ${apiKey}` } }),
          );
        const trpc = () =>
          handleTrpc(
            services,
            new Request(`${testOrigin}/api/trpc/apiKeys.list`, { headers: browser.headers }),
          );
        const auth = () =>
          handleAuth(
            services,
            new Request(`${testOrigin}/api/auth/get-session`, { headers: browser.headers }),
          );
        const end = await begin();
        try {
          const down = [
            await http(),
            await trpc(),
            await auth(),
            await readyResponse(services),
            await healthResponse({ ...services }),
          ];
          expect(down.map(({ status }) => status)).toEqual([503, 503, 503, 503, 503]);
          const texts = await Promise.all(down.map((response) => response.text()));
          for (const text of texts.slice(0, 3)) expect(text).toContain("database_unavailable");
          for (const text of texts) expect(text).not.toMatch(/ECONN|node_modules|select /i);
        } finally {
          await end();
        }
        await expect.poll(async () => (await readyResponse(services)).status, { timeout: 20_000 }).toBe(200);
        const up = [await http(), await trpc(), await auth()];
        expect(up.map(({ status }) => status)).toEqual([200, 200, 200]);
      },
    );

    test("S9 the log files hold nothing that people wrote, also when writes fail and the database is away", async () => {
      const { services } = own;
      const { apiKey, browser, imageId } = await openOwner(services, "canary-mail@example.com");
      await addNode(services, { queue: "gpu-high", needs: ["comfyui/t2i_sdxl"] });
      const trpc = (procedure: string, input: object) =>
        handleTrpc(
          services,
          new Request(`${testOrigin}/api/trpc/${procedure}`, {
            method: "POST",
            headers: { ...Object.fromEntries(browser.headers), "content-type": "application/json" },
            body: JSON.stringify({ json: input }),
          }),
        );
      const auth = (path: string, body: object) =>
        handleAuth(
          services,
          new Request(`${testOrigin}/api/auth${path}`, {
            method: "POST",
            headers: { ...Object.fromEntries(browser.headers), "content-type": "application/json" },
            body: JSON.stringify(body),
          }),
        );
      const submit = (key: Record<string, string>) =>
        createHttpApp(services).fetch(
          new Request(`${testOrigin}/api/v1/jobs?secret=canary-query`, {
            method: "POST",
            headers: { ...key, authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
            body: JSON.stringify({
              kind: "text_to_image",
              params: { prompt: "canary-prompt" },
              inputs: {},
              sessionId: "canary-session",
              metadata: { note: "canary-metadata" },
            }),
          }),
        );
      const writeAll = async () => {
        const account = { email: "canary-new@example.com", password: "canary-password", name: "canary-name" };
        const answers = [
          await submit({}),
          await submit({ "idempotency-key": "canary-idempotency" }),
          await trpc("images.rename", { id: imageId, title: "canary-title" }),
          await trpc("apiKeys.create", { name: "canary-key-name" }),
          await auth("/sign-up/email", account),
        ];
        return answers.map(({ status }) => status);
      };
      const { db } = services;
      const refused = [
        [schema.jobs, "params ->> 'prompt'", "canary-prompt"],
        [schema.idempotencyKeys, "key", "canary-idempotency"],
        [schema.images, "title", "canary-title"],
        [schema.apiKeys, "name", "canary-key-name"],
        [schema.users, "name", "canary-name"],
      ] as const;
      for (const [table, column, value] of refused)
        await db.execute(
          sql.raw(`alter table ${getTableName(table)} add constraint never check (${column} <> '${value}')`),
        );
      // The accounts' library answers a failed sign-up by itself.
      expect(await writeAll()).toEqual([500, 500, 500, 500, 422]);
      await postgres.kill9();
      expect(await writeAll()).toEqual([503, 503, 503, 503, 503]);
      await postgres.start();
      await expect.poll(async () => (await readyResponse(services)).status, { timeout: 20_000 }).toBe(200);
      const token = /session_token=([^.;]+)/.exec(browser.headers.get("cookie") ?? "")?.[1];
      services.log.error("the last line");
      const read = async (label: string) => readFile(path.join(logDir, "logs/web", `${label}.1.log`), "utf8");
      await expect.poll(() => read("combined")).toContain("the last line");
      await expect.poll(() => read("error")).toContain("the last line");
      const text = (await read("combined")) + (await read("error"));
      expect(text).toMatch(/"code":"23514"[^]*ECONNREFUSED/);
      expect(token).toHaveLength(32);
      expect(/canary-[a-z-]+/.exec(text)).toBeNull();
      for (const value of [token ?? "", apiKey, testPassword]) expect(text).not.toContain(value);
    });
  });
});
