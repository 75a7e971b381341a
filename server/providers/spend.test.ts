import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { addOwner, type TestOwner } from "@atelier/testing/jobs";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { schema } from "../db/index.ts";
import { newId, parseConfig } from "../platform/index.ts";
import type { AttemptState } from "../db/index.ts";
import { findModel, modelsOf } from "./models.ts";
import { checkCaps } from "./key-caps.ts";
import { isWithinUsd, readOwnCaps, readSpend, setCaps, sumPastDays } from "./spend.ts";

const { dailySpend, modelCalls, providerAttempts, studio } = schema;
let opened: TestServices;
let owner: TestOwner;
let other: TestOwner;
beforeAll(async () => {
  opened = await createTestServices();
  [owner, other] = await Promise.all([addOwner(opened.services), addOwner(opened.services)]);
});
afterAll(() => opened.close());
beforeEach(async () => {
  const { db } = opened.services;
  for (const table of [dailySpend, providerAttempts, modelCalls]) await db.delete(table);
  await db.update(studio).set({ spendSummedUntil: null });
});

test("an account without an invitation spends nothing until an admin gives it limits; an admin is no such account", async () => {
  const { db, config } = opened.services;
  const stranger = await addOwner(opened.services);
  const buy = (priceUsd: number) => checkCaps(db, config, { ownerId: stranger.userId, priceUsd });
  const mark = (change: object) =>
    db.update(schema.users).set(change).where(eq(schema.users.id, stranger.userId));
  await buy(1);
  await mark({ selfMade: true });
  await expect(buy(0.001)).rejects.toMatchObject({
    code: "budget_exceeded",
    message: expect.stringContaining("made without an invitation"),
  });
  // What costs nothing is no matter of limits.
  await buy(0);
  expect(await readOwnCaps(db, stranger.userId)).toMatchObject({ dailyUsd: 0, isUninvited: true });
  await mark({ role: "admin" });
  await buy(1);
  await mark({ role: "user" });
  await setCaps(db, stranger.userId, { dailyUsd: 0.5, monthlyUsd: null });
  await buy(0.4);
  await expect(buy(0.6)).rejects.toMatchObject({ message: expect.stringMatching(/^Your daily limit/) });
  // Empty limits of an admin's hand are the studio's.
  await setCaps(db, stranger.userId, { dailyUsd: null, monthlyUsd: null });
  await buy(1);
});

test("the operator's own prices win over the list, for a model or one of its providers; a wrong name is a fault", () => {
  const priceOf = (prices: object) => {
    const model = findModel(modelsOf(parseConfig({ cloud: { prices } })), "nano-banana");
    return model?.offers.map(({ provider, priceUsd }) => [provider, priceUsd]);
  };
  const list = priceOf({});
  expect(list).toContainEqual(["fal", null]);
  expect(priceOf({ "nano-banana": 0.02 })).toEqual(list?.map(([provider]) => [provider, 0.02]));
  expect(priceOf({ "nano-banana": { fal: 0 } })).toEqual(
    list?.map(([provider, priceUsd]) => [provider, provider === "fal" ? 0 : priceUsd]),
  );
  expect(() => priceOf({ "nano-bannana": 1 })).toThrow(/nano-bannana.*not there/s);
  expect(() => priceOf({ "nano-banana": { kie: 1 } })).toThrow(/does not offer/);
});

test.each([
  [0.1 + 0.2, 0.3, true],
  [0.300_000_9, 0.3, true],
  [0.300_001_1, 0.3, false],
  [0, 0, true],
  [0.000_01, 0, false],
])("a sum of %d is within a bound of %d: %s", (sum, bound, isWithin) => {
  expect(isWithinUsd(sum, bound)).toBe(isWithin);
});

test("a reached cap states no price that nobody knows", async () => {
  const { db, config } = opened.services;
  await setCaps(db, other.userId, { dailyUsd: 0.01, monthlyUsd: null });
  const refusal = checkCaps(db, config, { ownerId: other.userId, priceUsd: null });
  await expect(refusal).rejects.toMatchObject({
    message: expect.stringMatching(/its price is not known\.$/),
  });
  await setCaps(db, other.userId, { dailyUsd: null, monthlyUsd: null });
});

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** Days are summed an hour after their end. */
const settledMs = hourMs;
/** Noon (UTC), so many days before today; before yesterday in the first hour after midnight. */
const noon = (daysAgo: number) =>
  new Date(Math.floor((Date.now() - settledMs) / dayMs) * dayMs - daysAgo * dayMs + 12 * hourMs);
const dayOf = (daysAgo: number) => noon(daysAgo).toISOString().slice(0, 10);

interface Spent {
  readonly by?: TestOwner;
  readonly state?: AttemptState;
  readonly costUsd?: number | null;
}

async function addAttempt(
  daysAgo: number,
  priceUsd: number,
  { by = owner, state = "succeeded", costUsd = null }: Spent = {},
): Promise<string> {
  const id = newId();
  const createdAt = daysAgo === 0 ? new Date() : noon(daysAgo);
  const names = { provider: "fal", keyId: "a", model: "m", endpoint: "e", token: id };
  await opened.services.db
    .insert(providerAttempts)
    .values({ id, ownerId: by.userId, state, priceUsd, costUsd, createdAt, ...names });
  return id;
}

async function addModelCall(daysAgo: number, expectedUsd: number) {
  const call = { id: newId(), ownerId: owner.userId, stage: "responder" as const, try: 1, model: "openai/x" };
  await opened.services.db.insert(modelCalls).values({ ...call, expectedUsd, startedAt: noon(daysAgo) });
}

const sums = async () => {
  const rows = await opened.services.db.select().from(dailySpend).orderBy(dailySpend.day, dailySpend.usd);
  return rows.map(({ day, ownerId, usd }) => [day, ownerId, usd]);
};
const spends = async () => {
  const { db, config } = opened.services;
  return Promise.all([owner.userId, other.userId, null].map((id) => readSpend(db, config, id)));
};

test("E4 past days are summed once for each user, by however many workers, and no spend changes by it", async () => {
  await addAttempt(0, 8);
  await addAttempt(1, 1);
  await addAttempt(1, 2, { costUsd: 0.5 });
  await addAttempt(1, 4, { by: other });
  await addAttempt(1, 64, { state: "failed", costUsd: 0 });
  await addModelCall(2, 0.25);
  await addAttempt(2, 16);
  const before = await spends();
  expect(before[0]?.dayUsd).toBe(8);
  const another = await opened.openAnother();
  await Promise.all([1, 2, 3, 4].map((worker) => sumPastDays(worker % 2 ? opened.services : another)));
  await sumPastDays(opened.services);
  expect(await sums()).toEqual([
    [dayOf(2), owner.userId, 16.25],
    [dayOf(1), owner.userId, 1.5],
    [dayOf(1), other.userId, 4],
  ]);
  expect(await spends()).toEqual(before);
  // What came after the sums counts as before.
  await addAttempt(0, 8);
  expect((await spends())[0]?.dayUsd).toBe(16);
});

test("E4 a day with a request that has not ended is not summed, nor are the days after it", async () => {
  await addAttempt(3, 1);
  const open = await addAttempt(2, 2, { state: "unknown" });
  await addAttempt(1, 4);
  const before = await spends();
  await sumPastDays(opened.services);
  expect(await sums()).toEqual([[dayOf(3), owner.userId, 1]]);
  expect(await spends()).toEqual(before);
  await opened.services.db.execute(
    sql`update provider_attempts set state = 'failed', error_class = 'timeout', cost_usd = 0, ended_at = now() where id = ${open}`,
  );
  await sumPastDays(opened.services);
  expect(await sums()).toEqual([
    [dayOf(3), owner.userId, 1],
    [dayOf(1), owner.userId, 4],
  ]);
});

test("E4 a monthly cap counts what is summed", async () => {
  const { db, config } = opened.services;
  const { caps } = config.cloud;
  const ofMonth = { ...caps, studioDailyUsd: null, userDailyUsd: null, userMonthlyUsd: 50 };
  const cloud = { ...config.cloud, caps: ofMonth };
  const check = (priceUsd: number) => checkCaps(db, { cloud }, { ownerId: owner.userId, priceUsd });
  // Yesterday may have been another month: what counts of it is read before.
  await addAttempt(1, 49);
  const left = 50 - ((await spends())[0]?.monthUsd ?? 0);
  await sumPastDays(opened.services);
  expect(await sums()).toEqual([[dayOf(1), owner.userId, 49]]);
  await check(left);
  await expect(check(left + 0.01)).rejects.toMatchObject({ code: "budget_exceeded" });
});
