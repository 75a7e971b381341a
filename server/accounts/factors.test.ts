import { createHmac } from "node:crypto";
import { noMailServer, readNotices } from "@atelier/testing/deliveries";
import { addImage } from "@atelier/testing/jobs";
import {
  captureLog,
  createTestServices,
  openAccount,
  openGuest,
  openTestBrowser,
  race,
  testPassword,
  type TestBrowser,
  type TestServices,
} from "@atelier/testing/services";
import { eq, like, sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { schema } from "../db/index.ts";
import { openServices } from "../services.ts";
import {
  countUnreadableFactors,
  createApiKey,
  type KeyRight,
  readSecurity,
  removePasskey,
  resetPassword,
  resolveCaller,
  setAdminFactor,
} from "./index.ts";
import { removeFactors } from "./credentials.ts";

let fixture: TestServices;

beforeAll(async () => {
  fixture = await createTestServices({ env: noMailServer });
});
afterAll(() => fixture.close());
beforeEach(async () => {
  // No step of 30 seconds ends in the middle of a test.
  vi.useFakeTimers({ toFake: ["Date"] });
  await fixture.services.db.delete(schema.rateLimits);
});
afterEach(() => vi.useRealTimers());

const callerOf = ({ headers }: TestBrowser) => resolveCaller(fixture.services, headers);
const userOf = async (browser: TestBrowser) => (await callerOf(browser))?.userId ?? "";
const bodyOf = async (response: Response) => Object(await response.json());

const secretOf = (uri: string) => new URL(uri).searchParams.get("secret") ?? "";

function fromBase32(text: string): Buffer {
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
  const bits = Array.from(text, (letter) => letters.indexOf(letter).toString(2).padStart(5, "0")).join("");
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
}

/** The code of an app (RFC 6238) this many steps of 30 seconds from now. */
function codeOf(uri: string, steps = 0): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + steps));
  const mac = createHmac("sha1", fromBase32(secretOf(uri)))
    .update(counter)
    .digest();
  const number = mac.readUInt32BE((mac.at(-1) ?? 0) & 15) & 0x7fffffff;
  return String(number % 1_000_000).padStart(6, "0");
}

/** An account with an app; the code of the step before this one is spent. */
async function openWithApp(name: string) {
  const email = `${name}@example.com`;
  const browser = await openAccount(fixture.services, email);
  const { totpURI, backupCodes } = await bodyOf(
    await browser.auth("/two-factor/enable", { password: testPassword }),
  );
  const confirmed = await browser.auth("/two-factor/verify-totp", { code: codeOf(totpURI, -1) });
  expect(confirmed.status).toBe(200);
  const enter = (from: TestBrowser) => from.auth("/sign-in/email", { email, password: testPassword });
  return { email, browser, enter, uri: String(totpURI), codes: backupCodes as string[] };
}

const actsOf = async (personId: string) => {
  const { auditEntries } = schema;
  const isTheirs = sql`${personId} in (${auditEntries.actorId}, ${auditEntries.personId})`;
  const rows = await fixture.services.db.select().from(auditEntries).where(isTheirs).orderBy(auditEntries.id);
  return rows.map(({ kind, outcome }) => (outcome === "ok" ? kind : `${kind} ${outcome}`));
};

test("S1 an app counts once its first code is there, and then other devices sign in again", async () => {
  const { services } = fixture;
  const email = "first@example.com";
  const browser = await openAccount(services, email);
  const other = openTestBrowser(services);
  const enter = () => other.auth("/sign-in/email", { email, password: testPassword });
  await enter();
  expect((await browser.auth("/two-factor/enable", { password: "wrong password" })).status).toBe(400);
  const { totpURI } = await bodyOf(await browser.auth("/two-factor/enable", { password: testPassword }));
  expect(totpURI).toMatch(/^otpauth:\/\/totp\/Atelier:first%40example\.com\?/);
  expect((await bodyOf(await enter())).twoFactorRedirect).toBeUndefined();
  expect((await browser.auth("/two-factor/verify-totp", { code: "000000" })).status).toBe(401);
  expect(await readSecurity(services, await userOf(browser))).toMatchObject({ hasApp: false });
  const first = { code: codeOf(totpURI) };
  expect((await browser.auth("/two-factor/verify-totp", first)).status).toBe(200);
  expect(await readSecurity(services, await userOf(browser))).toMatchObject({
    hasApp: true,
    recoveryCodes: 10,
    hasPassword: true,
  });
  expect(await callerOf(other)).toBeNull();
  expect(await callerOf(browser)).not.toBeNull();
  expect((await bodyOf(await enter())).twoFactorRedirect).toBe(true);
  expect(await callerOf(other)).toBeNull();
  // Seen over the shoulder.
  const again = await other.auth("/two-factor/verify-totp", first);
  expect([again.status, (await bodyOf(again)).code]).toEqual([401, "CODE_USED"]);
  const next = codeOf(totpURI, 1);
  expect((await other.auth("/two-factor/verify-totp", { code: next })).status).toBe(200);
  expect(await callerOf(other)).toMatchObject({ via: "session" });
  expect((await actsOf(await userOf(browser))).slice(-3)).toEqual([
    "account.factor_added",
    "sign_in.failed code_used",
    "sign_in.done",
  ]);
});

test("S1 a code is taken with blanks, and in the digits of another script or of a wide font", async () => {
  const { enter, uri } = await openWithApp("digits");
  const arabic = (zero: number) => (code: string) =>
    code.replace(/\d/g, (digit) => String.fromCharCode(zero + Number(digit)));
  const forms = [
    (code: string) => ` ${code.slice(0, 3)}\u00a0${code.slice(3)}\n`,
    arabic(0xff10),
    arabic(0x0660),
    arabic(0x06f0),
  ];
  for (const form of forms) {
    vi.setSystemTime(Date.now() + 120_000);
    const other = openTestBrowser(fixture.services);
    await enter(other);
    expect((await other.auth("/two-factor/verify-totp", { code: form(codeOf(uri)) })).status).toBe(200);
    expect(await callerOf(other)).toMatchObject({ via: "session" });
    const again = openTestBrowser(fixture.services);
    await enter(again);
    expect((await bodyOf(await again.auth("/two-factor/verify-totp", { code: codeOf(uri) }))).code).toBe(
      "CODE_USED",
    );
  }
});

test("S1 with another AUTH_SECRET no code is right, and the answer says so without counting a try", async () => {
  const { services } = fixture;
  const { email, browser, codes, uri } = await openWithApp("other-secret");
  const userId = await userOf(browser);
  expect(await countUnreadableFactors(services)).toBe(0);
  const other = await openServices({
    env: { ...services.env, AUTH_SECRET: "another-secret-for-tests-that-is-long-enough" },
    config: services.config,
    name: "other",
  });
  expect(await countUnreadableFactors(other)).toBe(await services.db.$count(schema.twoFactors));
  const late = openTestBrowser(other);
  await late.auth("/sign-in/email", { email, password: testPassword });
  for (const [path, code] of [
    ["/two-factor/verify-totp", codeOf(uri)],
    ["/two-factor/verify-backup-code", codes[0]],
  ] as const)
    for (const _try of [1, 2, 3, 4, 5, 6]) {
      const answer = await late.auth(path, { code });
      expect([answer.status, (await bodyOf(answer)).code]).toEqual([409, "FACTOR_UNREADABLE"]);
    }
  expect((await actsOf(userId)).at(-1)).toBe("sign_in.failed factor_unreadable");
  await other.close();
  const back = openTestBrowser(services);
  await back.auth("/sign-in/email", { email, password: testPassword });
  expect((await back.auth("/two-factor/verify-totp", { code: codeOf(uri) })).status).toBe(200);
});

test("S1 what a sign-in checked before the app was set up, or the password reset, begins no session", async () => {
  const { services } = fixture;
  const email = "overtaken-app@example.com";
  const browser = await openAccount(services, email);
  const userId = await userOf(browser);
  const { totpURI } = await bodyOf(await browser.auth("/two-factor/enable", { password: testPassword }));
  const late = openTestBrowser(services);
  await race(services, userId, [
    () => browser.auth("/two-factor/verify-totp", { code: codeOf(totpURI, -1) }),
    () => late.auth("/sign-in/email", { email, password: testPassword }),
  ]);
  expect([await callerOf(late), await callerOf(browser)]).toMatchObject([null, { userId }]);

  await late.auth("/sign-in/email", { email, password: testPassword });
  const [, entered] = await race(services, userId, [
    () => resetPassword(services, { email, password: "another long password" }),
    () => late.auth("/two-factor/verify-totp", { code: codeOf(totpURI), trustDevice: true }),
  ]);
  if (entered.status === "rejected") throw entered.reason;
  expect([entered.value.status, (await bodyOf(entered.value)).code]).toEqual([401, "SIGN_IN_OVERTAKEN"]);
  expect(await services.db.$count(schema.sessions, eq(schema.sessions.userId, userId))).toBe(0);
  expect(await services.db.$count(schema.verifications, eq(schema.verifications.value, userId))).toBe(0);
});

test("S1 the database holds neither the key of the app nor a recovery code", async () => {
  const { browser, uri, codes } = await openWithApp("sealed");
  const isOwn = eq(schema.twoFactors.userId, await userOf(browser));
  const [row] = await fixture.services.db.select().from(schema.twoFactors).where(isOwn);
  for (const plain of [secretOf(uri), fromBase32(secretOf(uri)).toString(), codes[0] ?? ""])
    expect(JSON.stringify(row)).not.toContain(plain);
});

test("S1 of two sign-ins with one code at once one succeeds; a code two steps away is wrong", async () => {
  const { enter, uri } = await openWithApp("twice");
  const browsers = [openTestBrowser(fixture.services), openTestBrowser(fixture.services)];
  for (const browser of browsers) {
    await enter(browser);
    const away = await browser.auth("/two-factor/verify-totp", {
      code: codeOf(uri, -3 - browsers.indexOf(browser)),
    });
    expect((await bodyOf(away)).code).toBe("INVALID_CODE");
  }
  const code = codeOf(uri);
  const answers = await Promise.all(
    browsers.map((browser) => browser.auth("/two-factor/verify-totp", { code })),
  );
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
});

test("S1 five wrong codes lock the account for other browsers too, also for the right code", async () => {
  const { enter, uri, browser, codes } = await openWithApp("locked");
  const thief = openTestBrowser(fixture.services);
  await enter(thief);
  for (let at = 0; at < 5; at += 1)
    expect((await thief.auth("/two-factor/verify-totp", { code: `00000${at}` })).status).toBe(401);
  const owner = openTestBrowser(fixture.services);
  await enter(owner);
  const refused = await owner.auth("/two-factor/verify-totp", { code: codeOf(uri) });
  expect([refused.status, (await bodyOf(refused)).code]).toEqual([429, "ACCOUNT_TEMPORARILY_LOCKED"]);
  const recovery = await owner.auth("/two-factor/verify-backup-code", { code: codes[0] });
  expect(recovery.status).toBe(429);
  const { twoFactors } = schema;
  const [row] = await fixture.services.db
    .select({ until: twoFactors.lockedUntil })
    .from(twoFactors)
    .where(eq(twoFactors.userId, await userOf(browser)));
  const minutes = ((row?.until?.getTime() ?? 0) - Date.now()) / 60_000;
  expect([minutes > 14, minutes <= 15]).toEqual([true, true]);
  await fixture.services.db.update(twoFactors).set({ lockedUntil: new Date(Date.now() - 1) });
  expect((await owner.auth("/two-factor/verify-totp", { code: codeOf(uri, 1) })).status).toBe(200);
});

test("S1 a recovery code works once; new ones end the old", async () => {
  const { enter, codes, browser } = await openWithApp("recovery");
  const other = openTestBrowser(fixture.services);
  const use = async (code: string | undefined) => {
    await enter(other);
    return (await other.auth("/two-factor/verify-backup-code", { code })).status;
  };
  expect(await use(codes[0])).toBe(200);
  expect(await use(codes[0])).toBe(401);
  expect(await readSecurity(fixture.services, await userOf(browser))).toMatchObject({ recoveryCodes: 9 });
  const made = await browser.auth("/two-factor/generate-backup-codes", { password: testPassword });
  const { backupCodes } = await bodyOf(made);
  expect(await use(codes[1])).toBe(401);
  expect(await use(backupCodes[1])).toBe(200);
  expect((await readNotices(fixture.services, await userOf(browser))).slice(1)).toEqual([
    "account.recovery_codes_made",
  ]);
});

test("S1 a half-done sign-in has no rights and ends", async () => {
  const { services } = fixture;
  const { enter, uri } = await openWithApp("half");
  const browser = openTestBrowser(services);
  await enter(browser);
  expect(await callerOf(browser)).toBeNull();
  for (const path of ["/revoke-sessions", "/two-factor/disable", "/two-factor/generate-backup-codes"])
    expect([path, (await browser.auth(path, { password: testPassword })).status]).toEqual([path, 401]);
  await services.db
    .update(schema.verifications)
    .set({ expiresAt: new Date(Date.now() - 1) })
    .where(like(schema.verifications.identifier, "2fa-%"));
  const late = await browser.auth("/two-factor/verify-totp", { code: codeOf(uri) });
  expect([late.status, (await bodyOf(late)).code]).toEqual([401, "INVALID_TWO_FACTOR_COOKIE"]);
  expect(await callerOf(browser)).toBeNull();
});

test("S1 a trusted browser needs no code, until a factor or the password changes", async () => {
  const { services } = fixture;
  const { enter, uri, browser } = await openWithApp("trust");
  const other = openTestBrowser(services);
  await enter(other);
  await other.auth("/two-factor/verify-totp", { code: codeOf(uri), trustDevice: true });
  await other.auth("/sign-out");
  expect((await bodyOf(await enter(other))).twoFactorRedirect).toBeUndefined();
  expect(await callerOf(other)).not.toBeNull();
  expect((await browser.auth("/two-factor/disable", { password: "wrong password" })).status).toBe(400);
  expect((await browser.auth("/two-factor/disable", { password: testPassword })).status).toBe(200);
  expect(await callerOf(other)).toBeNull();
  expect(await callerOf(browser)).not.toBeNull();
  expect(
    await services.db.$count(schema.twoFactors, eq(schema.twoFactors.userId, await userOf(browser))),
  ).toBe(0);
  const { totpURI } = await bodyOf(await browser.auth("/two-factor/enable", { password: testPassword }));
  await browser.auth("/two-factor/verify-totp", { code: codeOf(totpURI) });
  expect((await bodyOf(await enter(other))).twoFactorRedirect).toBe(true);
  expect(await readNotices(services, await userOf(browser))).toEqual([
    "account.factor_added",
    "account.factor_removed",
    "account.factor_added",
  ]);
});

test("S2 a guest who signs in with a code keeps all, and stays a guest until the code is there", async () => {
  const { services } = fixture;
  const { enter, uri, browser } = await openWithApp("merged");
  const accountId = await userOf(browser);
  const guest = await openGuest(services);
  const guestId = await userOf(guest);
  const id = await addImage(services, guestId);
  await enter(guest);
  expect(await callerOf(guest)).toMatchObject({ userId: guestId, isGuest: true });
  await guest.auth("/two-factor/verify-totp", { code: "111111" });
  expect(await userOf(guest)).toBe(guestId);
  expect((await guest.auth("/two-factor/verify-totp", { code: codeOf(uri) })).status).toBe(200);
  expect(await userOf(guest)).toBe(accountId);
  const { images } = schema;
  const [row] = await services.db.select({ ownerId: images.ownerId }).from(images).where(eq(images.id, id));
  expect(row).toEqual({ ownerId: accountId });
});

test("S1 a suspended user does not get past the second step", async () => {
  const { services } = fixture;
  const { enter, uri, browser } = await openWithApp("banned");
  const userId = await userOf(browser);
  const other = openTestBrowser(services);
  await enter(other);
  await services.db.update(schema.users).set({ banned: true }).where(eq(schema.users.id, userId));
  expect((await other.auth("/two-factor/verify-totp", { code: codeOf(uri) })).status).toBe(403);
  expect(await callerOf(other)).toBeNull();
});

test("S1 factors that are removed from outside: all sessions end and the password alone signs in", async () => {
  const { services } = fixture;
  const { enter, browser } = await openWithApp("lost");
  const userId = await userOf(browser);
  const remove = () => services.db.transaction((tx) => removeFactors(tx, userId));
  expect(await remove()).toBe(true);
  expect(await callerOf(browser)).toBeNull();
  const entered = await enter(browser);
  expect(await bodyOf(entered)).toMatchObject({ user: { id: userId } });
  expect(await userOf(browser)).toBe(userId);
  expect(await remove()).toBe(false);
});

test("S1 passwords cannot be guessed where a factor is changed", async () => {
  const { browser } = await openWithApp("guessed");
  const statuses = new Set<number>();
  for (let at = 0; at < 11; at += 1)
    statuses.add((await browser.auth("/two-factor/disable", { password: `wrong password ${at}` })).status);
  expect([...statuses]).toEqual([400, 429]);
});

test("S1 a new password ends the sign-ins that wait for a code, and the trust in browsers", async () => {
  const { services } = fixture;
  const { enter, uri, browser } = await openWithApp("changed");
  const trusted = openTestBrowser(services);
  await enter(trusted);
  await trusted.auth("/two-factor/verify-totp", { code: codeOf(uri), trustDevice: true });
  const waiting = openTestBrowser(services);
  await enter(waiting);
  const { verifications } = schema;
  const left = async () => {
    const isTheirs = eq(verifications.value, await userOf(browser));
    const rows = await services.db.select().from(verifications).where(isTheirs);
    return new Set(rows.map(({ identifier }) => identifier.split("-")[0]));
  };
  expect(await left()).toEqual(new Set(["2fa", "trust"]));
  const newPassword = "another long password";
  const form = { currentPassword: testPassword, newPassword, revokeOtherSessions: true };
  expect((await browser.auth("/change-password", form)).status).toBe(200);
  expect(await left()).toEqual(new Set());
  const late = await waiting.auth("/two-factor/verify-totp", { code: codeOf(uri, 1) });
  expect([late.status, (await bodyOf(late)).code]).toEqual([401, "INVALID_TWO_FACTOR_COOKIE"]);
});

test("S1 a sign-in with a code that the audit log cannot take stands", async () => {
  const { services } = fixture;
  const { enter, uri } = await openWithApp("unaudited");
  const browser = openTestBrowser(services);
  await enter(browser);
  await services.db.execute(sql`alter table audit_entries rename to audit_entries_away`);
  try {
    const wrong = await browser.auth("/two-factor/verify-totp", { code: "111111" });
    expect(wrong.status).toBe(401);
    expect((await browser.auth("/two-factor/verify-totp", { code: codeOf(uri) })).status).toBe(200);
    const again = openTestBrowser(services);
    await enter(again);
    expect((await again.auth("/two-factor/verify-totp", { code: codeOf(uri) })).status).toBe(401);
  } finally {
    await services.db.execute(sql`alter table audit_entries_away rename to audit_entries`);
  }
  expect(await callerOf(browser)).toMatchObject({ via: "session" });
});

test("S1 a change of factors that the audit log cannot take stands, ends other sessions and is in the log", async () => {
  const captured = captureLog();
  const services = { ...fixture.services, log: captured.log };
  const { enter, uri } = await openWithApp("unaudited-change");
  const browser = openTestBrowser(services);
  await enter(browser);
  await browser.auth("/two-factor/verify-totp", { code: codeOf(uri) });
  const other = openTestBrowser(services);
  await enter(other);
  await other.auth("/two-factor/verify-totp", { code: codeOf(uri, 1) });
  await services.db.execute(sql`alter table audit_entries rename to audit_entries_away`);
  try {
    expect((await browser.auth("/two-factor/disable", { password: testPassword })).status).toBe(200);
  } finally {
    await services.db.execute(sql`alter table audit_entries_away rename to audit_entries`);
  }
  expect([await callerOf(other), await callerOf(browser)]).toEqual([null, expect.anything()]);
  const userId = await userOf(browser);
  expect(await readSecurity(services, userId)).toMatchObject({ hasApp: false });
  const [line = "{}"] = captured.lines.filter((one) => one.includes("act not added"));
  expect(JSON.parse(line).act).toEqual({ kind: "account.factor_removed", by: userId });
});

test("S2 a guest whose pictures no longer fit at the code stays a guest, and the code stays unspent", async () => {
  const { services } = fixture;
  const { enter, uri, browser } = await openWithApp("full");
  const accountId = await userOf(browser);
  const guest = await openGuest(services);
  const guestId = await userOf(guest);
  await enter(guest);
  const id = await addImage(services, guestId);
  const { images, users } = schema;
  const setQuota = (quotaBytes: number | null) =>
    services.db.update(users).set({ quotaBytes }).where(eq(users.id, accountId));
  await setQuota(0);
  const code = codeOf(uri);
  const refused = await guest.auth("/two-factor/verify-totp", { code });
  expect([refused.status, (await bodyOf(refused)).message]).toEqual([
    403,
    expect.stringContaining("do not fit"),
  ]);
  expect(await callerOf(guest)).toMatchObject({ userId: guestId, isGuest: true });
  expect(await services.db.$count(images, eq(images.id, id))).toBe(1);
  await setQuota(null);
  expect((await guest.auth("/two-factor/verify-totp", { code })).status).toBe(200);
  expect(await userOf(guest)).toBe(accountId);
});

/** Signs `name` in without a factor, as an admin of a studio that asks for one. */
async function openUnfactoredAdmin(name: string) {
  const { services } = fixture;
  const browser = await openAccount(services, `${name}@example.com`);
  const userId = await userOf(browser);
  await services.db.update(schema.users).set({ role: "admin" }).where(eq(schema.users.id, userId));
  const { key } = await createApiKey(services, { userId, name: "k" });
  const ofKey = () => resolveCaller(services, new Headers({ authorization: `Bearer ${key}` }));
  return { browser, userId, ofKey };
}

describe("where admins need a second factor", () => {
  const setRule = (isNeeded: boolean, adminId: string | null = null, sessionId: string | null = null) =>
    setAdminFactor(fixture.services, { isNeeded, adminId, sessionId });
  afterEach(() => setRule(false));

  test("an admin without one is none, nor is a key of theirs, until it is set up", async () => {
    const { browser, userId, ofKey } = await openUnfactoredAdmin("bare-admin");
    await expect(setRule(true, userId)).rejects.toMatchObject({ code: "conflict" });
    await setRule(true);
    for (const caller of [await callerOf(browser), await ofKey()])
      expect(caller).toMatchObject({ userId, isAdmin: false, adminLack: "factor" });
    // The way to set one up stays open.
    const { totpURI } = await bodyOf(await browser.auth("/two-factor/enable", { password: testPassword }));
    expect((await browser.auth("/two-factor/verify-totp", { code: codeOf(totpURI) })).status).toBe(200);
    for (const caller of [await callerOf(browser), await ofKey()])
      expect([caller?.isAdmin, caller?.adminLack]).toEqual([true, undefined]);
    await setRule(false, userId);
    // By a key, or in a session that began without it, nobody turns it on.
    const told = { code: "conflict", message: expect.stringContaining("Sign out first") };
    await expect(setRule(true, userId)).rejects.toMatchObject(told);
    await setRule(true, userId, (await callerOf(browser))?.sessionId);
    expect((await actsOf(userId)).slice(-2)).toEqual(["user.admin_factor_set", "user.admin_factor_set"]);
    expect((await browser.auth("/two-factor/disable", { password: testPassword })).status).toBe(200);
    expect(await callerOf(browser)).toMatchObject({ isAdmin: false, adminLack: "factor" });
    await setRule(false);
    expect(await callerOf(browser)).toMatchObject({ isAdmin: true });
  });

  test("a trusted browser counts; the password alone beside a passkey does not, and changes no factor", async () => {
    const { services } = fixture;
    const { enter, uri, browser } = await openWithApp("trusted-admin");
    const userId = await userOf(browser);
    await services.db.update(schema.users).set({ role: "admin" }).where(eq(schema.users.id, userId));
    await setRule(true);
    const other = openTestBrowser(services);
    await enter(other);
    await other.auth("/two-factor/verify-totp", { code: codeOf(uri), trustDevice: true });
    await other.auth("/sign-out");
    await enter(other);
    expect(await callerOf(other)).toMatchObject({ isAdmin: true });
    await services.db.delete(schema.twoFactors).where(eq(schema.twoFactors.userId, userId));
    await services.db
      .update(schema.users)
      .set({ twoFactorEnabled: false })
      .where(eq(schema.users.id, userId));
    await services.db.insert(schema.passkeys).values({
      id: "of-trusted-admin",
      userId,
      publicKey: "k",
      credentialID: "of-trusted-admin",
      counter: 0,
      deviceType: "multiDevice",
      backedUp: true,
    });
    const thief = openTestBrowser(services);
    await enter(thief);
    expect(await callerOf(thief)).toMatchObject({ isAdmin: false, adminLack: "sign_in" });
    const added = await thief.auth("/two-factor/enable", { password: testPassword });
    expect([added.status, (await bodyOf(added)).code]).toEqual([403, "SECOND_FACTOR_FIRST"]);
    const answer = { response: { id: "x", response: {} } };
    expect(await bodyOf(await thief.auth("/passkey/verify-registration", answer))).toMatchObject({
      code: "SECOND_FACTOR_FIRST",
    });
    const { sessionId, adminLack } = (await callerOf(thief)) ?? {};
    const removal = removePasskey(services, { userId, sessionId, adminLack, id: "of-trusted-admin" });
    await expect(removal).rejects.toMatchObject({ code: "forbidden" });
  });

  /** An admin with an app, who signed in with it and has a passkey beside it; and the app's address. */
  async function openStrongAdmin(name: string) {
    const { services } = fixture;
    const opened = await openWithApp(name);
    const userId = await userOf(opened.browser);
    await services.db.update(schema.users).set({ role: "admin" }).where(eq(schema.users.id, userId));
    const of = { userId, id: name, credentialID: name, publicKey: "k", counter: 0 };
    await services.db.insert(schema.passkeys).values({ ...of, deviceType: "multiDevice", backedUp: true });
    await setRule(true);
    return { ...opened, userId };
  }

  test("a new password, and turning the app off beside a passkey, take no rights away; a weak session gets none", async () => {
    const { browser, enter, userId } = await openStrongAdmin("kept-admin");
    const isAdmin = async (of: TestBrowser) => (await callerOf(of))?.isAdmin;
    const change = (of: TestBrowser, currentPassword: string, newPassword: string) =>
      of.auth("/change-password", { currentPassword, newPassword, revokeOtherSessions: true });
    const second = "another long password";
    expect((await change(browser, testPassword, second)).status).toBe(200);
    expect(await isAdmin(browser)).toBe(true);
    expect((await browser.auth("/two-factor/disable", { password: second })).status).toBe(200);
    expect(await isAdmin(browser)).toBe(true);
    expect((await change(browser, second, testPassword)).status).toBe(200);
    const thief = openTestBrowser(fixture.services);
    await enter(thief);
    expect(await callerOf(thief)).toMatchObject({ userId, adminLack: "sign_in" });
    expect((await change(thief, testPassword, second)).status).toBe(200);
    expect(await callerOf(thief)).toMatchObject({ userId, adminLack: "sign_in" });
  });

  test("a sign-in for which the library asked no code is weak, also with an app that is turned off by half", async () => {
    const { services } = fixture;
    const { enter, userId } = await openStrongAdmin("halfway-admin");
    const { users, passkeys } = schema;
    await services.db.update(users).set({ twoFactorEnabled: false }).where(eq(users.id, userId));
    const other = openTestBrowser(services);
    await enter(other);
    expect(await callerOf(other)).toMatchObject({ userId, adminLack: "sign_in" });
    // An app for which nobody is asked is none, so that another factor can be set up.
    await services.db.delete(passkeys).where(eq(passkeys.userId, userId));
    expect(await callerOf(other)).toMatchObject({ userId, adminLack: "factor" });
    expect((await other.auth("/two-factor/disable", { password: testPassword })).status).toBe(200);
    expect((await other.auth("/two-factor/enable", { password: testPassword })).status).toBe(200);
  });

  test("without passwords an app, which nobody asks for then, is no factor", async () => {
    const { services } = fixture;
    const { browser, userId } = await openStrongAdmin("appless-admin");
    const { config } = services;
    const without = { ...services, config: { ...config, signIn: { ...config.signIn, passwords: false } } };
    expect(await resolveCaller(without, browser.headers)).toMatchObject({ isAdmin: true });
    await services.db.delete(schema.passkeys).where(eq(schema.passkeys.userId, userId));
    expect(await callerOf(browser)).toMatchObject({ isAdmin: true });
    expect(await resolveCaller(without, browser.headers)).toMatchObject({ adminLack: "factor" });
    // So that the settings offer no app, which would be refused.
    expect(await readSecurity(services, userId)).toMatchObject({ hasPassword: true });
    expect(await readSecurity(without, userId)).toMatchObject({ hasPassword: false });
  });

  test("a key that never had an admin's rights goes on as it was", async () => {
    const { userId } = await openUnfactoredAdmin("rights-admin");
    await setRule(true);
    const callerWith = async (rights: KeyRight[]) => {
      const { key } = await createApiKey(fixture.services, { userId, name: "k", rights });
      return resolveCaller(fixture.services, new Headers({ authorization: `Bearer ${key}` }));
    };
    expect((await callerWith(["read"]))?.adminLack).toBeUndefined();
    const scaler = await callerWith(["metrics"]);
    expect(scaler).toMatchObject({ adminLack: "factor", rights: new Set() });
  });
});
