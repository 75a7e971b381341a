import { createTestServices, type TestServices } from "@atelier/testing/services";
import { startPrivatePostgres } from "@atelier/testing/postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { schema } from "../../db/index.ts";
import { newId } from "../../platform/index.ts";
import { createHttpApp, healthResponse, handleTrpc, readyResponse } from "../index.ts";

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
      capability: { cores: 1, memoryBytes: 1, kinds: ["upscale"], engines: ["local"] },
      queues: ["cpu-light"],
      slots: 1,
    });
    const well = await health();
    expect(well).toMatchObject({ status: 200, body: { status: "ok", workers: { ok: true, active: 1 } } });
    const { latencyMs } = well.body.database as { latencyMs: number };
    expect(latencyMs).toBeGreaterThanOrEqual(0);
  });

  test("is ready when the database answers", async () => {
    const response = await readyResponse(fixture.services);
    expect([response.status, await response.json()]).toMatchObject([200, { ready: true }]);
  });
});
