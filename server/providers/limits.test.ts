import { sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { addOwner, type TestOwner } from "@atelier/testing/jobs";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { newId } from "../platform/index.ts";
import type { Services } from "../services.ts";
import type { ProviderKey } from "./access.ts";
import { reserve } from "./attempts.ts";
import { cooldownLeftMs, judgeKey, type KeyLoad, type KeyLoadRow, loadsOf, rowsOfKeys } from "./load.ts";
import { readSpend } from "./spend.ts";

const limits = { maxConcurrent: 3, rpm: 5 };
let opened: TestServices;
let owner: TestOwner;
beforeAll(async () => {
  const cloud = {
    providers: { fal: limits },
    caps: { userDailyUsd: 1, userMonthlyUsd: null, studioDailyUsd: null, studioMonthlyUsd: null },
  };
  opened = await createTestServices({ config: { cloud } });
  owner = await addOwner(opened.services);
});
afterAll(() => opened.close());
beforeEach(() => opened.services.db.execute(sql`delete from provider_attempts`));

const access = { name: "fal", baseUrl: "http://127.0.0.1:9", apiKey: "k", webhookSecret: null } as const;
const keyOf = (keyId: string): ProviderKey => ({ provider: "fal", keyId, access });
const offer = (priceUsd: number) => ({ provider: "fal", endpoint: "e", input: {}, priceUsd }) as const;

/** The load of key `a`, which every test here uses. */
async function readLoad(): Promise<KeyLoad | undefined> {
  const { db, config } = opened.services;
  const wanted = rowsOfKeys([{ provider: "fal", keyId: "a" }]);
  const [load] = await db.execute<KeyLoadRow & Record<string, unknown>>(loadsOf(wanted, config));
  return load;
}

/** As a worker does at each hop: the name of the key that was taken, why there was none, or the error's code. */
async function take(
  keys: readonly string[],
  priceUsd = 0,
  { db, config }: Pick<Services, "db" | "config"> = opened.services,
): Promise<string> {
  const reservation = {
    jobId: newId(),
    ownerId: owner.userId,
    nodeId: newId(),
    model: "m",
    offer: offer(priceUsd),
    keys: keys.map(keyOf),
  };
  try {
    const reserved = await db.transaction(async (tx) => {
      // The attempt's job is not what is tested here.
      await tx.execute(sql`set local session_replication_role = replica`);
      return reserve(tx, config, reservation);
    });
    return "busy" in reserved ? reserved.busy.why : reserved.key.keyId;
  } catch (error) {
    if (error instanceof Error && "code" in error) return String(error.code);
    throw error;
  }
}

const end = (change: string) => opened.services.db.execute(`update provider_attempts set ${change}`);
const count = async (answers: Promise<string>[], wanted: string) =>
  (await Promise.all(answers)).filter((answer) => answer === wanted).length;

test("E3 the last run that a limit allows is made, and the next one waits until one has ended", async () => {
  expect([await take(["a"]), await take(["a"]), await take(["a"]), await take(["a"])]).toEqual([
    "a",
    "a",
    "a",
    "busy",
  ]);
  await end("state = 'succeeded', ended_at = now()");
  expect(await take(["a"])).toBe("a");
});

test("E3 the last request of a minute is made, and the next one once the oldest is a minute old", async () => {
  for (let number = 0; number < limits.rpm; number += 1) {
    expect(await take(["a"])).toBe("a");
    await end("state = 'succeeded', ended_at = now()");
  }
  expect(await take(["a"])).toBe("rate");
  await end("created_at = created_at - interval '61 seconds'");
  expect(await take(["a"])).toBe("a");
});

test("E4 several keys have a rate each, and are used in turn", async () => {
  const taken: string[] = [];
  for (let number = 0; number < 2 * limits.maxConcurrent; number += 1) taken.push(await take(["a", "b"]));
  expect(taken.toSorted()).toEqual(["a", "a", "a", "b", "b", "b"]);
  expect(await take(["a", "b"])).toBe("busy");
  expect(await take(["a", "b", "c"])).toBe("c");
});

test("E3 of 30 callers at once as many get a run as the limit allows", async () => {
  const callers = Array.from({ length: 30 }, () => take(["a"]));
  expect(await count(callers, "a")).toBe(limits.maxConcurrent);
});

test("of 30 callers at once none exceeds a cap: the last cent is spent, and no more", async () => {
  const callers = Array.from({ length: 30 }, (_, at) => take([`key-${at}`], 0.25));
  expect(await count(callers, "budget_exceeded")).toBe(26);
  const { db, config } = opened.services;
  expect(await readSpend(db, config, owner.userId)).toEqual({ dayUsd: 1, monthUsd: 1 });
  // What was not charged is free again.
  await end(
    "state = 'failed', error_class = 'transient', cost_usd = 0, ended_at = now() - interval '1 hour'",
  );
  expect(await take(["other"], 1)).toBe("other");
  expect(await take(["another"], 0.01)).toBe("budget_exceeded");
});

const steps = [10, 30, 60, 120];
const idle: KeyLoad = {
  active: 0,
  inLastMinute: 0,
  oldestMs: null,
  streak: 0,
  lastFailureMs: null,
  retryAfterMs: null,
  lastErrorClass: null,
};

test("E4 a pause grows with the failures in a row, and the provider's own wish wins", () => {
  const left = (change: Partial<KeyLoad>) => cooldownLeftMs({ ...idle, lastFailureMs: 0, ...change }, steps);
  expect([1, 2, 3, 4, 9].map((streak) => left({ streak }))).toEqual([
    10_000, 30_000, 60_000, 120_000, 120_000,
  ]);
  expect(left({ streak: 1, lastFailureMs: 9_999 })).toBe(1);
  expect(left({ streak: 1, lastFailureMs: 10_000 })).toBe(0);
  expect(left({ streak: 4, retryAfterMs: 500 })).toBe(500);
  expect(left({ streak: 1, retryAfterMs: 90_000 })).toBe(90_000);
  const { cloud } = opened.services.config;
  const load = { ...idle, streak: 1, lastFailureMs: 0, active: 9 };
  expect(judgeKey(load, limits, cloud)).toMatchObject({ why: "cooldown" });
});

test("E4 a success ends a streak, the job's own faults are none, and 600 s forget it", async () => {
  const { db } = opened.services;
  const streak = async () => (await readLoad())?.streak;
  await take(["a"]);
  await end("state = 'failed', error_class = 'input', ended_at = now()");
  expect(await streak()).toBe(0);
  await end("error_class = 'transient'");
  expect(await streak()).toBe(1);
  // With room for a test that stands still.
  await end("ended_at = now() - interval '570 seconds'");
  expect(await streak()).toBe(1);
  await end("ended_at = now() - interval '601 seconds'");
  expect(await streak()).toBe(0);
  await end("ended_at = now() - interval '20 seconds'");
  await take(["a"]);
  await db.execute(
    sql`update provider_attempts set state = 'succeeded', ended_at = now() where state = 'submitting'`,
  );
  expect(await streak()).toBe(0);
});

test("E4 a wait that the provider asked for outlasts the 600 s: the quota of a day, at least for an hour", async () => {
  await take(["a"]);
  const fail = (ageS: number) =>
    end(`state = 'failed', error_class = 'rate', retry_after_ms = 3600000,
      created_at = now() - interval '${ageS} seconds', ended_at = now() - interval '${ageS} seconds'`);
  await fail(599);
  expect(await take(["a"])).toBe("cooldown");
  await fail(601);
  expect(await take(["a"])).toBe("cooldown");
  await fail(3_590);
  expect(await take(["a"])).toBe("cooldown");
  const load = await readLoad();
  expect(load).toMatchObject({ streak: 1, retryAfterMs: 3_600_000, lastErrorClass: "rate" });
  await fail(3_601);
  expect(await take(["a"])).toBe("a");
});

test("E4 a success ends also a long wait, whenever it came", async () => {
  const { db } = opened.services;
  await take(["a"]);
  await take(["a"]);
  await end(`state = 'failed', error_class = 'rate', retry_after_ms = 3600000,
    created_at = now() - interval '2000 seconds', ended_at = now() - interval '2000 seconds'`);
  expect(await take(["a"])).toBe("cooldown");
  await db.execute(sql`update provider_attempts set state = 'succeeded', error_class = null, retry_after_ms = null,
    ended_at = now() - interval '1000 seconds' where id = (select id from provider_attempts limit 1)`);
  expect(await take(["a"])).toBe("a");
});

test("R6 a lost answer counts as a failure from the moment when it is noted, a dead caller and a request that never arrived do not", async () => {
  const { db, config } = opened.services;
  await take(["a"]);
  const noted = `deadline_at = now() + interval '${config.cloud.reconcileS - 4} seconds'`;
  await end(`state = 'unknown', ${noted}`);
  expect(await readLoad()).toMatchObject({ streak: 0, lastFailureMs: null });
  await end("error_message = 'The answer of the provider did not come.'");
  const lost = await readLoad();
  expect(lost).toMatchObject({ streak: 1, lastErrorClass: "lost" });
  expect(Math.round((lost?.lastFailureMs ?? 0) / 1_000)).toBeGreaterThanOrEqual(4);
  // A first pause that a test that stands still does not outlast.
  const patient = { db, config: { ...config, cloud: { ...config.cloud, cooldownS: [600] } } };
  expect(await take(["a"], 0, patient)).toBe("cooldown");
  await end("state = 'accepted', error_message = null");
  expect(await readLoad()).toMatchObject({ streak: 0 });
  await end("state = 'failed', error_class = 'unsent', ended_at = now()");
  expect(await readLoad()).toMatchObject({ streak: 0 });
});
