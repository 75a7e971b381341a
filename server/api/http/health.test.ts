import { rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { listObjects } from "@atelier/testing/pictures";
import { startPrivatePostgres } from "@atelier/testing/postgres";
import { createTestServices, openOwner, testOrigin, type TestServices } from "@atelier/testing/services";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { schema } from "../../db/index.ts";
import { newId } from "../../platform/index.ts";
import { createHttpApp, handleAuth, handleTrpc, healthResponse, readyResponse } from "../index.ts";

let fixture: TestServices;

beforeAll(async () => {
  fixture = await createTestServices();
});
afterAll(() => fixture.close());

async function health() {
  const response = await healthResponse(fixture.services);
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

describe("A3 health", () => {
  test("says that no worker is alive, and that all is well once one is", async () => {
    expect(await health()).toMatchObject({
      status: 200,
      body: {
        status: "degraded",
        database: { ok: true },
        queue: { ok: true },
        storage: { ok: true },
        workers: { ok: false, active: 0 },
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
    expect((await health()).body).toMatchObject({ status: "degraded", storage: { ok: false } });
    await rm(files);
    expect((await health()).body).toMatchObject({ storage: { ok: true } });
  });

  test("is ready when the database answers", async () => {
    const response = await readyResponse(fixture.services);
    expect([response.status, await response.json()]).toMatchObject([200, { ready: true }]);
  });
});

test("A3 without a database every door says so with 503 and a code, and works again when it is back", async () => {
  const postgres = await startPrivatePostgres();
  const own = await createTestServices({ env: { DATABASE_URL: postgres.url } });
  const { services } = own;
  try {
    const { apiKey, browser } = await openOwner(services, "owner@example.com");
    const app = createHttpApp(services);
    const http = () =>
      app.fetch(new Request(`${testOrigin}/api/v1/jobs`, { headers: { authorization: `Bearer ${apiKey}` } }));
    const trpc = () =>
      handleTrpc(services, new Request(`${testOrigin}/api/trpc/apiKeys.list`, { headers: browser.headers }));
    const auth = () =>
      handleAuth(services, new Request(`${testOrigin}/api/auth/get-session`, { headers: browser.headers }));
    await postgres.kill9();
    const down = [
      await http(),
      await trpc(),
      await auth(),
      await readyResponse(services),
      await healthResponse(services),
    ];
    expect(down.map(({ status }) => status)).toEqual([503, 503, 503, 503, 503]);
    const texts = await Promise.all(down.map((response) => response.text()));
    for (const text of texts.slice(0, 3)) expect(text).toContain("database_unavailable");
    for (const text of texts) expect(text).not.toMatch(/ECONN|node_modules|select /i);
    await postgres.start();
    await expect.poll(async () => (await readyResponse(services)).status, { timeout: 20_000 }).toBe(200);
    const up = [await http(), await trpc(), await auth()];
    expect(up.map(({ status }) => status)).toEqual([200, 200, 200]);
  } finally {
    await own.close();
    await postgres.destroy();
  }
});
