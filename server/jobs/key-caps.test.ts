import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { addOwner, readJob, type TestOwner } from "@atelier/testing/jobs";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { createApiKey, readApiKey, revokeApiKey, setKeyCap } from "../accounts/index.ts";
import { schema } from "../db/index.ts";
import { newId } from "../platform/index.ts";
import { findModel, modelsOf, ProviderError, sumPastDays } from "../providers/index.ts";
import type { Services } from "../services.ts";
import { endCall } from "./cloud-end.ts";
import { nextHop } from "./cloud-choice.ts";
import type { Job, Lease } from "./job.ts";

const priceUsd = 0.1;
const names = ["fal", "replicate"] as const;
const draw = (id: string, usd: number) => ({
  id,
  title: "Test",
  kind: "text_to_image",
  inputs: { required: [], optional: [] },
  params: ["prompt"],
  offers: names.map((provider) => ({
    provider,
    endpoint: "e",
    input: { prompt: "$prompt" },
    priceUsd: usd,
  })),
});
const models = [draw("dear", priceUsd), draw("gift", 0)];
let opened: TestServices;
let owner: TestOwner;
beforeAll(async () => {
  const plenty = { maxConcurrent: 50, rpm: 100 };
  opened = await createTestServices({
    config: { cloud: { providers: { fal: plenty, replicate: plenty }, models } },
  });
  owner = await addOwner(opened.services);
});
afterAll(() => opened.close());
beforeEach(async () => {
  const { db } = opened.services;
  await db.delete(schema.providerAttempts);
  await db.delete(schema.dailySpend);
  await db.update(schema.studio).set({ spendSummedUntil: null });
});

const { providerAttempts } = schema;
const keyOf = (provider: (typeof names)[number]) => ({
  provider,
  keyId: `key-of-${provider}`,
  access: { name: provider, baseUrl: "http://127.0.0.1:9", apiKey: "k", webhookSecret: null },
});

async function makeKey(usd: number, period: "day" | "month" | "never" = "month"): Promise<string> {
  const made = await createApiKey(opened.services, {
    userId: owner.userId,
    name: "capped",
    cap: { usd, period },
  });
  return made.id;
}

interface Held {
  readonly job: Job;
  readonly lease: Lease;
}

/** A job of a key that a worker holds and is about to hand to a provider. */
async function holdJob(apiKeyId: string | null, model = "dear"): Promise<Held> {
  const [id, nodeId] = [newId(), newId()];
  const { db } = opened.services;
  const request = { kind: "text_to_image", params: { prompt: "x" }, model } as const;
  const place = { queue: "cloud", engine: "cloud", need: `cloud/${model}` } as const;
  const state = { status: "processing", attempt: 1, nodeId, tier: 1 } as const;
  await db
    .insert(schema.jobs)
    .values({ id, ownerId: owner.userId, apiKeyId, ...state, ...request, ...place });
  await db.insert(schema.jobEvents).values({ jobId: id, revision: 1, type: "created", status: "processing" });
  return { job: await readJob(opened.services, id), lease: { jobId: id, attempt: 1, nodeId } };
}

/** As a worker does at each hop: the provider that gets the job, or why none does. */
async function hop(held: Held, services: Services = opened.services): Promise<string> {
  const model = findModel(modelsOf(services.config), held.job.model ?? "");
  if (!model) throw new Error("the model is gone");
  try {
    const next = await nextHop(services, { ...held, model, keys: names.map(keyOf) });
    return next.kind === "call" ? next.offer.provider : next.kind;
  } catch (error) {
    if (error instanceof Error && "code" in error) return String(error.code);
    throw error;
  }
}

const spendOf = async (id: string) => {
  const { spentUsd, reservedUsd } = await readApiKey(opened.services, id);
  return [spentUsd, reservedUsd].map((usd) => Math.round(usd * 100) / 100);
};
const end = (change: object) =>
  opened.services.db.update(providerAttempts).set({ ...change, endedAt: sql`now()` });

test("of 20 jobs of a key at once in two processes exactly the five are bought that its cap allows", async () => {
  const id = await makeKey(5 * priceUsd);
  const another = await opened.openAnother();
  const other = { ...another, config: opened.services.config };
  const held = await Promise.all(Array.from({ length: 20 }, () => holdJob(id)));
  const ends = await Promise.all(held.map((one, at) => hop(one, at % 2 ? opened.services : other)));
  expect(ends.filter((end) => end === "fal")).toHaveLength(5);
  expect(ends.filter((end) => end === "budget_exceeded")).toHaveLength(15);
  expect(await opened.services.db.$count(providerAttempts, eq(providerAttempts.apiKeyId, id))).toBe(5);
  expect(await spendOf(id)).toEqual([0, 0.5]);
});

test("what was not charged is free again, what was stays spent, and the next provider of a job counts once", async () => {
  const { services } = opened;
  const id = await makeKey(2 * priceUsd);
  const first = await holdJob(id);
  expect(await hop(first)).toBe("fal");
  const [attempt] = await services.db.select().from(providerAttempts);
  if (!attempt) throw new Error("no attempt was stored");
  await endCall(
    services,
    { lease: first.lease, attempt },
    { as: "refused", error: new ProviderError("auth", "refused"), costUsd: null },
  );
  expect(await hop(first)).toBe("replicate");
  expect(await spendOf(id)).toEqual([0, 0.1]);
  expect(await hop(await holdJob(id))).not.toBe("budget_exceeded");
  expect(await hop(await holdJob(id))).toBe("budget_exceeded");
  await end({ state: "succeeded", costUsd: 0.05 });
  expect(await spendOf(id)).toEqual([0.15, 0]);
  expect(await hop(await holdJob(id))).toBe("budget_exceeded");
});

test("a key binds only its own jobs, what is free always runs, and a lower cap holds at once", async () => {
  const id = await makeKey(1);
  expect(await hop(await holdJob(id))).toBe("fal");
  await setKeyCap(opened.services, { userId: owner.userId, id, cap: { usd: 0.05, period: "day" } });
  expect(await hop(await holdJob(id))).toBe("budget_exceeded");
  expect(await hop(await holdJob(id, "gift"))).toBe("fal");
  expect(await hop(await holdJob(null))).toBe("fal");
  expect(await hop(await holdJob(await makeKey(1)))).toBe("fal");
  await setKeyCap(opened.services, { userId: owner.userId, id, cap: null });
  expect(await hop(await holdJob(id))).toBe("fal");
});

test("a revoked key still binds the jobs that wait, and what it spent stays known", async () => {
  const id = await makeKey(priceUsd);
  const [first, second] = [await holdJob(id), await holdJob(id)];
  await revokeApiKey(opened.services, { userId: owner.userId, id });
  expect([await hop(first), await hop(second)]).toEqual(["fal", "budget_exceeded"]);
  expect(await opened.services.db.$count(providerAttempts, eq(providerAttempts.apiKeyId, id))).toBe(1);
});

test("a cap of a period counts that period, one of all time also days that were added up and dropped", async () => {
  const { services } = opened;
  const ids = [await makeKey(priceUsd, "day"), await makeKey(priceUsd, "never")];
  for (const id of ids) expect(await hop(await holdJob(id))).toBe("fal");
  await end({ state: "succeeded", costUsd: priceUsd, createdAt: sql`now() - interval '26 hours'` });
  await sumPastDays(services);
  await services.db.delete(providerAttempts);
  const tries = [];
  for (const id of ids) tries.push(await hop(await holdJob(id)));
  expect(tries).toEqual(["fal", "budget_exceeded"]);
  const [daily, never] = await Promise.all(ids.map((id) => readApiKey(services, id)));
  expect(daily).toMatchObject({ cap: { usd: priceUsd, period: "day" }, spentUsd: 0, reservedUsd: priceUsd });
  expect(never).toMatchObject({ spentUsd: priceUsd, reservedUsd: 0, resetsAt: null });
  expect(daily?.resetsAt).toMatch(/T00:00:00Z$/);
});

test("a reservation whose worker died is held until the run is known, and free again when it never was", async () => {
  const id = await makeKey(priceUsd);
  expect(await hop(await holdJob(id))).toBe("fal");
  await opened.services.db.update(providerAttempts).set({ state: "unknown" });
  expect(await hop(await holdJob(id))).toBe("budget_exceeded");
  await end({ state: "failed", errorClass: "unsent", costUsd: 0 });
  expect(await spendOf(id)).toEqual([0, 0]);
  expect(await hop(await holdJob(id))).toBe("fal");
});

test("a cap of all time counts each day, also those that were added up long after, as after a stop of the studio", async () => {
  const { services } = opened;
  const { studio } = schema;
  const daysAgo = (days: number) =>
    sql`(date_trunc('day', now() at time zone 'utc') - make_interval(days => ${days})) at time zone 'utc'`;
  // The days were never added up yet, or up to that of the stop.
  for (const spendSummedUntil of [null, daysAgo(40)]) {
    const id = await makeKey(priceUsd, "never");
    await services.db.update(studio).set({ spendSummedUntil });
    expect(await hop(await holdJob(id))).toBe("fal");
    await end({ state: "succeeded", costUsd: priceUsd, createdAt: sql`${daysAgo(40)} + interval '1 hour'` });
    await sumPastDays(services);
    expect(await spendOf(id)).toEqual([priceUsd, 0]);
    expect(await hop(await holdJob(id))).toBe("budget_exceeded");
    await services.db.delete(providerAttempts);
  }
});
