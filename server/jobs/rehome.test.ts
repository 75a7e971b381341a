import { addNode, addOwner, readJob, readStory, type TestOwner } from "@atelier/testing/jobs";
import { openJobScene } from "@atelier/testing/scenes";
import { eq, sql } from "drizzle-orm";
import { beforeEach, describe, expect, test } from "vitest";
import { type CloudPolicy, schema } from "../db/index.ts";
import { newId } from "../platform/index.ts";
import { setCaps } from "../providers/index.ts";
import { setUserPolicy } from "../scheduling/index.ts";
import { submit } from "./submit.ts";
import { sweep } from "./sweep.ts";

const scene = openJobScene({ isEmptied: true });
const own = "comfyui/t2i_sdxl";
const words = { kind: "text_to_image", params: { prompt: "a chair" } };
const settings = { prompt: "a chair", negativePrompt: "legs", steps: 12 };

/** A job that waits in the own line for so long; a provider of a known price is there. */
async function addWaiting(
  request: object = {},
  { forS = 120, owner = scene.owner }: { forS?: number; owner?: TestOwner } = {},
): Promise<string> {
  const { services } = scene;
  const { id } = await submit(services, { ...words, ...request }, { submitter: owner });
  // Nothing claims it here.
  await services.db.execute(sql`update jobs set status = 'pending', not_before = now() + interval '1 hour',
    created_at = now() - ${forS} * interval '1 second' where id = ${id}`);
  return id;
}

async function addShop(): Promise<void> {
  const nodeId = await addNode(scene.services, { queue: "cloud", slots: 4, needs: ["cloud/nano-banana"] });
  await scene.services.db.execute(
    sql`update nodes set capability = capability || '{"providers":["google"]}' where id = ${nodeId}`,
  );
}

async function addFailure(state: "failed" | "succeeded", costUsd = 0): Promise<void> {
  const id = newId();
  const names = { provider: "google" as const, keyId: "k", model: "nano-banana", endpoint: "e", token: id };
  // The provider asks for a pause that a test that stands still does not outlast.
  const failed = state === "failed" ? { errorClass: "transient" as const, retryAfterMs: 3_600_000 } : {};
  await scene.services.db
    .insert(schema.providerAttempts)
    .values({ id, ownerId: scene.owner.userId, state, costUsd, endedAt: sql`now()`, ...names, ...failed });
}

beforeEach(async () => {
  await scene.services.db.delete(schema.providerAttempts);
  await addNode(scene.services, { queue: "gpu-high", needs: [own] });
  await addShop();
});

test("E2 a job that has waited in the own line for as long as the studio waits goes to a provider", async () => {
  const { services } = scene;
  const id = await addWaiting();
  expect(await readJob(services, id)).toMatchObject({ engine: "comfyui" });
  // A worker had it for a moment and gave it back; a server that may hold its prompt is waited for.
  await services.db.execute(sql`update jobs set attempt = 1, external_id = 'a prompt' where id = ${id}`);
  await sweep(services);
  expect(await readJob(services, id)).toMatchObject({ engine: "comfyui" });
  await services.db.execute(sql`update jobs set external_id = null where id = ${id}`);
  await sweep(services);
  const job = await readJob(services, id);
  expect(job).toMatchObject({ engine: "cloud", model: "nano-banana", workflow: null, queue: "cloud" });
  expect(job.placement).toMatchObject({ because: "waited", asked: { engine: null } });
  expect((await readStory(services, id)).map(({ type }) => type)).toContain("overflowed");
});

describe("what has waited stays in the own line", () => {
  const swept = async (id: string) => {
    await sweep(scene.services);
    const { engine, queue } = await readJob(scene.services, id);
    return `${engine} on ${queue}`;
  };
  const home = "comfyui on gpu-high";
  const bounds = { maxPriceUsd: 1, ownOnly: false, unknownPrice: false };

  test.each([
    ["it has not waited for long enough", {}, { forS: 30 }],
    ["it may not leave the house", { ownOnly: true }, {}],
    ["that was agreed", { agreed: { ...bounds, ownOnly: true } }, {}],
    ["it would cost more than was agreed", { agreed: { ...bounds, maxPriceUsd: 0.05 } }, {}],
    ["its workflow was named", { workflow: "t2i_sdxl" }, {}],
    ["its engine was named", { engine: "comfyui" }, {}],
  ])("when %s", async (_why, request, waited) => {
    expect(await swept(await addWaiting(request, waited))).toBe(home);
  });

  test("when only the clock of the database went on, and goes once it has waited since", async () => {
    const { clockStretches } = schema;
    const ago = (minutes: number) => sql`now() - ${minutes} * interval '1 minute'`;
    const id = await addWaiting({}, { forS: 1_800 });
    await scene.services.db
      .insert(clockStretches)
      .values({ beganAt: ago(0), seenAt: ago(0), missedMs: 1_795_000 });
    expect(await swept(id)).toBe(home);
    await scene.services.db.update(clockStretches).set({ missedMs: 600_000 });
    expect(await swept(id)).toBe("cloud on cloud");
    await scene.services.db.delete(clockStretches);
  });

  test.each(["own_only", "cheapest"] as const satisfies CloudPolicy[])(
    "with the policy %s",
    async (policy) => {
      await setUserPolicy(scene.services.db, scene.owner.userId, policy);
      expect(await swept(await addWaiting())).toBe(home);
    },
  );

  test("when a cap is reached, of the user or the studio", async () => {
    await setCaps(scene.services.db, scene.owner.userId, { dailyUsd: 0.05, monthlyUsd: null });
    expect(await swept(await addWaiting())).toBe(home);
    await addFailure("succeeded", 1_000);
    expect(await swept(await addWaiting({}, { owner: await addOwner(scene.services) }))).toBe(home);
  });

  test("when the providers cool down, when one has tried it, and right after it came home", async () => {
    const { db } = scene.services;
    await addFailure("failed");
    const id = await addWaiting();
    expect(await swept(id)).toBe(home);
    await db.update(schema.providerAttempts).set({ jobId: id, endedAt: sql`now() - interval '1 hour'` });
    expect(await swept(id)).toBe(home);
    await db.delete(schema.providerAttempts);
    const event = { jobId: id, revision: 900, type: "went_home", status: "pending" as const };
    await db.insert(schema.jobEvents).values(event);
    expect(await swept(id)).toBe(home);
    await db.update(schema.jobEvents).set({ createdAt: sql`now() - interval '2 minutes'` });
    await sweep(scene.services);
    expect(await readJob(scene.services, id)).toMatchObject({ engine: "cloud" });
  });

  test("of a guest", async () => {
    const { db } = scene.services;
    const id = await addWaiting();
    await db.update(schema.users).set({ isAnonymous: true }).where(eq(schema.users.id, scene.owner.userId));
    expect(await swept(id)).toBe(home);
  });
});

test("E2 a job that has waited and is in the line of a provider goes home when the providers fail, and not for a short own line", async () => {
  const { services } = scene;
  const id = await addWaiting({ params: settings });
  await sweep(services);
  await sweep(services);
  expect(await readJob(services, id)).toMatchObject({ engine: "cloud" });
  await addFailure("failed");
  await sweep(services);
  const home = await readJob(services, id);
  expect(home).toMatchObject({
    engine: "comfyui",
    workflow: "t2i_sdxl",
    model: null,
    charged: 0,
    params: settings,
  });
  expect(home.placement).toMatchObject({ because: "cooling" });
});

test("E2 a job that waits for a provider goes home while it is young and the own line has become short", async () => {
  const { services } = scene;
  const id = await addWaiting();
  await sweep(services);
  expect(await readJob(services, id)).toMatchObject({ engine: "cloud" });
  await services.db.execute(sql`update jobs set created_at = now() - interval '10 seconds' where id = ${id}`);
  await sweep(services);
  expect(await readJob(services, id)).toMatchObject({ engine: "comfyui", placement: { because: "own" } });
});

test("E2 of a provider with several keys all must be held up, and a key that was replaced holds up nothing", async () => {
  const { services } = scene;
  const hold = (...keyIds: string[]) => {
    const providerKeys = JSON.stringify(keyIds.map((keyId) => ({ provider: "google", keyId })));
    return services.db.execute(sql`update nodes
      set capability = capability || jsonb_build_object('providerKeys', ${providerKeys}::jsonb) where capability ? 'providers'`);
  };
  const id = await addWaiting();
  await sweep(services);
  await addFailure("failed");
  for (const keyIds of [["k", "unused"], ["new"]]) {
    await hold(...keyIds);
    await sweep(services);
    expect(await readJob(services, id)).toMatchObject({ engine: "cloud" });
  }
  await hold("k");
  await sweep(services);
  expect(await readJob(services, id)).toMatchObject({ engine: "comfyui", placement: { because: "cooling" } });
});

test("a job that named its model waits for it, whatever its providers do", async () => {
  const { services } = scene;
  const id = await addWaiting({ model: "nano-banana" });
  await addFailure("failed");
  await sweep(services);
  expect(await readJob(services, id)).toMatchObject({ engine: "cloud", model: "nano-banana" });
});

test("a job whose own machine is away goes to a provider once it has waited, also from the window", async () => {
  const { services } = scene;
  const id = await addWaiting();
  await services.db.execute(sql`update jobs set status = 'queued', not_before = null where id = ${id}`);
  await services.db.execute(
    sql`update nodes set state = 'lost', seen_at = now() where capability ->> 'providers' is null`,
  );
  await sweep(services);
  expect(await readJob(services, id)).toMatchObject({ engine: "cloud", placement: { because: "away" } });
});

test("E2 jobs that may not leave the own line hold up none of those behind them", async () => {
  const { services } = scene;
  const stays = await addOwner(services);
  await setUserPolicy(services.db, stays.userId, "own_only");
  for (let count = 0; count < 45; count += 1) await addWaiting({}, { owner: stays, forS: 600 });
  const id = await addWaiting();
  // Twenty are looked at in each sweep.
  for (let count = 0; count < 4; count += 1) await sweep(services);
  expect(await readJob(services, id)).toMatchObject({ engine: "cloud" });
});
