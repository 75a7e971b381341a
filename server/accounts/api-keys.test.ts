import { createTestServices, inOneMinute, openAccount, type TestServices } from "@atelier/testing/services";
import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { schema } from "../db/index.ts";
import { newId } from "../platform/index.ts";
import { countTry } from "./permits.ts";
import {
  createApiKey,
  keyRights,
  listApiKeys,
  resolveCaller,
  revokeApiKey,
  setKeyCap,
  takePermitOf,
} from "./index.ts";

const perMinute = 40;
let fixture: TestServices;
let userId: string;

beforeAll(async () => {
  fixture = await createTestServices({
    config: { limits: { apiKeyPerMinute: perMinute, sessionWritesPerMinute: perMinute } },
  });
  const account = await openAccount(fixture.services, "keys@example.com");
  userId = (await resolveCaller(fixture.services, account.headers))?.userId ?? "";
});
afterAll(() => fixture.close());

const bearer = (key: string) => new Headers({ authorization: `Bearer ${key}` });

test("S9 the key stands nowhere in the database", async () => {
  const { services } = fixture;
  const { key } = await createApiKey(services, { userId, name: "canary" });
  expect(key).toMatch(/^atelier_[A-Za-z]{48}$/);
  await resolveCaller(services, bearer(key));
  const tables = await services.db.execute<{ name: string }>(sql`
    select format('%I.%I', table_schema, table_name) as name from information_schema.tables
    where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`);
  expect(tables.length).toBeGreaterThan(10);
  const leaks: string[] = [];
  for (const { name } of tables) {
    const rows = await services.db.execute(
      sql`select 1 from ${sql.raw(name)} as t where t::text like ${`%${key.slice("atelier_".length)}%`}`,
    );
    if (rows.length > 0) leaks.push(name);
  }
  expect(leaks).toEqual([]);
});

test("S1 a caller who was signed out, or whose key was revoked, during the request makes no key", async () => {
  const { services } = fixture;
  const browser = await openAccount(services, "late-maker@example.com");
  const caller = await resolveCaller(services, browser.headers);
  const owner = caller?.userId ?? "";
  const revoked = await createApiKey(services, { userId: owner, name: "revoked" });
  const byKey = await resolveCaller(services, bearer(revoked.key));
  await revokeApiKey(services, { userId: owner, id: revoked.id });
  await services.db.delete(schema.sessions).where(eq(schema.sessions.userId, owner));
  for (const maker of [caller, byKey]) {
    if (!maker) throw new Error("nobody called");
    await expect(createApiKey(services, { userId: owner, name: "late", maker })).rejects.toMatchObject({
      code: "unauthorized",
    });
  }
  expect(await listApiKeys(services, { userId: owner })).toEqual([]);
});

test("a key calls for its owner and is over at once when revoked or disabled", async () => {
  const { services } = fixture;
  const made = await createApiKey(services, { userId, name: "revoked" });
  expect(await resolveCaller(services, bearer(made.key))).toMatchObject({
    userId,
    via: "api_key",
    isGuest: false,
  });
  await revokeApiKey(services, { userId, id: made.id });
  expect(await resolveCaller(services, bearer(made.key))).toBeNull();
  const other = await createApiKey(services, { userId, name: "expired" });
  await services.db
    .update(schema.apiKeys)
    .set({ expiresAt: new Date(Date.now() - 1_000) })
    .where(eq(schema.apiKeys.id, other.id));
  expect(await resolveCaller(services, bearer(other.key))).toBeNull();
});

test("the list shows when a key was last used and never the key", async () => {
  const { services } = fixture;
  const made = await createApiKey(services, { userId, name: "listed" });
  const before = (await listApiKeys(services, { userId })).find(({ id }) => id === made.id);
  expect(before).toMatchObject({ name: "listed", start: made.key.slice(0, 12), lastUsedAt: null });
  await resolveCaller(services, bearer(made.key));
  const after = (await listApiKeys(services, { userId })).find(({ id }) => id === made.id);
  expect(after?.lastUsedAt).not.toBeNull();
});

test("a key with chosen rights has those, an admin's only as long as its owner is one", async () => {
  const { services } = fixture;
  const { key } = await createApiKey(services, {
    userId,
    name: "chosen",
    rights: ["read", "admin", "metrics"],
  });
  const rights = async () => [...((await resolveCaller(services, bearer(key)))?.rights ?? ["all"])];
  expect(await rights()).toEqual(["read"]);
  const setRole = (role: string) =>
    services.db.update(schema.users).set({ role }).where(eq(schema.users.id, userId));
  await setRole("admin");
  expect(await rights()).toEqual(["read", "admin", "metrics"]);
  const looking = await createApiKey(services, { userId, name: "looking", rights: ["read"] });
  expect(await resolveCaller(services, bearer(looking.key))).toMatchObject({ isAdmin: false });
  await setRole("user");
  const whole = await createApiKey(services, { userId, name: "whole", rights: [...keyRights] });
  expect((await resolveCaller(services, bearer(whole.key)))?.rights).toBeUndefined();
  const view = (await listApiKeys(services, { userId })).find(({ name }) => name === "chosen");
  expect(view).toMatchObject({ rights: ["read", "admin", "metrics"], endsAt: null });
});

test("a key with a cap counts as one with chosen rights, whose cap its owner alone changes", async () => {
  const { services } = fixture;
  const cap = { usd: 5, period: "month" } as const;
  const { id, key } = await createApiKey(services, { userId, name: "capped", cap });
  const caller = await resolveCaller(services, bearer(key));
  expect([...(caller?.rights ?? [])]).toEqual(["read", "create", "spend"]);
  await expect(setKeyCap(services, { userId: "another", id, cap: null })).rejects.toMatchObject({
    code: "not_found",
  });
  expect((await listApiKeys(services, { userId }))[0]).toMatchObject({ cap, spentUsd: 0, reservedUsd: 0 });
  await setKeyCap(services, { userId, id, cap: null });
  expect((await resolveCaller(services, bearer(key)))?.rights).toBeUndefined();
  await revokeApiKey(services, { userId, id });
});

test.each(["", "{", "[]", "null", '{"atelier":"read"}', '{"other":["read"]}'])(
  "rights that cannot be read are none: %s",
  async (permissions) => {
    const { services } = fixture;
    const { id, key } = await createApiKey(services, { userId, name: "broken", rights: ["read"] });
    await services.db.update(schema.apiKeys).set({ permissions }).where(eq(schema.apiKeys.id, id));
    expect([...((await resolveCaller(services, bearer(key)))?.rights ?? ["all"])]).toEqual([]);
    await revokeApiKey(services, { userId, id });
  },
);

test("a key ends by itself after the days that were chosen", async () => {
  const { services } = fixture;
  const { id, key } = await createApiKey(services, { userId, name: "ends", days: 7 });
  const view = (await listApiKeys(services, { userId })).find((each) => each.id === id);
  const days = (Date.parse(view?.endsAt ?? "") - Date.now()) / 86_400_000;
  expect(days).toBeGreaterThan(6.99);
  expect(days).toBeLessThanOrEqual(7);
  expect(await resolveCaller(services, bearer(key))).not.toBeNull();
  const past = sql`now() - interval '1 second'`;
  await services.db.update(schema.apiKeys).set({ expiresAt: past }).where(eq(schema.apiKeys.id, id));
  expect(await resolveCaller(services, bearer(key))).toBeNull();
});

/** A user with a minute of their own. */
async function addKeyHolder(email: string): Promise<string> {
  const { headers } = await openAccount(fixture.services, email);
  return (await resolveCaller(fixture.services, headers))?.userId ?? "";
}

test.each([
  ["one key", 1],
  ["three keys of one user", 3],
])("two processes together let exactly the configured number of %s through in a minute", async (_, keys) => {
  const { services } = fixture;
  const another = await fixture.openAnother();
  const other = { ...another, config: services.config };
  const results = await inOneMinute(services, async () => {
    const userId = await addKeyHolder(`busy-${newId()}@example.com`);
    const names = Array.from({ length: keys }, (_, at) => `busy ${at}`);
    const own = await Promise.all(names.map((name) => createApiKey(services, { userId, name })));
    const calls = Array.from({ length: perMinute * 3 }, (_, index) =>
      resolveCaller(index % 2 ? services : other, bearer(own[index % keys]?.key ?? "")),
    );
    return Promise.allSettled(calls);
  });
  expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(perMinute);
  const refused = results.flatMap((result) => (result.status === "rejected" ? [result.reason] : []));
  expect(new Set(refused.map((error: { code: string }) => error.code))).toEqual(new Set(["rate_limited"]));
});

test("a program that asks without end leaves the keys beside it their share of the minute", async () => {
  const { services } = fixture;
  const another = await fixture.openAnother();
  const other = { ...another, config: services.config };
  const counts = await inOneMinute(services, async () => {
    const userId = await addKeyHolder(`runaway-${newId()}@example.com`);
    const [first, second, third, idle] = await Promise.all(
      ["runaway", "second", "third", "idle"].map((name) => createApiKey(services, { userId, name })),
    );
    // Not used for long, so that nothing is kept for it.
    const before = { createdAt: sql`now() - interval '3 days'`, lastRequest: sql`now() - interval '2 days'` };
    await services.db
      .update(schema.apiKeys)
      .set(before)
      .where(eq(schema.apiKeys.id, idle?.id ?? ""));
    const through = async (key = "", calls = perMinute) => {
      const asked = Array.from({ length: calls }, (_, at) =>
        resolveCaller(at % 2 ? services : other, bearer(key)),
      );
      return (await Promise.allSettled(asked)).filter(({ status }) => status === "fulfilled").length;
    };
    const runaway = await through(first?.key, perMinute * 3);
    return [runaway, await through(second?.key), await through(third?.key)];
  });
  // Half of all is for three keys, as far as it can be divided; what is left has who asked first.
  expect(counts).toEqual([perMinute - 2 * 6, 6, 6]);
});

test("fresh keys one after another ask no more than all keys of a user may", async () => {
  const { services } = fixture;
  const through = await inOneMinute(services, async () => {
    const holder = await addKeyHolder(`fresh-${newId()}@example.com`);
    let count = 0;
    for (let each = 0; each < 4; each += 1) {
      const { id, key } = await createApiKey(services, { userId: holder, name: `fresh ${each}` });
      const asked = Array.from({ length: perMinute }, () => resolveCaller(services, bearer(key)));
      count += (await Promise.allSettled(asked)).filter(({ status }) => status === "fulfilled").length;
      await revokeApiKey(services, { userId: holder, id });
    }
    return count;
  });
  expect(through).toBe(perMinute);
});

test("a quiet key has its share in each process, beside a key that asks without end", async () => {
  const { services } = fixture;
  const limits = { ...services.config.limits, apiKeyPerMinute: 200 };
  const first = { ...services, config: { ...services.config, limits } };
  const second = { ...(await fixture.openAnother()), config: first.config };
  const outcomes = await inOneMinute(services, async () => {
    const holder = await addKeyHolder(`quiet-${newId()}@example.com`);
    const keys: string[] = [];
    for (let each = 0; each < 10; each += 1)
      keys.push((await createApiKey(services, { userId: holder, name: `key ${each}` })).key);
    const [flooding = "", quiet = ""] = keys;
    await Promise.allSettled(Array.from({ length: 300 }, () => resolveCaller(first, bearer(flooding))));
    const turns = [first, second, first, second].map((of) => () => resolveCaller(of, bearer(quiet)));
    const seen: boolean[] = [];
    for (const turn of turns)
      seen.push(
        await turn().then(
          () => true,
          () => false,
        ),
      );
    return seen;
  });
  expect(outcomes).toEqual([true, true, true, true]);
});

test("checking a key writes its row far less often than once per request", async () => {
  const { services } = fixture;
  const quick = {
    ...services,
    config: { ...services.config, limits: { ...services.config.limits, apiKeyPerMinute: 600 } },
  };
  const userId = await addKeyHolder("reader@example.com");
  const { key, id } = await createApiKey(services, { userId, name: "reader" });
  const version = async () => {
    const rows = await services.db.execute<{ xmin: string }>(
      sql`select xmin::text as xmin from api_keys where id = ${id}`,
    );
    return rows[0]?.xmin;
  };
  const [first, last] = await inOneMinute(services, async () => {
    // Without what a minute before has left of its block.
    const fresh = { ...quick };
    await resolveCaller(fresh, bearer(key));
    const afterFirst = await version();
    for (let index = 1; index < 30; index += 1) await resolveCaller(fresh, bearer(key));
    return [afterFirst, await version()];
  });
  expect(first).toEqual(expect.any(String));
  expect(last).toBe(first);
});

test("two processes together let exactly the configured number of a user's writes through in a minute", async () => {
  const { services } = fixture;
  const another = await fixture.openAnother();
  const taken = await inOneMinute(services, () => {
    const writer = newId();
    const asked = Array.from({ length: perMinute * 2 }, (_, index) =>
      takePermitOf(index % 2 ? services : another, "writes", writer),
    );
    return Promise.all(asked);
  });
  expect(taken.filter(Boolean)).toHaveLength(perMinute);
  expect(await takePermitOf(services, "writes", "another user")).toBe(true);
});

test("S1 after a clock that was hours ahead is set back, neither a key nor a sign-in waits for those hours", async () => {
  const { services } = fixture;
  const { db } = services;
  const { id, key } = await createApiKey(services, { userId, name: "ahead" });
  const ahead = { requestCount: perMinute, lastRequest: sql`now() + interval '5 hours'` };
  await db.update(schema.apiKeys).set(ahead).where(eq(schema.apiKeys.id, id));
  expect(await resolveCaller(services, bearer(key))).not.toBeNull();
  const limit = { windowMs: 60_000, max: 2 };
  const count = (name: string, aheadMs: number) =>
    db
      .insert(schema.rateLimits)
      .values({ id: name, key: name, count: 3, lastRequest: Date.now() + aheadMs })
      .then(() => countTry(db, name, limit));
  expect(await count("five hours", 5 * 3_600_000)).toBe(true);
  expect(await count("four years", 4 * 365 * 86_400_000)).toBe(true);
  // Within the window the count goes on: a clock may be some seconds off.
  expect(await count("some seconds", 5_000)).toBe(false);
  expect(await count("an older try", -30_000)).toBe(false);
});

test("a key with a rate of its own is refused above it, in two processes together, and others are not", async () => {
  const { services } = fixture;
  const { userId } = (await resolveCaller(
    services,
    (await openAccount(services, "rated@example.com")).headers,
  )) ?? { userId: "" };
  const another = await fixture.openAnother();
  const answers = await inOneMinute(services, async () => {
    await services.db.delete(schema.apiKeys).where(eq(schema.apiKeys.referenceId, userId));
    const { key } = await createApiKey(services, { userId, name: "slow", perMinute: 5 });
    const asked = Array.from({ length: 12 }, (_, at) =>
      resolveCaller(at % 2 === 0 ? services : another, bearer(key)).then(
        () => "taken",
        (error: { code: string }) => error.code,
      ),
    );
    return Promise.all(asked);
  });
  const usual = await createApiKey(services, { userId, name: "usual" });
  expect(answers.filter((answer) => answer === "taken")).toHaveLength(5);
  expect(answers.filter((answer) => answer === "rate_limited")).toHaveLength(7);
  expect(await resolveCaller(services, bearer(usual.key))).not.toBeNull();
  expect(await listApiKeys(services, { userId })).toMatchObject([{ perMinute: null }, { perMinute: 5 }]);
});

test("of many keys at once a user gets as many as a user may have", async () => {
  const { services } = fixture;
  const holder = await addKeyHolder(`many-${newId()}@example.com`);
  const another = await fixture.openAnother();
  const make = (at: number) =>
    createApiKey(at % 2 ? services : another, { userId: holder, name: `key ${at}` });
  for (let at = 0; at < 45; at += 1) await make(at);
  const ends = await Promise.allSettled(Array.from({ length: 20 }, (_, at) => make(at)));
  const made = ends.filter(({ status }) => status === "fulfilled").length;
  expect(made).toBeGreaterThan(0);
  expect(await services.db.$count(schema.apiKeys, eq(schema.apiKeys.referenceId, holder))).toBe(45 + made);
  expect(made).toBeLessThanOrEqual(5);
});
