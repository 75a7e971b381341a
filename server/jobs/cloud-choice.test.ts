import { sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { addOwner, readJob, readStory, type TestOwner } from "@atelier/testing/jobs";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { schema } from "../db/index.ts";
import { newId } from "../platform/index.ts";
import {
  findModel,
  modelsOf,
  ProviderError,
  readProviders,
  readSetupFaults,
  readSpend,
} from "../providers/index.ts";
import { waitForProvider } from "./cloud.ts";
import { endCall } from "./cloud-end.ts";
import { chainError } from "./provider-texts.ts";
import { nextHop } from "./cloud-choice.ts";
import type { Job, Lease } from "./job.ts";

const limits = { maxConcurrent: 3, rpm: 100 };
const priceUsd = 0.1;
const names = ["google", "replicate", "fal"] as const;
const model = {
  id: "test-model",
  title: "Test",
  kind: "text_to_image",
  inputs: { required: [], optional: [] },
  params: ["prompt"],
  offers: names.map((provider) => ({ provider, endpoint: "e", input: { prompt: "$prompt" }, priceUsd })),
};
let opened: TestServices;
let owner: TestOwner;
beforeAll(async () => {
  const caps = {
    userDailyUsd: 0.75,
    userMonthlyUsd: null,
    studioDailyUsd: null,
    studioMonthlyUsd: null,
  };
  const cloud = {
    providers: { google: limits, replicate: limits, fal: { maxConcurrent: 50, rpm: 100 } },
    caps,
    models: [model],
  };
  opened = await createTestServices({ config: { cloud } });
  owner = await addOwner(opened.services);
});
afterAll(() => opened.close());
beforeEach(() => opened.services.db.execute(sql`delete from provider_attempts`));

const keyOf = (provider: (typeof names)[number]) => {
  const access = { name: provider, baseUrl: "http://127.0.0.1:9", apiKey: "k", webhookSecret: null };
  return { provider, keyId: `key-of-${provider}`, access };
};

/** A job that a worker holds and is about to hand to a provider. */
async function holdJob(): Promise<{ job: Job; lease: Lease }> {
  const [id, nodeId] = [newId(), newId()];
  const { db } = opened.services;
  const request = { kind: "text_to_image", params: { prompt: "x" }, model: model.id } as const;
  const place = { queue: "cloud", engine: "cloud", need: "cloud/test-model" } as const;
  await db.insert(schema.jobs).values({
    id,
    ownerId: owner.userId,
    status: "processing",
    attempt: 1,
    nodeId,
    tier: 1,
    ...request,
    ...place,
  });
  await db.insert(schema.jobEvents).values({ jobId: id, revision: 1, type: "created", status: "processing" });
  return { job: await readJob(opened.services, id), lease: { jobId: id, attempt: 1, nodeId } };
}

/** As a worker does at each hop: the provider that gets the job, or what else comes of it. */
async function hop(
  held: { job: Job; lease: Lease },
  providers: readonly (typeof names)[number][],
): Promise<string> {
  const own = findModel(modelsOf(opened.services.config), model.id);
  if (!own) throw new Error("the model is gone");
  try {
    const next = await nextHop(opened.services, { ...held, model: own, keys: providers.map(keyOf) });
    return next.kind === "call" ? next.offer.provider : next.kind;
  } catch (error) {
    if (error instanceof Error && "code" in error) return String(error.code);
    throw error;
  }
}

async function hopAll(count: number, providers: Parameters<typeof hop>[1]): Promise<string[]> {
  const held = await Promise.all(Array.from({ length: count }, () => holdJob()));
  return (await Promise.all(held.map((one) => hop(one, providers)))).toSorted();
}

test("E3 E5 of 7 jobs at once as many get each provider as its limit allows, and the last one waits", async () => {
  const all = await hopAll(7, ["google", "replicate"]);
  expect(all).toEqual([...Array(3).fill("google"), ...Array(3).fill("replicate"), "wait"]);
});

test("of 12 jobs at once none exceeds the cap", async () => {
  const all = await hopAll(12, ["fal"]);
  expect(all).toEqual([...Array(5).fill("budget_exceeded"), ...Array(7).fill("fal")]);
  const { db, config } = opened.services;
  const { dayUsd } = await readSpend(db, config, owner.userId);
  expect(dayUsd).toBeCloseTo(7 * priceUsd);
});

test("a job gets its attempt and an event with it, and none once its worker lost the lease", async () => {
  const { job, lease } = await holdJob();
  expect(await hop({ job, lease: { ...lease, attempt: 2 } }, ["google"])).toBe("fenced");
  expect(await readJob(opened.services, job.id)).toMatchObject({ providerAttemptId: null, revision: 1 });
  expect(await hop({ job, lease }, ["google"])).toBe("google");
  const [attempt] = await opened.services.db.select().from(schema.providerAttempts);
  const { providerAttemptId, revision, stage } = await readJob(opened.services, job.id);
  expect({ providerAttemptId, revision, stage }).toEqual({
    providerAttemptId: attempt?.id,
    revision: 2,
    stage: "submitting",
  });
  const story = await readStory(opened.services, job.id);
  expect(story.at(-1)).toMatchObject({ type: "provider_tried", revision: 2, data: { provider: "google" } });
});

test("E5 a refusal ends the attempt, and the next hop passes the provider over; without the lease the job leaves its worker", async () => {
  const { services } = opened;
  const { job, lease } = await holdJob();
  await hop({ job, lease }, ["google", "replicate"]);
  const [attempt] = await services.db.select().from(schema.providerAttempts);
  if (!attempt) throw new Error("no attempt was stored");
  const refusal = { as: "refused", error: new ProviderError("auth", "refused"), costUsd: null } as const;
  const read = () => services.db.select().from(schema.providerAttempts);
  expect(await endCall(services, { lease, attempt }, refusal)).toBe("next");
  expect(await read()).toMatchObject([{ state: "failed", errorClass: "auth" }]);
  expect(await readJob(services, job.id)).toMatchObject({ nodeId: lease.nodeId, providerAttemptId: null });
  expect(await hop({ job, lease }, ["google", "replicate"])).toBe("replicate");
  const reports = await readProviders(services, { providers: new Set(["google"]), keys: [] });
  const google = reports.find(({ provider }) => provider === "google");
  expect(google).toMatchObject({
    hasKey: true,
    isEnabled: true,
    keys: 1,
    active: 0,
    inLastMinute: 1,
    streak: 1,
  });
  expect(google).toMatchObject({ lastErrorClass: "auth", dayUsd: 0, monthUsd: 0, limits });
  const replicate = reports.find(({ provider }) => provider === "replicate");
  expect(replicate).toMatchObject({
    hasKey: false,
    active: 1,
    streak: 0,
    lastErrorClass: null,
    dayUsd: priceUsd,
  });
  const second = (await read()).find(({ provider }) => provider === "replicate");
  if (!second) throw new Error("no second attempt was stored");
  await endCall(services, { lease: { ...lease, attempt: 2 }, attempt: second }, refusal);
  expect(await readJob(services, job.id)).toMatchObject({
    nodeId: null,
    providerAttemptId: null,
    charged: 0,
  });
  expect((await read()).map(({ state }) => state)).toEqual(["failed", "failed"]);
});

test("E9 each key that a node holds has its own state, and one that was replaced has none", async () => {
  const { services } = opened;
  const { db } = services;
  const keyIds = ["first", "second"];
  const replaced = "replaced";
  const fail = (keyId: string, at: number) => ({
    id: newId(),
    provider: "google",
    model: model.id,
    endpoint: "e",
    keyId,
    ownerId: owner.userId,
    state: "failed" as const,
    errorClass: "auth",
    token: `${keyId}-${at}`,
    endedAt: new Date(),
  });
  await db
    .insert(schema.providerAttempts)
    .values([fail("first", 1), fail("first", 2), fail(replaced, 1), fail(replaced, 2), fail(replaced, 3)]);
  const read = async (held: readonly string[]) => {
    const keys = held.map((keyId) => ({ provider: "google" as const, keyId }));
    const reports = await readProviders(services, { providers: new Set(["google"]), keys });
    return reports.find(({ provider }) => provider === "google");
  };
  const both = await read(keyIds);
  expect(both).toMatchObject({ keys: 2, cooldownLeftMs: 0, streak: 0, lastErrorClass: null });
  expect(both?.keyReports).toMatchObject([
    { keyId: "first", streak: 2, lastErrorClass: "auth", cooldownLeftMs: expect.any(Number) },
    { keyId: "second", streak: 0, lastErrorClass: null, cooldownLeftMs: 0 },
  ]);
  // The pause of a second failure, which is longer than the first one's 10 s, or what is left of it.
  const leftMs = both?.keyReports[0]?.cooldownLeftMs;
  expect(leftMs).toBeGreaterThan(10_000);
  expect(leftMs).toBeLessThanOrEqual(30_000);
  const one = await read(["first"]);
  expect(one).toMatchObject({ keys: 1, streak: 2, lastErrorClass: "auth" });
  expect(one?.cooldownLeftMs).toBeGreaterThan(0);
});

test("E9 a fault of the operator's own is told until the provider makes that model again; a user's or an outage is none", async () => {
  const { db } = opened.services;
  const ended = (modelId: string, errorClass: string | null, secondsAgo: number) => ({
    id: newId(),
    provider: "google",
    model: modelId,
    endpoint: "e",
    keyId: "one",
    ownerId: owner.userId,
    state: errorClass === null ? ("succeeded" as const) : ("failed" as const),
    errorClass,
    errorMessage: errorClass === null ? null : "HTTP 404: gone",
    token: newId(),
    endedAt: new Date(Date.now() - secondsAgo * 1_000),
  });
  await db
    .insert(schema.providerAttempts)
    .values([
      ended("gone", null, 60),
      ended("gone", "model", 20),
      ended("gone", "moderation", 10),
      ended("mended", "credit", 20),
      ended("mended", null, 10),
      ended("busy", "rate", 10),
      ended("old", "auth", 90_000),
    ]);
  expect(await readSetupFaults(db)).toEqual([
    { provider: "google", model: "gone", errorClass: "model", reason: "HTTP 404: gone" },
  ]);
});

test("E5 a job that one provider has failed waits longer each time for the one that is full, up to a minute", async () => {
  const { services } = opened;
  await hopAll(3, ["google"]);
  const { job, lease } = await holdJob();
  const own = findModel(modelsOf(services.config), model.id);
  if (!own) throw new Error("the model is gone");
  const next = (providers: Parameters<typeof hop>[1]) =>
    nextHop(services, { job, lease, model: own, keys: providers.map(keyOf) });
  const wait = async () => {
    const found = await next(["google", "replicate"]);
    if (found.kind !== "wait") throw new Error(`the job did not wait but ${found.kind}`);
    await waitForProvider(services, lease, found);
    // As a worker that claims it again.
    await services.db.execute(
      sql`update jobs set status = 'processing', node_id = ${lease.nodeId} where id = ${job.id}`,
    );
    return found.waitMs;
  };
  const busyMs = 2_000;
  expect(await hop({ job, lease }, ["replicate"])).toBe("replicate");
  const attempts = await services.db.select().from(schema.providerAttempts);
  const attempt = attempts.find(({ jobId }) => jobId === job.id);
  if (!attempt) throw new Error("no attempt was stored");
  await endCall(
    services,
    { lease, attempt },
    { as: "refused", error: new ProviderError("auth", "refused"), costUsd: null },
  );
  const waits: number[] = [];
  for (let time = 0; time < 8; time += 1) waits.push(await wait());
  expect(waits).toEqual([busyMs, busyMs, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
});

const bounds = (maxPriceUsd: number, unknownPrice = false) => ({ maxPriceUsd, ownOnly: false, unknownPrice });
const priced = (provider: (typeof names)[number], usd: number | null) => ({
  provider,
  endpoint: "e",
  input: {},
  priceUsd: usd,
});

test("E8 a provider that costs more than was agreed is passed over, on the first try and after a failure", async () => {
  const { services } = opened;
  const keys = names.map(keyOf);
  const own = findModel(modelsOf(services.config), model.id);
  if (!own) throw new Error("the model is gone");
  const held = async (agreed: ReturnType<typeof bounds>) => {
    const one = await holdJob();
    await services.db.execute(
      sql`update jobs set agreed = ${JSON.stringify(agreed)}::jsonb where id = ${one.job.id}`,
    );
    return { ...one, job: { ...one.job, agreed } };
  };
  const chain = { ...own, offers: [priced("google", 0.2), priced("replicate", 0.1), priced("fal", null)] };
  const cheap = await held(bounds(0.1));
  const first = await nextHop(services, { ...cheap, model: chain, keys });
  if (first.kind !== "call") throw new Error(first.kind);
  expect(first.attempt).toMatchObject({ provider: "replicate", priceUsd: 0.1 });
  const error = new ProviderError("auth", "refused");
  const called = { lease: cheap.lease, attempt: first.attempt };
  await endCall(services, called, { as: "refused", error, costUsd: null });
  const next = await nextHop(services, { ...cheap, model: chain, keys });
  expect(next).toMatchObject({ kind: "exhausted", dearer: ["google", "fal"] });
  if (next.kind !== "exhausted") throw new Error(next.kind);
  const reason = chainError(next.failed, next.dearer);
  expect(reason).toMatchObject({ code: "providers_failed" });
  expect(reason.message).toMatch(/Replicate: refused the studio's key; Google: costs more than was agreed/);

  const free = await nextHop(services, { ...(await held(bounds(0))), model: chain, keys });
  expect(free).toMatchObject({ kind: "exhausted", failed: [], dearer: [...names] });
  expect(chainError([], names)).toMatchObject({ code: "not_agreed" });

  // A person's own maximum counts as the price, but never less than what is assumed.
  const unknown = { ...own, offers: [priced("fal", null)] };
  for (const [max, counted] of [
    [0.3, 0.3],
    [0.001, services.config.cloud.assumedPriceUsd],
  ] as const) {
    const hopped = await nextHop(services, { ...(await held(bounds(max, true))), model: unknown, keys });
    expect(hopped).toMatchObject({ kind: "call", attempt: { priceUsd: counted } });
  }
});

test("E8 a worker that knows no agreement cannot buy against it: the statement that stores its intent refuses", async () => {
  const { services } = opened;
  const { job, lease } = await holdJob();
  await services.db.execute(
    sql`update jobs set agreed = ${JSON.stringify(bounds(0.05))}::jsonb where id = ${job.id}`,
  );
  expect(await hop({ job, lease }, ["google"])).toBe("fenced");
  expect(await services.db.$count(schema.providerAttempts)).toBe(0);
});
