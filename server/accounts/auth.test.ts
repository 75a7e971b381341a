import {
  createTestServices,
  openAccount,
  openGuest,
  openTestBrowser,
  testPassword,
  type TestBrowser,
  type TestServices,
} from "@atelier/testing/services";
import { and, eq, like, sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { inAll } from "@atelier/testing/cases";
import { schema } from "../db/index.ts";
import { newId } from "../platform/index.ts";
import {
  createApiKey,
  createUser,
  resetPassword,
  resolveCaller,
  trustedOrigins,
  workerAccount,
} from "./index.ts";
import { countTry, tries as signInTries } from "./permits.ts";

let test1: TestServices;

beforeAll(async () => {
  test1 = await createTestServices();
});
afterAll(() => test1.close());

const caller = (headers: Headers) => resolveCaller(test1.services, headers);

describe("sessions", () => {
  test("a guest has a session without an e-mail address", async () => {
    const guest = await openGuest(test1.services);
    expect(await caller(guest.headers)).toMatchObject({ isGuest: true, isAdmin: false, via: "session" });
  });

  test("nobody calls without a session, with a forged cookie or with a wrong key beside a good cookie", async () => {
    const guest = await openGuest(test1.services);
    expect(await caller(new Headers())).toBeNull();
    const forged = new Headers(guest.headers);
    forged.set(
      "cookie",
      (forged.get("cookie") ?? "").replace(/=(.)/, (_, first) => (first === "a" ? "=b" : "=a")),
    );
    expect(await caller(forged)).toBeNull();
    const wrongKey = new Headers(guest.headers);
    wrongKey.set("authorization", "Bearer atelier_unknown");
    expect(await caller(wrongKey)).toBeNull();
  });

  test("signing out everywhere ends the sessions of all browsers at once", async () => {
    const first = await openAccount(test1.services, "everywhere@example.com");
    const second = openTestBrowser(test1.services);
    await second.auth("/sign-in/email", { email: "everywhere@example.com", password: testPassword });
    const stale = [new Headers(first.headers), new Headers(second.headers)];
    for (const headers of stale) expect(await caller(headers)).not.toBeNull();
    expect((await second.auth("/revoke-sessions")).status).toBe(200);
    for (const headers of stale) expect(await caller(headers)).toBeNull();
  });

  test("a changed password replaces the old one and ends the other sessions when asked to", async () => {
    const email = "change@example.com";
    const browser = await openAccount(test1.services, email);
    const other = openTestBrowser(test1.services);
    await other.auth("/sign-in/email", { email, password: testPassword });
    const newPassword = "another long password";
    const changed = await browser.auth("/change-password", {
      currentPassword: testPassword,
      newPassword,
      revokeOtherSessions: true,
    });
    expect(changed.status).toBe(200);
    expect(await caller(browser.headers)).not.toBeNull();
    expect(await caller(other.headers)).toBeNull();
    expect((await other.auth("/sign-in/email", { email, password: testPassword })).status).toBe(401);
    expect((await other.auth("/sign-in/email", { email, password: newPassword })).status).toBe(200);
  });

  test("whoever has a session alone guesses its password ten times a minute, from however many addresses", async () => {
    const browser = await openAccount(test1.services, "session-alone@example.com");
    const userId = (await caller(browser.headers))?.userId ?? "";
    for (let before = 0; before < 9; before += 1) await countTry(test1.services.db, `password|${userId}`);
    const guess = async (address: string) => {
      browser.headers.set("x-forwarded-for", address);
      const form = { currentPassword: "a wrong guess", newPassword: "another long password" };
      return (await browser.auth("/change-password", form)).status;
    };
    expect([await guess("198.51.100.1"), await guess("198.51.100.2")]).toEqual([400, 429]);
  });

  test("a password set on the command line ends all sessions", async () => {
    const email = "reset@example.com";
    const browser = await openAccount(test1.services, email);
    await resetPassword(test1.services, { email, password: "set by the operator" });
    expect(await caller(browser.headers)).toBeNull();
    const answer = await browser.auth("/sign-in/email", { email, password: "set by the operator" });
    expect(answer.status).toBe(200);
  });

  test("a banned account is nobody, also with an open session", async () => {
    const browser = await openAccount(test1.services, "banned@example.com");
    const { users } = schema;
    await test1.services.db.update(users).set({ banned: true }).where(eq(users.email, "banned@example.com"));
    expect(await caller(browser.headers)).toBeNull();
  });

  test("passwords have at least ten characters", async () => {
    const browser = openTestBrowser(test1.services);
    const body = { email: "short@example.com", password: "123456789", name: "Short" };
    expect((await browser.auth("/sign-up/email", body)).status).toBe(400);
  });

  test("a password set on the command line is one that sign-in accepts", async () => {
    const email = "reset-bounds@example.com";
    for (const password of ["123456789", "l".repeat(129)])
      await expect(resetPassword(test1.services, { email, password })).rejects.toMatchObject({
        code: "bad_request",
      });
  });

  test("nobody makes themselves admin or guest at sign-up", async () => {
    const body = { password: testPassword, name: "Sly" };
    for (const extra of [{ role: "admin" }, { isAnonymous: true }]) {
      const email = `sly-${Object.keys(extra)[0]}@example.com`.toLowerCase();
      await openTestBrowser(test1.services).auth("/sign-up/email", { ...body, ...extra, email });
      const { users } = schema;
      const [user] = await test1.services.db.select().from(users).where(eq(users.email, email));
      expect([user?.role ?? "user", user?.isAnonymous ?? false]).toEqual(["user", false]);
    }
  });

  test("S5 sign-in answers 429 after ten tries a minute, whatever address they come from", async () => {
    const email = "guessed@example.com";
    await openAccount(test1.services, email);
    const statuses: number[] = [];
    for (let index = 0; index <= signInTries; index += 1) {
      const answer = await openTestBrowser(test1.services).auth(
        "/sign-in/email",
        { email: index % 2 ? email : email.toUpperCase(), password: "a wrong password" },
        { "x-forwarded-for": `203.0.113.${index}` },
      );
      statuses.push(answer.status);
    }
    expect(statuses).toEqual([...Array.from({ length: signInTries }, () => 401), 429]);
    const right = await openTestBrowser(test1.services).auth("/sign-in/email", {
      email,
      password: testPassword,
    });
    expect(right.status).toBe(429);
  });
});

describe("S5 the limit of failed sign-ins", () => {
  const unknown = () => openTestBrowser(test1.services);
  const signIn = async (browser: TestBrowser, email: string, password: string) =>
    (await browser.auth("/sign-in/email", { email, password })).status;
  const fail = (browser: TestBrowser, email: string) => signIn(browser, email, "a wrong password");

  /** A new account and its browser, with nothing counted before. */
  async function openUncounted(email: string): Promise<TestBrowser> {
    await test1.services.db.delete(schema.rateLimits);
    return openAccount(test1.services, email);
  }

  /** Fails once, and lets the same count stand at `count`: each real try costs a slow hash. */
  async function failUpTo(count: number, browser: TestBrowser, email: string): Promise<void> {
    expect(await fail(browser, email)).toBe(401);
    const { rateLimits } = schema;
    const changed = await test1.services.db
      .update(rateLimits)
      .set({ count })
      .where(and(like(rateLimits.key, "sign-in%"), eq(rateLimits.count, 1)))
      .returning();
    expect(changed).toHaveLength(1);
  }

  test("does not count tries that succeed", inAll, async () => {
    const email = "often@example.com";
    await openUncounted(email);
    await failUpTo(signInTries - 1, unknown(), email);
    for (let index = 0; index < 2; index += 1) expect(await signIn(unknown(), email, testPassword)).toBe(200);
    expect([await fail(unknown(), email), await fail(unknown(), email)]).toEqual([401, 429]);
  });

  test("lets parallel tries through only up to the limit", inAll, async () => {
    const email = "parallel@example.com";
    await openUncounted(email);
    await failUpTo(signInTries - 2, unknown(), email);
    const statuses = await Promise.all(Array.from({ length: 6 }, () => fail(unknown(), email)));
    expect(statuses.filter((status) => status === 401)).toHaveLength(2);
    expect(statuses.filter((status) => status === 429)).toHaveLength(4);
  });

  test(
    "lets a browser in that signed in before, though others used up the tries of the address",
    inAll,
    async () => {
      const email = "owner-of-device@example.com";
      const browser = await openUncounted(email);
      await browser.auth("/sign-out");
      await failUpTo(signInTries, unknown(), email);
      expect(await signIn(unknown(), email, testPassword)).toBe(429);
      const body = { email: email.toUpperCase(), password: testPassword };
      const answer = await browser.auth("/sign-in/email", body);
      expect(answer.status).toBe(200);
      const cookie = answer.headers.getSetCookie().find((line) => line.startsWith("atelier-3000.device="));
      expect(cookie).toMatch(/; Max-Age=15552000.*; HttpOnly; SameSite=Lax/);
    },
  );

  test(
    "counts the tries of a browser that signed in before, also through further sign-ins",
    inAll,
    async () => {
      const email = "guessing-device@example.com";
      const browser = await openUncounted(email);
      await failUpTo(signInTries - 1, browser, email);
      expect(await signIn(browser, email, testPassword)).toBe(200);
      expect([await fail(browser, email), await fail(browser, email)]).toEqual([401, 429]);
      expect(await signIn(browser, email, testPassword)).toBe(429);
      expect(await signIn(unknown(), email, testPassword)).toBe(200);
    },
  );

  test("takes no device cookie of another account, none that was changed and none that ended", async () => {
    const email = "attacked@example.com";
    const owner = await openUncounted(email);
    const early = unknown();
    vi.setSystemTime(Date.now() - 181 * 86_400_000);
    expect(await signIn(early, email, testPassword).finally(() => vi.useRealTimers())).toBe(200);
    expect(deviceOf(early)).not.toBe("");
    const other = await openAccount(test1.services, "attacker@example.com");
    const own = deviceOf(owner);
    const [id = "", endsAt = "", rest = ""] = own.split(".");
    const cookies = [
      deviceOf(other),
      deviceOf(other).replace(/^[^.]*/, id),
      [id, Number(endsAt) + 1_000, rest].join("."),
    ];
    await failUpTo(signInTries, unknown(), email);
    for (const cookie of cookies) {
      const browser = unknown();
      browser.headers.set("cookie", `atelier-3000.device=${cookie}`);
      expect(await signIn(browser, email, testPassword)).toBe(429);
    }
    expect(await signIn(early, email, testPassword)).toBe(429);
    expect(await signIn(owner, email, testPassword)).toBe(200);
  });
});

const deviceOf = (browser: TestBrowser) =>
  /atelier-3000\.device=([^;]*)/.exec(browser.headers.get("cookie") ?? "")?.[1] ?? "";

describe("what people fill in", () => {
  const signUp = (body: object) =>
    openTestBrowser(test1.services).auth("/sign-up/email", { name: "N", password: testPassword, ...body });

  test("addresses that the product reserves are refused at sign-up, and no change takes one", async () => {
    for (const email of [
      "workers@atelier.invalid",
      "Any@Sub.Example.INVALID",
      "a@anonymous.placeholder.invalid",
    ]) {
      const answer = await signUp({ email });
      expect([email, answer.status]).toEqual([email, 400]);
      expect(await answer.json()).toMatchObject({ code: "INVALID_EMAIL" });
    }
    expect((await signUp({ email: "fine@invalid.example.com" })).status).toBe(200);
    const admin = await openAccount(test1.services, "reserving-admin@example.com");
    const me = await caller(admin.headers);
    const { users } = schema;
    await test1.services.db
      .update(users)
      .set({ role: "admin" })
      .where(eq(users.id, me?.userId ?? ""));
    for (const [path, body, status] of [
      ["/admin/create-user", { name: "N", password: testPassword, email: "workers@atelier.invalid" }, 404],
      ["/update-user", { email: "workers@atelier.invalid" }, 400],
    ] as const)
      expect([path, (await admin.auth(path, body)).status]).toEqual([path, status]);
    const made = createUser(test1.services, { email: "x@atelier.invalid", password: testPassword });
    await expect(made).rejects.toMatchObject({ code: "bad_request", message: /reserved/ });
  });

  test("a name has at most 100 characters after trimming, at sign-up and at a change", async () => {
    const browser = openTestBrowser(test1.services);
    const body = { email: "named@example.com", password: testPassword };
    const tooLong = await browser.auth("/sign-up/email", { ...body, name: "n".repeat(101) });
    expect([tooLong.status, await tooLong.json()]).toMatchObject([400, { code: "INVALID_NAME" }]);
    const padded = await browser.auth("/sign-up/email", { ...body, name: ` ${"n".repeat(100)}  ` });
    expect([padded.status, await padded.json()]).toMatchObject([200, { user: { name: "n".repeat(100) } }]);
    for (const name of ["n".repeat(101), "two\nlines", "half \ud800", "nul \u0000", 7])
      expect([name, (await browser.auth("/update-user", { name })).status]).toEqual([name, 400]);
    expect((await browser.auth("/update-user", { name: "  Ada  " })).status).toBe(200);
    const { users } = schema;
    const [row] = await test1.services.db.select().from(users).where(eq(users.email, body.email));
    expect(row?.name).toBe("Ada");
  });

  test("an account takes no picture of another site", async () => {
    const image = "https://elsewhere.example/track.png";
    expect((await signUp({ email: "pictured@example.com", image })).status).toBe(400);
    const guest = await openGuest(test1.services);
    expect((await guest.auth("/update-user", { image })).status).toBe(400);
    expect((await guest.auth("/update-user", { image: null })).status).toBe(200);
  });

  test("an e-mail address has at most 254 characters", async () => {
    const email = `long@${"a.".repeat(130)}example.com`;
    const answer = await signUp({ email });
    expect([answer.status, await answer.json()]).toMatchObject([400, { code: "INVALID_EMAIL" }]);
  });

  test("the tables refuse what the checks above refuse", async () => {
    const { db } = test1.services;
    const guest = await caller((await openGuest(test1.services)).headers);
    const { users, apiKeys, nodes, idempotencyKeys } = schema;
    const own = eq(users.id, guest?.userId ?? "");
    const ownerId = guest?.userId ?? "";
    const process = { hostname: "h", bootId: "b", pid: 1, pidStartedAt: "1" };
    const capability = { cores: 1, memoryBytes: 1, gpus: [], kinds: [], engines: [] };
    const service = { name: "Workers", role: "service" };
    await db.insert(users).values({ id: "service", email: "one@example.com", ...service });
    const writes = {
      users_name_length: db
        .update(users)
        .set({ name: "n".repeat(101) })
        .where(own),
      users_email_length: db
        .update(users)
        .set({ email: "e".repeat(255) })
        .where(own),
      users_image_none: db.update(users).set({ image: "https://elsewhere.example" }).where(own),
      users_ban_reason_length: db
        .update(users)
        .set({ banReason: "b".repeat(1_001) })
        .where(own),
      users_service: db.insert(users).values({ id: "twin", email: "two@example.com", ...service }),
      api_keys_name_length: db
        .insert(apiKeys)
        .values({ id: "key", key: "hash", name: "k".repeat(101), referenceId: ownerId }),
      nodes_name_length: db
        .insert(nodes)
        .values({ id: newId(), name: "n".repeat(301), ...process, capability }),
      idempotency_keys_key_length: db
        .insert(idempotencyKeys)
        .values({ ownerId, key: "k".repeat(301), requestSha256: "", jobId: newId() }),
      images_title_length: db.insert(schema.images).values({
        id: newId(),
        ownerId,
        role: "upload",
        storageKey: newId(),
        storedSha256: "",
        mime: "image/png",
        widthPx: 1,
        heightPx: 1,
        sizeBytes: 1,
        thumbhash: "",
        title: "t".repeat(121),
      }),
    };
    for (const [constraint, write] of Object.entries(writes))
      await expect(write.execute()).rejects.toMatchObject({ cause: { constraint_name: constraint } });
  });
});

describe("the address of a client", () => {
  test("S5 is recorded in its session, and each address has a limit of its own", inAll, async () => {
    const enter = (address: string) =>
      openTestBrowser(test1.services).auth("/sign-in/anonymous", {}, { "x-forwarded-for": address });
    const limit = 120;
    // As many at once as there are connections: what waits longer for one than a few seconds is told to come again.
    const atOnce = 11;
    const flood: { status: number }[] = [];
    while (flood.length <= limit)
      flood.push(...(await Promise.all(Array.from({ length: atOnce }, () => enter("198.51.100.7")))));
    expect(flood.filter(({ status }) => status === 429)).toHaveLength(1);
    expect((await enter("198.51.100.8")).status).toBe(200);
    const { sessions } = schema;
    const kept = await test1.services.db.$count(sessions, eq(sessions.ipAddress, "198.51.100.7"));
    expect(kept).toBe(limit);
  });
});

describe("new guests and accounts", () => {
  test(
    "S5 have limits an hour and a day, for an address and for the networks of IPv6, each kind its own",
    inAll,
    async () => {
      const limits = { guestsPerHour: 3, guestsPerDay: 5, signUpsPerHour: 2, signUpsPerDay: 9 };
      const small = await createTestServices({ config: { limits } });
      const { services } = small;
      const enter = async (address: string) => {
        const headers = { "x-forwarded-for": address };
        return (await openTestBrowser(services).auth("/sign-in/anonymous", {}, headers)).status;
      };
      let people = 0;
      const signUp = async (address: string) => {
        const body = { email: `p${(people += 1)}@example.com`, password: testPassword, name: "P" };
        return (await openTestBrowser(services).auth("/sign-up/email", body, { "x-forwarded-for": address }))
          .status;
      };
      const inTurn = async (addresses: string[], ask: (address: string) => Promise<number>) => {
        const statuses = [];
        for (const address of addresses) statuses.push(await ask(address));
        return statuses;
      };
      const back = (hours: number) =>
        services.db.execute(sql`update rate_limits set last_request = last_request - ${hours * 3_600_000}
        where key like '%|hour|%' or key like '%|day|%'`);
      try {
        const one = "198.51.100.7";
        expect(await inTurn([one, one, one, one], enter)).toEqual([200, 200, 200, 429]);
        expect(await inTurn([one, one, one], signUp)).toEqual([200, 200, 429]);
        expect(await enter("198.51.100.8")).toBe(200);
        await back(1);
        // The fourth try of the hour counts for the hour alone.
        expect(await inTurn([one, one, one], enter)).toEqual([200, 200, 429]);
        await back(23);
        expect(await enter(one)).toBe(200);
        const of = (net: number, host: number) => `2001:db8:7:${net.toString(16)}::${host}`;
        expect(await inTurn([of(1, 1), of(1, 2), of(1, 3), of(1, 4)], enter)).toEqual([200, 200, 200, 429]);
        const others = Array.from({ length: 10 }, (_, at) => of(2 + at, 1));
        const statuses = await inTurn(others, enter);
        expect(statuses.filter((status) => status === 200)).toHaveLength(9);
        expect(await enter("2001:db8:8::1")).toBe(200);
      } finally {
        await small.close();
      }
    },
  );

  test("S5 at once no more than the limit get in", async () => {
    const small = await createTestServices({ config: { limits: { guestsPerHour: 4 } } });
    try {
      const answers = await Promise.all(
        Array.from({ length: 12 }, () =>
          openTestBrowser(small.services).auth(
            "/sign-in/anonymous",
            {},
            { "x-forwarded-for": "203.0.113.1" },
          ),
        ),
      );
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(4);
      const [refused] = answers.filter(({ status }) => status === 429);
      expect(await refused?.json()).toMatchObject({ message: expect.stringContaining("this hour") });
    } finally {
      await small.close();
    }
  });

  test("an account without an invitation is known as such to what counts places, an admin is not", async () => {
    const { services } = test1;
    const made = await openAccount(services, "self-made@example.com");
    expect(await caller(made.headers)).toMatchObject({ isSelfMade: true });
    const id = (await caller(made.headers))?.userId ?? "";
    const { key } = await createApiKey(services, { userId: id, name: "k" });
    const byKey = new Headers({ authorization: `Bearer ${key}` });
    expect(await caller(byKey)).toMatchObject({ isSelfMade: true, via: "api_key" });
    await services.db.update(schema.users).set({ role: "admin" }).where(eq(schema.users.id, id));
    expect(await caller(byKey)).toMatchObject({ isSelfMade: false, isAdmin: true });
    await createUser(services, { email: "let-in@example.com", password: testPassword });
    const letIn = openTestBrowser(services);
    await letIn.auth("/sign-in/email", { email: "let-in@example.com", password: testPassword });
    expect(await caller(letIn.headers)).toMatchObject({ isSelfMade: false });
  });
});

describe("S5 requests forged by another site", () => {
  const body = { email: "victim@example.com", password: testPassword, name: "Victim" };

  test("change nothing, with and without a cookie", async () => {
    const browser = await openAccount(test1.services, "target@example.com");
    const foreign = { origin: "https://evil.example", "sec-fetch-site": "cross-site" };
    const answers = [
      await browser.auth("/revoke-sessions", {}, foreign),
      await browser.auth("/revoke-sessions", {}, { origin: "null" }),
      await browser.auth("/update-user", { name: "Mallory" }, foreign),
      await openTestBrowser(test1.services).auth("/sign-up/email", body, foreign),
    ];
    expect(answers.map(({ status }) => status)).toEqual([403, 403, 403, 403]);
    expect(await caller(browser.headers)).not.toBeNull();
  });

  test("another port and a trusted proxy's host work without configuration, open to the network a LAN address too", async () => {
    const open = { ...test1.services, env: { ...test1.services.env, HOST: "0.0.0.0" } };
    for (const [services, host, origin, forwarded] of [
      [open, "192.168.1.20:3000", "http://192.168.1.20:3000", undefined],
      [test1.services, "localhost:4100", "http://localhost:4100", undefined],
      [test1.services, "127.0.0.1:3000", "https://studio.example.com", "studio.example.com"],
    ] as const) {
      const guest = openTestBrowser(services);
      const headers = { host, origin, ...(forwarded ? { "x-forwarded-host": forwarded } : {}) };
      expect((await guest.auth("/sign-in/anonymous", {}, headers)).status).toBe(200);
      expect((await guest.auth("/sign-out", {}, headers)).status).toBe(200);
    }
  });

  test("bound to loopback a foreign Host makes no origin trusted, and with APP_URL an open studio trusts that alone", () => {
    const appUrl = "https://studio.example.com";
    // As Next hands requests on: with the host in X-Forwarded-Host, too.
    const from = (host: string) =>
      new Request(`http://${host}/`, { headers: { host, "x-forwarded-host": host } });
    const local = { HOST: "127.0.0.1", APP_URL: undefined };
    expect(trustedOrigins(local, from("evil.example:4100"))).toEqual([]);
    expect(trustedOrigins({ ...local, APP_URL: appUrl }, from("evil.example"))).toEqual([appUrl]);
    expect(trustedOrigins(local, from("localhost:4100"))).toContain("http://localhost:4100");
    const free = { HOST: "0.0.0.0", APP_URL: undefined };
    const bySpelling = (host: string) =>
      new Request("http://inner.lan/", { headers: { "x-forwarded-host": host } });
    expect(trustedOrigins(free, bySpelling("Studio.example:443"))).toContain("https://studio.example");
    expect(trustedOrigins(free, bySpelling("studio.example:80"))).toContain("http://studio.example");
    expect(trustedOrigins(free, bySpelling("a host"))).toEqual([]);
    const open = { HOST: "0.0.0.0", APP_URL: appUrl };
    expect(trustedOrigins(open, from("192.168.1.20:3000"))).toEqual([appUrl]);
  });

  test("the account of the workers can have no password, session or key, in whatever order they come", async () => {
    const { services } = test1;
    const { id } = await workerAccount(services);
    const person = await openAccount(services, "not-a-service@example.com");
    const personId = (await caller(person.headers))?.userId ?? "";
    const ways = [
      sql`insert into credentials (id, account_id, provider_id, user_id) values ('c', ${id}, 'credential', ${id})`,
      sql`update credentials set user_id = ${id} where user_id = ${personId}`,
      sql`insert into sessions (id, token, user_id, expires_at) values ('s', 's', ${id}, now() + interval '1 day')`,
      sql`update sessions set user_id = ${id} where user_id = ${personId}`,
      sql`insert into api_keys (id, key, reference_id) values ('k', 'k', ${id})`,
      sql`update users set role = 'service' where id = ${personId}`,
      sql`update users set role = 'admin,service' where id = ${personId}`,
    ];
    for (const way of ways)
      await expect(services.db.execute(way)).rejects.toMatchObject({
        cause: { constraint_name: "service_cannot_sign_in" },
      });
    expect(await caller(person.headers)).toMatchObject({ userId: personId });
  });

  test("of a new password and a change to the workers' role at once one is refused", async () => {
    const { services } = test1;
    await services.db.execute(sql`delete from users where role = 'service'`);
    const id = newId();
    await services.db.insert(schema.users).values({ id, name: "Both", email: `${id}@example.com` });
    const outcomes = await Promise.allSettled([
      services.db.execute(sql`update users set role = 'service' where id = ${id}`),
      services.db.execute(
        sql`insert into credentials (id, account_id, provider_id, user_id) values (${id}, ${id}, 'credential', ${id})`,
      ),
    ]);
    expect(outcomes.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
  });
});
