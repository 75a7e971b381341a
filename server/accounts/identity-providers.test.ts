import { noMailServer, readNotices } from "@atelier/testing/deliveries";
import {
  type ForgingProvider,
  passLoginPages,
  startForgingProvider,
  startIdentityProvider,
  testClientId,
  testClientSecret,
  type TestProvider,
} from "@atelier/testing/identity";
import {
  captureLog,
  createTestServices,
  openAccount,
  openGuest,
  openTestBrowser,
  race,
  type TestBrowser,
  testOrigin,
  testPassword,
  type TestServices,
} from "@atelier/testing/services";
import { and, eq, like, sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { lockTopic, schema } from "../db/index.ts";
import { type IdentityProvider, newId, parseConfig } from "../platform/index.ts";
import type { Services } from "../services.ts";
import {
  addPassword,
  authOf,
  createApiKey,
  createInvitation,
  createUser,
  readSecurity,
  removePasskey,
  removeProvider,
  resetPassword,
  resolveCaller,
  setAdminFactor,
} from "./index.ts";
import { endOthers, isPasswordOf, removeAskingLinks } from "./plain.ts";
import { groupsOf, personOf } from "./provider-entry.ts";

const captured = captureLog();
let idp: TestProvider;
let forging: ForgingProvider;
let test1: TestServices;

const callbackOf = (id: string) => `${testOrigin}/api/auth/callback/${id}`;
const verified = (email: string, more: object = {}) => ({
  email,
  email_verified: true,
  name: "A Person",
  ...more,
});

beforeAll(async () => {
  idp = await startIdentityProvider({
    redirectUris: ["house", "staff", "linking", "broken", "slashed", "document"].map(callbackOf),
    afterSignOut: [`${testOrigin}/sign-in`],
    people: {},
  });
  forging = await startForgingProvider();
  const usual = { name: "The House", issuer: idp.issuer, clientId: testClientId };
  test1 = await createTestServices({
    log: captured.log,
    env: {
      ...noMailServer,
      OIDC_CLIENT_SECRETS: JSON.stringify({
        house: testClientSecret,
        staff: testClientSecret,
        linking: testClientSecret,
        broken: "a-wrong-secret",
        slashed: testClientSecret,
        document: testClientSecret,
        forged: testClientSecret,
        informed: testClientSecret,
        dotted: testClientSecret,
        unslashed: testClientSecret,
        realm: testClientSecret,
        elsewhere: testClientSecret,
      }),
    },
    config: {
      signIn: {
        providers: {
          house: { ...usual, signsOut: true },
          staff: {
            ...usual,
            allowedGroups: ["members"],
            adminGroups: ["admins"],
            opensEntry: true,
            asksSecondFactor: true,
          },
          linking: { ...usual, linksByEmail: true },
          broken: usual,
          slashed: { ...usual, issuer: `${idp.issuer}/`, opensEntry: true },
          document: { ...usual, issuer: `${idp.issuer}/.well-known/openid-configuration`, opensEntry: true },
          forged: { ...usual, issuer: forging.issuer, opensEntry: true },
          informed: { ...usual, issuer: forging.issuer, allowedGroups: ["members"], opensEntry: true },
          unslashed: { ...usual, issuer: `${forging.issuer}/application/o/studio`, opensEntry: true },
          realm: { ...usual, issuer: `${forging.issuer}/realms/My%20Tools/`, opensEntry: true },
          elsewhere: { ...usual, issuer: `${forging.issuer}/realms/one`, opensEntry: true },
          dotted: {
            ...usual,
            issuer: forging.issuer,
            allowedGroups: ["members"],
            groupsClaim: "resource_access.studio.roles",
            opensEntry: true,
          },
        },
      },
    },
  });
});
beforeEach(async () => {
  await test1.services.db.delete(schema.rateLimits);
});
afterAll(async () => {
  await test1.close();
  await idp.close();
  await forging.close();
});

async function start(browser: TestBrowser, provider: string, headers: Record<string, string> = {}) {
  const body = { provider, callbackURL: "/sign-in?entered=1" };
  const response = await browser.auth("/sign-in/social", body, headers);
  const answer: { url?: string; code?: string } = await response.json();
  return { status: response.status, ...answer };
}

async function visit(services: Services, browser: TestBrowser, url: string | URL): Promise<string> {
  const headers = { ...Object.fromEntries(browser.headers), "x-forwarded-for": "192.0.2.7" };
  const response = await authOf(services).handler(new Request(url, { headers }));
  browser.keepCookies(response);
  return response.headers.get("location") ?? `status ${response.status}`;
}

async function enter(
  login: string | null,
  { provider = "house", browser = openTestBrowser(test1.services), services = test1.services } = {},
) {
  const { url = "" } = await start(browser, provider);
  const back = await passLoginPages(url, login);
  return { browser, back, location: await visit(services, browser, back) };
}

const problem = (code: string, provider = "house") => `/sign-in?problem=${code}&provider=${provider}`;
const entered = "/sign-in?entered=1";
const { users, credentials, auditEntries } = schema;
const caller = (browser: TestBrowser) => resolveCaller(test1.services, browser.headers);

async function wayNames(userId: string) {
  const rows = await test1.services.db.select().from(credentials).where(eq(credentials.userId, userId));
  return rows.map(({ providerId }) => providerId);
}

async function userOf(email: string) {
  const [user] = await test1.services.db.select().from(users).where(eq(users.email, email));
  return user;
}

async function addPicture(ownerId: string) {
  const id = newId();
  const facts = { mime: "image/png", widthPx: 10, heightPx: 10, sizeBytes: 100, thumbhash: "" };
  const stored = { storageKey: `users/${ownerId}/${id}`, uploadSha256: id, storedSha256: id };
  await test1.services.db.insert(schema.images).values({ id, ownerId, role: "upload", ...stored, ...facts });
}

describe("a person of a real provider", () => {
  test("signs in, has an account, and the same one the next time although the address is another", async () => {
    idp.people["anna"] = verified("anna@example.com");
    const first = await enter("anna");
    expect(first.location).toBe(entered);
    const me = await caller(first.browser);
    expect(me).toMatchObject({ isGuest: false, isAdmin: false, via: "session" });
    idp.people["anna"] = verified("anna.new@example.com");
    const second = await enter("anna");
    expect((await caller(second.browser))?.userId).toBe(me?.userId);
    const kept = await test1.services.db
      .select()
      .from(credentials)
      .where(eq(credentials.userId, me?.userId ?? ""));
    expect(kept).toMatchObject([
      { providerId: "house", accountId: "anna", accessToken: null, refreshToken: null },
    ]);
    const acts = await test1.services.db
      .select()
      .from(auditEntries)
      .where(and(eq(auditEntries.kind, "sign_in.done"), eq(auditEntries.actorId, me?.userId ?? "")));
    expect(acts.map(({ details }) => details)).toEqual([{ provider: "house" }, { provider: "house" }]);
  });

  test("keeps what was made as a guest", async () => {
    idp.people["guest"] = verified("was.guest@example.com");
    const guest = await openGuest(test1.services);
    const before = await caller(guest);
    const prompts = await test1.services.db
      .insert(schema.boards)
      .values({ id: newId(), ownerId: before?.userId ?? "", name: "Mine", key: "mine" })
      .returning();
    const { location, browser } = await enter("guest", { browser: guest });
    expect(location).toBe(entered);
    const after = await caller(browser);
    expect(after?.userId).not.toBe(before?.userId);
    const [board] = await test1.services.db
      .select()
      .from(schema.boards)
      .where(eq(schema.boards.id, prompts[0]?.id ?? ""));
    expect(board?.ownerId).toBe(after?.userId);
  });

  test("stays a guest where the account has filled up meanwhile, and the page says so", async () => {
    const { services } = test1;
    const { db } = services;
    idp.people["filled"] = verified("filled@example.com");
    const accountId = (await caller((await enter("filled")).browser))?.userId ?? "";
    await db.update(users).set({ quotaBytes: 250 }).where(eq(users.id, accountId));
    const guest = await openGuest(services);
    const guestId = (await caller(guest))?.userId ?? "";
    for (const ownerId of [guestId, accountId]) await addPicture(ownerId);
    const back = await passLoginPages((await start(guest, "house")).url ?? "", "filled");
    const { visiting } = await db.transaction(async (tx) => {
      await lockTopic(tx, "boards", accountId);
      const asked = visit(services, guest, back);
      await expect
        .poll(async () =>
          db.execute(sql`select 1 from pg_locks where locktype = 'advisory' and not granted
          and database = (select oid from pg_database where datname = current_database())`),
        )
        .toHaveLength(1);
      await addPicture(accountId);
      return { visiting: asked };
    });
    expect(await visiting).toBe(problem("GUEST_TOO_LARGE"));
    expect((await caller(guest))?.userId).toBe(guestId);
    const done = and(eq(auditEntries.kind, "sign_in.done"), eq(auditEntries.actorId, accountId));
    expect(await db.$count(auditEntries, done)).toBe(1);
    const refused = and(eq(auditEntries.kind, "sign_in.failed"), eq(auditEntries.outcome, "guest_too_large"));
    expect(await db.$count(auditEntries, refused)).toBe(1);
  });

  test("S1 is signed out everywhere while the answer is read: it begins no session, and the page says so", async () => {
    const { services } = test1;
    idp.people["raced"] = verified("raced@example.com");
    const userId = (await caller((await enter("raced")).browser))?.userId ?? "";
    const late = openTestBrowser(services);
    const back = await passLoginPages((await start(late, "house")).url ?? "", "raced");
    const [, location] = await race(services, userId, [
      () => services.db.transaction((tx) => endOthers(tx, { userId, sessionId: null })),
      () => visit(services, late, back),
    ]);
    expect(location).toEqual({ status: "fulfilled", value: problem("SIGN_IN_OVERTAKEN") });
    expect(await caller(late)).toBeNull();
    expect((await enter("raced")).location).toBe(entered);
  });

  test("pressed cancel: the sign-in page says so", async () => {
    const { location, browser } = await enter(null);
    expect(location).toBe(problem("PROVIDER_CANCELLED"));
    expect(await caller(browser)).toBeNull();
  });

  test("has no address: nothing is made", async () => {
    idp.people["nobody"] = { name: "No Address" };
    expect((await enter("nobody")).location).toBe(problem("EMAIL_MISSING"));
    idp.people["nobody"] = verified(`${"a".repeat(250)}@example.com`);
    expect((await enter("nobody")).location).toBe(problem("EMAIL_MISSING"));
  });

  test("the address that leads back works once and in the browser that began", async () => {
    idp.people["twice"] = verified("twice@example.com");
    const { url = "" } = await start(openTestBrowser(test1.services), "house");
    const stolen = await passLoginPages(url, "twice");
    const thief = openTestBrowser(test1.services);
    expect(await visit(test1.services, thief, stolen)).toBe(problem("SIGN_IN_EXPIRED"));
    const { back, browser } = await enter("twice");
    expect(await visit(test1.services, browser, back)).toBe(problem("SIGN_IN_EXPIRED"));
    const bare = `${callbackOf("house")}?code=x`;
    expect(await visit(test1.services, thief, bare)).toBe(problem("SIGN_IN_EXPIRED"));
  });

  test("signing out leads to the provider's own page where the operator wants it", async () => {
    idp.people["leaver"] = verified("leaver@example.com");
    const { browser } = await enter("leaver");
    const response = await browser.auth("/sign-out", { callbackURL: "/sign-in", disableRedirect: true });
    const { url }: { url: string } = await response.json();
    expect(new URL(url).origin).toBe(idp.issuer);
    expect(new URL(url).searchParams.get("post_logout_redirect_uri")).toBe(`${testOrigin}/sign-in`);
    expect(await caller(browser)).toBeNull();
    idp.people["stayer"] = verified("stayer@example.com", { groups: ["members"] });
    const other = await enter("stayer", { provider: "staff" });
    expect(await (await other.browser.auth("/sign-out")).json()).toEqual({ success: true });
  });
});

describe("accounts that exist already", () => {
  test("are not linked by their address without the operator's word, nor while it is unverified", async () => {
    await createUser(test1.services, { email: "held@example.com", password: testPassword });
    idp.people["held"] = verified("held@example.com");
    expect((await enter("held")).location).toBe(problem("ACCOUNT_NOT_LINKED"));
    idp.people["held"] = { ...verified("held@example.com"), email_verified: false };
    expect((await enter("held", { provider: "linking" })).location).toBe(
      problem("ACCOUNT_NOT_LINKED", "linking"),
    );
    idp.people["held"] = { email: "held@example.com", name: "x" };
    expect((await enter("held", { provider: "linking" })).location).toBe(
      problem("ACCOUNT_NOT_LINKED", "linking"),
    );
  });

  test("of an operator's making are linked where that is allowed; self-made ones are not", async () => {
    const { id } = await createUser(test1.services, { email: "made@example.com", password: testPassword });
    idp.people["made"] = verified("Made@Example.com");
    const { location, browser } = await enter("made", { provider: "linking" });
    expect(location).toBe(entered);
    expect((await caller(browser))?.userId).toBe(id);
    expect(await wayNames(id)).toEqual(["linking"]);
    await openAccount(test1.services, "squatted@example.com");
    idp.people["squatted"] = verified("squatted@example.com");
    expect((await enter("squatted", { provider: "linking" })).location).toBe(
      problem("ACCOUNT_NOT_LINKED", "linking"),
    );
  });

  test.each(["\u212Aim@example.com", "\uFF4Bim@example.com", "k\u0131m@example.com"])(
    "are not linked by an address that only looks like theirs: %j",
    async (email) => {
      for (const own of ["kim@example.com", "k\u0131m@example.com".normalize("NFKD")])
        await createUser(test1.services, { email: own, password: testPassword }).catch(() => undefined);
      idp.people["alike"] = verified(email);
      expect((await enter("alike", { provider: "linking" })).location).toBe(
        problem("EMAIL_MISSING", "linking"),
      );
    },
  );

  test("under an address that nobody proved lose all other ways in once its owner is linked", async () => {
    const { services } = test1;
    // An invitation is for whoever has it, under any address.
    const invited = await openAccount(services, "owner@example.com");
    const userId = (await caller(invited))?.userId ?? "";
    await services.db.update(users).set({ selfMade: false }).where(eq(users.id, userId));
    const { id: keyId, key } = await createApiKey(services, { userId, name: "mine" });
    const withKey = () => resolveCaller(services, new Headers({ authorization: `Bearer ${key}` }));
    expect(await withKey()).toMatchObject({ userId });
    const { telegramLinks, notificationSettings, webhookEndpoints } = schema;
    await services.db.insert(telegramLinks).values({ userId, chatId: newId(), name: "Theirs" });
    const target = "theirs@example.com";
    await services.db.insert(notificationSettings).values({ ownerId: userId, channel: "email", target });
    const url = "https://theirs.example.com";
    await services.db.insert(webhookEndpoints).values({ id: newId(), ownerId: userId, url, secret: "s" });
    idp.people["owner"] = verified("owner@example.com");
    const { browser } = await enter("owner", { provider: "linking" });
    expect(await caller(browser)).toMatchObject({ userId });
    expect([await caller(invited), await withKey().catch(() => null)]).toEqual([null, null]);
    expect(await wayNames(userId)).toEqual(["linking"]);
    expect(await readNotices(services, userId)).toEqual(["key.made", "account.provider_linked"]);
    // By this entry its batches buy nothing more for the new owner.
    const { auditEntries } = schema;
    const ofKey = and(eq(auditEntries.kind, "key.revoked"), eq(auditEntries.objectId, keyId));
    expect(await services.db.$count(auditEntries, ofKey)).toBe(1);
    const isOn = and(eq(webhookEndpoints.ownerId, userId), eq(webhookEndpoints.isEnabled, true));
    expect([
      await services.db.$count(telegramLinks, eq(telegramLinks.userId, userId)),
      await services.db.$count(notificationSettings, eq(notificationSettings.ownerId, userId)),
      await services.db.$count(webhookEndpoints, isOn),
    ]).toEqual([0, 0, 0]);
    const again = await openTestBrowser(services).auth("/sign-in/email", {
      email: "owner@example.com",
      password: testPassword,
    });
    expect(again.status).toBe(401);
    // Of an account at a provider that calls the address unverified, the other `sub` goes, too.
    idp.people["taker"] = {
      ...verified("victim@example.com", { groups: ["members"] }),
      email_verified: false,
    };
    const taker = await enter("taker", { provider: "staff" });
    expect(taker.location).toBe(entered);
    idp.people["victim"] = verified("victim@example.com");
    const victim = await enter("victim", { provider: "linking" });
    const me = await caller(victim.browser);
    expect([await caller(taker.browser), await wayNames(me?.userId ?? "")]).toEqual([null, ["linking"]]);
    expect((await enter("taker", { provider: "staff" })).location).toBe(
      problem("ACCOUNT_NOT_LINKED", "staff"),
    );
    // Its owner proved the address: the next link takes nothing.
    expect((await userOf("victim@example.com"))?.emailVerified).toBe(true);
  });

  test("stay out while they are suspended", async () => {
    idp.people["banned"] = verified("banned@example.com");
    await enter("banned");
    await test1.services.db.update(users).set({ banned: true }).where(eq(users.email, "banned@example.com"));
    const { location, browser } = await enter("banned");
    expect(location).toBe(problem("BANNED_USER"));
    expect(await caller(browser)).toBeNull();
  });
});

describe("other ways in of the same account", () => {
  const { sessions, twoFactors, passkeys, verifications } = schema;

  test("a second factor is asked for after the password, not after the provider, which ends what waits for a code", async () => {
    const { services } = test1;
    const email = "both@example.com";
    idp.people["both"] = verified(email);
    const { browser } = await enter("both");
    const userId = (await caller(browser))?.userId ?? "";
    await resetPassword(services, { email, password: testPassword });
    await services.db.update(users).set({ twoFactorEnabled: true }).where(eq(users.id, userId));
    await services.db
      .insert(twoFactors)
      .values({ id: newId(), userId, secret: "s", backupCodes: "b", verified: true });
    const halfDone = openTestBrowser(services);
    const withPassword = () => halfDone.auth("/sign-in/email", { email, password: testPassword });
    const waiting = () =>
      services.db.$count(
        verifications,
        and(eq(verifications.value, userId), like(verifications.identifier, "2fa-%")),
      );
    expect(await (await withPassword()).json()).toMatchObject({ twoFactorRedirect: true });
    expect([await caller(halfDone), await waiting()]).toEqual([null, 1]);
    expect((await enter("both", { browser: halfDone })).location).toBe(entered);
    const me = await caller(halfDone);
    expect([me?.userId, await waiting()]).toEqual([userId, 0]);
    const [open] = await services.db
      .select()
      .from(sessions)
      .where(eq(sessions.id, me?.sessionId ?? ""));
    expect(open?.isStrong).toBe(false);
    await halfDone.auth("/sign-out");
    const late = await halfDone.auth("/two-factor/verify-totp", { code: "123456" });
    expect([late.status, Object(await late.json()).code]).toEqual([401, "INVALID_TWO_FACTOR_COOKIE"]);
    expect(await (await withPassword()).json()).toMatchObject({ twoFactorRedirect: true });
  });

  test("the cookie of a session that ended elsewhere does not stand in the way", async () => {
    idp.people["ended"] = verified("ended@example.com");
    const { browser } = await enter("ended");
    const userId = (await caller(browser))?.userId ?? "";
    await test1.services.db.delete(sessions).where(eq(sessions.userId, userId));
    expect(await caller(browser)).toBeNull();
    await enter("ended", { browser });
    expect(await caller(browser)).toMatchObject({ userId });
  });

  test("the last passkey goes while a provider of today is left", async () => {
    const { services } = test1;
    idp.people["keys"] = verified("keys@example.com");
    const { browser } = await enter("keys");
    const { userId = "", sessionId } = (await caller(browser)) ?? {};
    const [row] = await services.db
      .insert(passkeys)
      .values({
        id: newId(),
        userId,
        publicKey: "p",
        credentialID: newId(),
        counter: 0,
        deviceType: "singleDevice",
        backedUp: false,
      })
      .returning();
    const own = { userId, sessionId, id: row?.id ?? "" };
    const { house: _, ...others } = services.config.signIn.providers;
    const without: Services = {
      ...services,
      config: { ...services.config, signIn: { passwords: true, providers: others } },
    };
    await expect(removePasskey(without, own)).rejects.toMatchObject({ code: "conflict" });
    await removePasskey(services, own);
    expect(await services.db.$count(passkeys, eq(passkeys.userId, userId))).toBe(0);
  });
});

describe("unlinking a provider", () => {
  const signedIn = async (name: string, services = test1.services) => {
    idp.people[name] = verified(`${name}@example.com`);
    const { browser } = await enter(name);
    const { userId = "", sessionId } = (await caller(browser)) ?? {};
    return { browser, services, own: { userId, sessionId, id: "house" } };
  };
  const without = (over: object): Services => ({
    ...test1.services,
    config: { ...test1.services.config, signIn: { ...test1.services.config.signIn, ...over } },
  });
  const ageOf = (userId: string) =>
    test1.services.db
      .update(schema.sessions)
      .set({ createdAt: new Date(Date.now() - 3_600_000) })
      .where(eq(schema.sessions.userId, userId));

  test("S6 a provider goes where a password is left, with an entry and a message, and signs in no more", async () => {
    const { services, browser, own } = await signedIn("unlinks");
    await addPassword(services, { ...own, password: testPassword });
    const again = await enter("unlinks");
    expect(await readSecurity(services, own.userId)).toMatchObject({
      hasPassword: true,
      providers: ["The House"],
      linkedProviders: [{ id: "house", name: "The House" }],
    });
    await removeProvider(services, own);
    expect(await readSecurity(services, own.userId)).toMatchObject({ providers: [], linkedProviders: [] });
    expect([await caller(again.browser), (await caller(browser))?.userId]).toEqual([null, own.userId]);
    const [act] = await services.db
      .select()
      .from(auditEntries)
      .where(and(eq(auditEntries.actorId, own.userId), eq(auditEntries.kind, "account.provider_unlinked")));
    expect(act?.details).toEqual({ provider: "house" });
    expect(await readNotices(services, own.userId)).toContain("account.provider_unlinked");
    expect(await caller((await enter("unlinks")).browser)).toBeNull();
    await expect(removeProvider(services, own)).rejects.toMatchObject({ code: "not_found" });
  });

  test("S6 the only way to sign in stays, also where a password is there that the studio does not take", async () => {
    const { services, own } = await signedIn("only-way");
    await expect(removeProvider(services, own)).rejects.toMatchObject({
      code: "conflict",
      message: "This provider is the only way to sign in. Set a password or add a passkey first.",
    });
    await addPassword(services, { ...own, password: testPassword });
    await expect(removeProvider(without({ passwords: false }), own)).rejects.toMatchObject({
      code: "conflict",
      message:
        "This provider is the only way to sign in, and this studio takes no passwords. Add a passkey first.",
    });
    expect(await services.db.$count(credentials, eq(credentials.userId, own.userId))).toBe(2);
    const notThis = { ...own, id: "credential" };
    await expect(removeProvider(services, notThis)).rejects.toMatchObject({ code: "not_found" });
    await ageOf(own.userId);
    await expect(removeProvider(services, own)).rejects.toMatchObject({
      code: "forbidden",
      details: { reason: "not_recent" },
    });
  });

  test("S6 of two providers that are unlinked at once one stays", async () => {
    const { services, own } = await signedIn("two-ways");
    const { userId } = own;
    await services.db
      .insert(credentials)
      .values({ id: newId(), userId, accountId: newId(), providerId: "linking" });
    const results = await Promise.allSettled([
      removeProvider(services, own),
      removeProvider(services, { ...own, id: "linking" }),
    ]);
    expect(results.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    expect(await services.db.$count(credentials, eq(credentials.userId, userId))).toBe(1);
  });

  test("S6 an admin whose second factor the provider is keeps it where the studio asks admins for one", async () => {
    const { services, own } = await signedIn("admin-factor");
    const { userId } = own;
    await services.db
      .insert(credentials)
      .values({ id: newId(), userId, accountId: newId(), providerId: "staff" });
    await services.db.update(schema.users).set({ role: "admin" }).where(eq(schema.users.id, userId));
    await setAdminFactor(services, { isNeeded: true, adminId: null });
    try {
      await expect(removeProvider(services, { ...own, id: "staff" })).rejects.toMatchObject({
        code: "conflict",
        message: "This studio asks its admins for a second factor. Set one up in the settings.",
      });
      await removeProvider(services, own);
    } finally {
      await setAdminFactor(services, { isNeeded: false, adminId: null });
      // Another test is about the only admin.
      await services.db.update(schema.users).set({ role: "user" }).where(eq(schema.users.id, userId));
    }
  });
});

describe("groups", () => {
  test.each([
    [{ groups: ["/staff/art", "admins"] }, "groups", ["/staff/art", "admins", "staff/art"]],
    [{ realm_access: { roles: ["editor"] } }, "realm_access.roles", ["editor"]],
    [{ "https://example.org/groups": ["art"] }, "https://example.org/groups", ["art"]],
    [{ groups: "art" }, "groups", ["art"]],
    [
      { groups: "art, night admins ,/b," },
      "groups",
      ["art, night admins ,/b,", "art", "night admins", "/b", "b"],
    ],
    [{ groups: "" }, "groups", []],
    [{ groups: ["art,admins"] }, "groups", ["art,admins"]],
    [{ groups: [1, null, {}, "art"] }, "groups", ["art"]],
    [{ groups: null }, "groups.deep.er", []],
    [
      { "urn:x:roles": { admin: { 2801: "a.org" }, art: { 2801: "a.org" } } },
      "urn:x:roles",
      ["admin", "art"],
    ],
    [{ groups: { art: true, admins: false, gone: null } }, "groups", ["art"]],
    [{ roles: [{ owner: "house", name: "art" }, { owner: "house" }, "b"] }, "roles", ["art", "b"]],
    [{ groups: { a: { b: { c: "art" } } } }, "groups.a.b.c", ["art"]],
    [{}, "__proto__.constructor.name", []],
  ])("are read from %j by %s", (claims, claim, names) => {
    expect(groupsOf({ sub: "s", ...claims }, claim)).toEqual(new Set(names));
  });

  test("let people in, make admins, and take it back, but never from the only one", async () => {
    idp.people["mia"] = verified("mia@example.com", { groups: ["others"] });
    const refused = await enter("mia", { provider: "staff" });
    expect(refused.location).toBe(problem("GROUP_MISSING", "staff"));
    expect(await userOf("mia@example.com")).toBeUndefined();
    idp.people["mia"] = verified("mia@example.com", { groups: "/members" });
    const member = await enter("mia", { provider: "staff" });
    expect(await caller(member.browser)).toMatchObject({ isAdmin: false });
    expect((await userOf("mia@example.com"))?.selfMade).toBe(false);
    idp.people["mia"] = verified("mia@example.com", { groups: ["admins"] });
    const admin = await enter("mia", { provider: "staff" });
    expect(await caller(admin.browser)).toMatchObject({ isAdmin: true });
    idp.people["mia"] = verified("mia@example.com", { groups: ["members"] });
    expect(await caller((await enter("mia", { provider: "staff" })).browser)).toMatchObject({
      isAdmin: true,
    });
    await createUser(test1.services, { email: "second@example.com", password: testPassword, isAdmin: true });
    expect(await caller((await enter("mia", { provider: "staff" })).browser)).toMatchObject({
      isAdmin: false,
    });
    // Without the groups that let in, an account that exists stays out, too, and is no admin.
    idp.people["mia"] = verified("mia@example.com", { groups: ["admins"] });
    await enter("mia", { provider: "staff" });
    expect((await userOf("mia@example.com"))?.role).toBe("admin");
    idp.people["mia"] = verified("mia@example.com");
    expect((await enter("mia", { provider: "staff" })).location).toBe(problem("GROUP_MISSING", "staff"));
    expect((await userOf("mia@example.com"))?.role).toBe("user");
    // An answer without an address lets nobody in, and takes the role back all the same.
    idp.people["mia"] = verified("mia@example.com", { groups: ["admins"] });
    await enter("mia", { provider: "staff" });
    idp.people["mia"] = { groups: ["admins"] };
    expect((await enter("mia", { provider: "staff" })).location).toBe(problem("EMAIL_MISSING", "staff"));
    expect((await userOf("mia@example.com"))?.role).toBe("admin");
    idp.people["mia"] = { groups: ["members"] };
    expect((await enter("mia", { provider: "staff" })).location).toBe(problem("EMAIL_MISSING", "staff"));
    expect((await userOf("mia@example.com"))?.role).toBe("user");
    const acts = await test1.services.db
      .select()
      .from(auditEntries)
      .where(eq(auditEntries.kind, "user.role_set"));
    expect(acts.map(({ outcome, details }) => [outcome, details["before"], details["role"]])).toEqual([
      ["ok", "user", "admin"],
      ["conflict", "admin", "user"],
      ["ok", "admin", "user"],
      ["ok", "user", "admin"],
      ["ok", "admin", "user"],
      ["ok", "user", "admin"],
      ["ok", "admin", "user"],
    ]);
  });
});

test("where admins need a second factor, that of a provider that asks for one counts", async () => {
  idp.people["asked"] = verified("asked@example.com", { groups: ["admins"] });
  await setAdminFactor(test1.services, { isNeeded: true, adminId: null });
  const { browser } = await enter("asked", { provider: "staff" });
  const me = await caller(browser);
  expect([me?.isAdmin, me?.adminLack]).toEqual([true, undefined]);
  const { config } = test1.services;
  const unasked = { ...test1.services, config: { ...config, signIn: { passwords: true, providers: {} } } };
  expect(await resolveCaller(unasked, browser.headers)).toMatchObject({
    isAdmin: false,
    adminLack: "factor",
  });
  // A link alone is a way in; beside another one it can be reset, when the provider no longer lets its owner in.
  const userId = me?.userId ?? "";
  const reset = () => test1.services.db.transaction((tx) => removeAskingLinks(test1.services, tx, userId));
  expect(await reset()).toEqual([]);
  await resetPassword(test1.services, { email: "asked@example.com", password: testPassword });
  expect(await wayNames(userId)).toEqual(["staff", "credential"]);
  expect(await reset()).toEqual(["staff"]);
  expect(await wayNames(userId)).toEqual(["credential"]);
  const other = openTestBrowser(test1.services);
  await other.auth("/sign-in/email", { email: "asked@example.com", password: testPassword });
  expect(await caller(other)).toMatchObject({ userId, adminLack: "factor" });
  await setAdminFactor(test1.services, { isNeeded: false, adminId: null });
});

test("of two first passwords at once the later one counts", async () => {
  const { services } = test1;
  idp.people["passes"] = verified("passes@example.com");
  const { browser } = await enter("passes");
  const userId = (await caller(browser))?.userId ?? "";
  const row = { id: newId(), userId, accountId: userId, providerId: "credential", password: "first" };
  let later = Promise.resolve();
  await services.db.transaction(async (tx) => {
    await tx.insert(credentials).values(row);
    later = resetPassword(services, { email: "passes@example.com", password: testPassword });
    later.catch(() => undefined);
    await expect
      .poll(async () => {
        const [found] = await services.db.execute<{ n: number }>(sql`
          select count(*)::int as n from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`);
        return found?.n;
      })
      .toBe(1);
  });
  await later;
  expect(await isPasswordOf(services, { userId, password: testPassword })).toBe(true);
});

describe("a studio without open sign-up", () => {
  test("makes accounts for an invitation, or where the provider opens entry", async () => {
    const { services } = test1;
    const closing = (SIGN_UP: "invite" | "closed"): Services => ({
      ...services,
      env: { ...services.env, SIGN_UP },
    });
    const enterAs = async (
      login: string,
      provider: string,
      token?: string,
      mode: "invite" | "closed" = "invite",
    ) => {
      const closed = closing(mode);
      const browser = openTestBrowser(closed);
      const headers: Record<string, string> = token === undefined ? {} : { "atelier-token": token };
      const { url = "" } = await start(browser, provider, headers);
      return visit(closed, browser, await passLoginPages(url, login));
    };
    idp.people["late"] = verified("late@example.com", { groups: ["members"] });
    expect(await enterAs("late", "house")).toBe(problem("INVITATION_INVALID"));
    expect(await enterAs("late", "house", undefined, "closed")).toBe(problem("SIGN_UP_CLOSED"));
    const { token } = await createInvitation(services, { createdBy: null, days: 1 });
    expect(await enterAs("late", "house", token)).toBe(entered);
    idp.people["later"] = verified("later@example.com", { groups: ["members"] });
    expect(await enterAs("later", "house", token)).toBe(problem("INVITATION_INVALID"));
    expect(await enterAs("later", "staff", undefined, "closed")).toBe(entered);
    // Whoever gets an account that way counts as everybody who gets one.
    const limits = { ...services.config.limits, signUpsPerHour: 0 };
    const limited = { ...services, config: { ...services.config, limits } };
    idp.people["latest"] = verified("latest@example.com", { groups: ["members"] });
    const { location } = await enter("latest", { provider: "staff", services: limited });
    expect(location).toBe(problem("TOO_MANY_REQUESTS", "staff"));
    expect(await userOf("latest@example.com")).toBeUndefined();
    expect((await enter("later", { provider: "staff", services: limited })).location).toBe(entered);
  });

  test("without passwords only an admin whose password was just set on the command line signs in with one", async () => {
    const { services } = test1;
    const providers = services.config.signIn.providers;
    const off: Services = {
      ...services,
      config: { ...services.config, signIn: { passwords: false, providers } },
    };
    const browser = openTestBrowser(off);
    const email = "rescue@example.com";
    const { id } = await createUser(services, { email, password: testPassword, isAdmin: true });
    await services.db
      .update(credentials)
      .set({ updatedAt: new Date(Date.now() - 7_200_000) })
      .where(eq(credentials.userId, id));
    const tryIt = async (path: string, body: object) => (await browser.auth(path, body)).status;
    expect(await tryIt("/sign-in/email", { email, password: testPassword })).toBe(403);
    expect(await tryIt("/sign-up/email", { email: "n@example.com", password: testPassword, name: "n" })).toBe(
      403,
    );
    expect(await tryIt("/change-password", { currentPassword: "a", newPassword: testPassword })).toBe(403);
    await resetPassword(services, { email, password: "set by the operator" });
    expect(await tryIt("/sign-in/email", { email, password: "set by the operator" })).toBe(200);
    // Nobody would ask for its code.
    expect(await tryIt("/two-factor/enable", { password: "set by the operator" })).toBe(403);
    expect(() => parseConfig({ signIn: { passwords: false } })).toThrow("nobody could sign in");
  });
});

describe("a provider that is set up wrong, down or hostile", () => {
  const enterForged = async (provider = "forged") => {
    const browser = openTestBrowser(test1.services);
    const { url = "" } = await start(browser, provider);
    const sent = new URL(url).searchParams;
    forging.nonce = sent.get("nonce") ?? "";
    const back = new URL(sent.get("redirect_uri") ?? "");
    back.search = new URLSearchParams({ code: "c", state: sent.get("state") ?? "" }).toString();
    return visit(test1.services, browser, back);
  };

  test("with a wrong secret the log has its words, and no secret", async () => {
    idp.people["anna"] = verified("anna@example.com");
    captured.lines.length = 0;
    expect((await enter("anna", { provider: "broken" })).location).toBe(
      problem("PROVIDER_REFUSED", "broken"),
    );
    const lines = captured.lines.join("\n");
    expect(lines).toContain("invalid_client");
    expect(lines).not.toContain("a-wrong-secret");
  });

  test.each([
    ["a slash at its end that the configuration lacks", "unslashed", "/application/o/studio/", 200],
    ["no slash at its end that the configuration has", "realm", "/realms/My%20Tools", 200],
    ["another path", "elsewhere", "/realms/two", 502],
  ])("whose name has %s", async (_what, provider, path, begun) => {
    const issuer = forging.issuer + path;
    forging.forgery.discovery = (document) => ({ ...document, issuer });
    forging.forgery.claims = (usual) => ({
      ...usual,
      iss: issuer,
      email: `${provider}@example.com`,
    });
    try {
      const { status } = await start(openTestBrowser(test1.services), provider);
      expect(status).toBe(begun);
      const end = status === 200 ? await enterForged(provider) : null;
      expect(end).toBe(status === 200 ? entered : null);
    } finally {
      delete forging.forgery.claims;
      delete forging.forgery.discovery;
    }
  });

  test.each([
    ["audience", { aud: "another" }],
    ["issuer", { iss: "https://else.example.org" }],
    ["nonce", { nonce: "another" }],
    ["time", { exp: Math.floor(Date.now() / 1000) - 600, iat: Math.floor(Date.now() / 1000) - 900 }],
  ])("an id token with a wrong %s lets nobody in", async (_, claims) => {
    forging.forgery.claims = (usual) => ({ ...usual, ...claims });
    expect(await enterForged()).toBe(problem("PROVIDER_ANSWER_INVALID", "forged"));
    expect(await userOf("forged@example.com")).toBeUndefined();
    delete forging.forgery.claims;
  });

  test.each([
    ["temporarily_unavailable", "authentication_expired", "SIGN_IN_EXPIRED"],
    ["temporarily_unavailable", "too busy", "PROVIDER_UNREACHABLE"],
    ["invalid_scope", "no such scope", "PROVIDER_REFUSED"],
  ])("an answer of %s (%s) is told as %s", async (error, description, code) => {
    const browser = openTestBrowser(test1.services);
    const { url = "" } = await start(browser, "forged");
    const sent = new URL(url).searchParams;
    const back = new URL(sent.get("redirect_uri") ?? "");
    const state = sent.get("state") ?? "";
    back.search = new URLSearchParams({ error, error_description: description, state }).toString();
    expect(await visit(test1.services, browser, back)).toBe(problem(code, "forged"));
  });

  test("groups may come from userinfo, of the same person as the id token", async () => {
    expect(await enterForged("informed")).toBe(problem("GROUP_MISSING", "informed"));
    forging.forgery.info = { groups: ["members"], sub: "p-2" };
    expect(await enterForged("informed")).toBe(problem("PROVIDER_ANSWER_INVALID", "informed"));
    expect(await userOf("forged@example.com")).toBeUndefined();
    forging.forgery.info = { groups: ["members"] };
    expect(await enterForged("informed")).toBe(entered);
    delete forging.forgery.info;
    await test1.services.db.delete(users).where(eq(users.email, "forged@example.com"));
  });

  test.each([
    {
      status: 401,
      headers: { "www-authenticate": 'Bearer error="invalid_token", error_description="audience"' },
    },
    { status: 401 },
    { status: 403 },
  ])(
    "userinfo that refuses the token (%o) takes nothing from an id token that has it all",
    async (refused) => {
      forging.forgery.refusedInfo = refused;
      try {
        expect(await enterForged()).toBe(entered);
        await test1.services.db.delete(users).where(eq(users.email, "forged@example.com"));
        // The provider does not say the groups: nobody gets in, and no role changes.
        expect(await enterForged("informed")).not.toBe(entered);
        expect(await enterForged("informed")).not.toBe(problem("GROUP_MISSING", "informed"));
        forging.forgery.claims = (usual) => ({ ...usual, groups: ["members"] });
        expect(await enterForged("informed")).toBe(entered);
        await test1.services.db.delete(users).where(eq(users.email, "forged@example.com"));
        forging.forgery.claims = (usual) => ({ ...usual, email: undefined });
        expect(await enterForged()).not.toBe(entered);
        // What fails for now, or is of somebody else, decides as before.
        delete forging.forgery.claims;
        forging.forgery.refusedInfo = { status: 503 };
        expect(await enterForged()).toBe(problem("PROVIDER_UNREACHABLE", "forged"));
      } finally {
        delete forging.forgery.claims;
        delete forging.forgery.refusedInfo;
      }
    },
  );

  test.each<[string, object | undefined, string | null]>([
    ["other clients", { account: { roles: ["members"] } }, "PROVIDER_UNREACHABLE"],
    ["the client without roles", { studio: {} }, "PROVIDER_UNREACHABLE"],
    ["nobody", undefined, "PROVIDER_UNREACHABLE"],
    ["the client with no role", { studio: { roles: [] } }, "GROUP_MISSING"],
    ["the client", { studio: { roles: ["members"] } }, null],
  ])(
    "a refused userinfo beside an id token with roles of %s decides by a whole path alone",
    async (_, roles, code) => {
      forging.forgery.refusedInfo = { status: 403 };
      forging.forgery.claims = (usual) => ({ ...usual, resource_access: roles });
      try {
        const expected = code === null ? entered : problem(code, "dotted");
        expect(await enterForged("dotted")).toBe(expected);
      } finally {
        delete forging.forgery.claims;
        delete forging.forgery.refusedInfo;
        await test1.services.db.delete(users).where(eq(users.email, "forged@example.com"));
      }
    },
  );

  test("an answer that names another issuer, or none although the provider names itself, lets nobody in", async () => {
    idp.people["mixed"] = verified("mixed@example.com");
    const answerWith = async (change: (query: URLSearchParams) => void) => {
      const browser = openTestBrowser(test1.services);
      const { url = "" } = await start(browser, "house");
      const back = await passLoginPages(url, "mixed");
      expect(back.searchParams.get("iss")).toBe(idp.issuer);
      change(back.searchParams);
      return visit(test1.services, browser, back);
    };
    const wrong = problem("PROVIDER_ANSWER_INVALID");
    expect(await answerWith((query) => query.set("iss", "https://else.example.org"))).toBe(wrong);
    expect(await answerWith((query) => query.delete("iss"))).toBe(wrong);
    expect(captured.lines.at(-1)).toContain(`"issuer":"${idp.issuer}","iss":""`);
    expect(await answerWith(() => undefined)).toBe(entered);
  });

  test.each(["slashed", "document"])("its name counts as it spells it itself (%s)", async (provider) => {
    idp.people[provider] = verified(`${provider}@example.com`);
    expect((await enter(provider, { provider })).location).toBe(entered);
  });

  test("that cannot be asked for its name lets nobody in", async () => {
    const { services } = test1;
    const browser = openTestBrowser(services);
    const { url = "" } = await start(browser, "house");
    const back = await passLoginPages(url, "mixed");
    // A process that was started meanwhile, and does not reach it.
    const house = { name: "The House", issuer: "http://localhost:9", clientId: testClientId };
    const { signIn } = parseConfig({ signIn: { providers: { house } } });
    const restarted = { ...services, config: { ...services.config, signIn } };
    expect(await visit(restarted, browser, back)).toBe(problem("PROVIDER_UNREACHABLE"));
  });

  test("its clock may differ by less than a minute", async () => {
    const now = Math.floor(Date.now() / 1000);
    forging.forgery.claims = (usual) => ({ ...usual, iat: now + 40, exp: now - 20 });
    expect(await enterForged()).toBe(entered);
    delete forging.forgery.claims;
  });

  test("HTML or a failure of its token endpoint is told as a provider that does not answer", async () => {
    forging.forgery.token = (_, response) =>
      response.writeHead(502, { "content-type": "text/html" }).end("<p>");
    expect(await enterForged()).toBe(problem("PROVIDER_UNREACHABLE", "forged"));
    forging.forgery.token = (request) => request.socket.destroy();
    expect(await enterForged()).toBe(problem("PROVIDER_UNREACHABLE", "forged"));
    delete forging.forgery.token;
  });
});

describe("the address of a person", () => {
  const trusting = { trustsEmail: true } as IdentityProvider;
  const doubting = { trustsEmail: false } as IdentityProvider;

  test.each([
    [{ email: ["Ada@Example.com"], email_verified: true }, "ada@example.com", [true, true]],
    [{ emails: ["ada@example.com"] }, "ada@example.com", [true, false]],
    // What is said of `email` is not said of another claim.
    [{ emails: ["ada@example.com"], email_verified: true }, "ada@example.com", [true, false]],
    [{ email: null, emails: ["ada@example.com"], email_verified: true }, "ada@example.com", [true, false]],
    [{ email: null, emails: ["ada@example.com"], email_verified: false }, "ada@example.com", [true, false]],
    [
      { email: "ada@example.com", emails: ["other@example.com"], email_verified: false },
      "ada@example.com",
      [false, false],
    ],
  ])("is read from %j", (claims, email, emailVerified) => {
    const people = [trusting, doubting].map((provider) => personOf({ sub: "s", ...claims }, provider));
    expect(people.map((person) => person?.email)).toEqual([email, email]);
    expect(people.map((person) => person?.emailVerified)).toEqual(emailVerified);
  });

  test.each([
    { email: ["ada@example.com", "other@example.com"] },
    { email: [], emails: ["ada@example.com"] },
    { email: [["ada@example.com"]] },
    { email: "", emails: ["ada@example.com"] },
    { preferred_username: "ada@example.com" },
  ])("is not guessed from %j", (claims) => {
    expect(personOf({ sub: "s", ...claims }, trusting)).toBeNull();
  });
});
