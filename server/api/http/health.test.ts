import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { getTableName, sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { addNode, addServer } from "@atelier/testing/jobs";
import { listObjects } from "@atelier/testing/pictures";
import { type PrivatePostgres, startPrivatePostgres, takeAllSessions } from "@atelier/testing/postgres";
import {
  createTestServices,
  openOwner,
  testOrigin,
  testPassword,
  type TestServices,
} from "@atelier/testing/services";
import { schema } from "../../db/index.ts";
import { newId, openLog } from "../../platform/index.ts";
import { createHttpApp, handleAuth, handleTrpc, healthResponse, readyResponse } from "../index.ts";

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

    test("says that the disk is too full for uploads, and still serves what is there", async () => {
      const { services } = fixture;
      const minFreeBytes = Number.MAX_SAFE_INTEGER;
      const config = { ...services.config, limits: { ...services.config.limits, minFreeBytes } };
      const full = { ...services, config };
      expect(await (await healthResponse(full)).json()).toMatchObject({
        status: "degraded",
        storage: { ok: false, reason: expect.stringContaining("almost full") },
      });
      expect((await readyResponse(full)).status).toBe(200);
      expect((await health()).body).toMatchObject({ storage: { ok: true, reason: null } });
    });

    /** The last beat of the only worker was so long ago. */
    const seen = (secondsAgo: number) =>
      fixture.services.db
        .update(schema.nodes)
        .set({ seenAt: sql`now() - ${secondsAgo} * interval '1 second'` });

    test("D9 counts no worker that has been silent for 30 s, and says why and since when", async () => {
      await seen(15);
      expect((await health()).body).toMatchObject({ status: "ok", workers: { ok: true, active: 1 } });
      await seen(32);
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
      await seen(41);
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

    test("a database that is late for some seconds, as under load, is neither down nor unready; one that refuses is at once", async () => {
      const services = { ...fixture.services };
      const statuses = async () => {
        const answers = [healthResponse(services), readyResponse(services)];
        await vi.advanceTimersByTimeAsync(3_000);
        return (await Promise.all(answers)).map(({ status }) => status);
      };
      const asked = vi.spyOn(services.db, "execute");
      // The driver has timers of its own.
      vi.useFakeTimers({
        toFake: ["setTimeout", "clearTimeout", "performance"],
        shouldAdvanceTime: true,
      });
      try {
        const first = await Promise.all([healthResponse(services), readyResponse(services)]);
        expect(first.map(({ status }) => status)).toEqual([200, 200]);
        const held = Promise.withResolvers<never>();
        asked.mockImplementation(() => held.promise as never);
        for (const expected of [200, 200, 200, 200, 503]) {
          vi.advanceTimersByTime(500);
          expect(await statuses()).toEqual([expected, expected]);
        }
        held.reject(new Error("the connection is lost"));
        asked.mockRestore();
        vi.advanceTimersByTime(3_000);
        await healthResponse(services);
        vi.spyOn(services.db, "execute").mockRejectedValue(new Error("the connection is refused"));
        vi.advanceTimersByTime(3_000);
        expect(await statuses()).toEqual([503, 503]);
      } finally {
        vi.useRealTimers();
        vi.restoreAllMocks();
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
