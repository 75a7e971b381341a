import { createHash, generateKeyPairSync, randomBytes, sign } from "node:crypto";
import { noMailServer, readNotices } from "@atelier/testing/deliveries";
import {
  createTestServices,
  openAccount,
  openGuest,
  openTestBrowser,
  race,
  testOrigin,
  testPassword,
  type TestBrowser,
  type TestServices,
} from "@atelier/testing/services";
import { and, eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { schema } from "../db/index.ts";
import {
  addPassword,
  authOf,
  confirmPassword,
  createResetLink,
  endOtherSessions,
  readSecurity,
  removePasskey,
  removePassword,
  resetPassword,
  resolveCaller,
  spendResetLink,
} from "./index.ts";
import { removeFactors } from "./credentials.ts";

let fixture: TestServices;

beforeAll(async () => {
  fixture = await createTestServices({ env: noMailServer });
});
afterAll(() => fixture.close());
beforeEach(() => fixture.services.db.delete(schema.rateLimits));

const callerOf = ({ headers }: TestBrowser) => resolveCaller(fixture.services, headers);
const sha256 = (data: string | Buffer) => createHash("sha256").update(data).digest();
const answerOf = async (response: Response) => [response.status, Object(await response.json()).code];

async function ask(browser: TestBrowser, path: string) {
  const request = new Request(`${testOrigin}/api/auth/passkey${path}`, { headers: browser.headers });
  const response = await authOf(fixture.services).handler(request);
  browser.keepCookies(response);
  return response;
}

const optionsOf = async (browser: TestBrowser, path: string) =>
  Object(await (await ask(browser, path)).json());

/** A device with one key of the curve P-256 (COSE -7, no attestation), as WebAuthn level 2 describes it. */
function makeDevice() {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const { x = "", y = "" } = publicKey.export({ format: "jwk" });
  const [id, hex] = [randomBytes(16), (text: string) => Buffer.from(text, "hex")];
  const cose = Buffer.concat([
    hex("a5010203262001215820"),
    Buffer.from(x, "base64url"),
    hex("225820"),
    Buffer.from(y, "base64url"),
  ]);
  const clientData = (type: string, challenge: string) =>
    Buffer.from(JSON.stringify({ type, challenge, origin: testOrigin, crossOrigin: false }));
  const dataOf = (rpId: string, { flags, counter }: { flags: number; counter: number }) => {
    const tail = Buffer.alloc(5);
    tail.writeUInt8(flags);
    tail.writeUInt32BE(counter, 1);
    return Buffer.concat([sha256(rpId), tail]);
  };
  const sent = (response: Record<string, Buffer>) => {
    const texts = Object.entries(response).map(([name, value]) => [name, value.toString("base64url")]);
    const name = id.toString("base64url");
    return {
      id: name,
      rawId: name,
      type: "public-key",
      clientExtensionResults: {},
      response: Object.fromEntries(texts),
    };
  };
  return {
    register({ challenge, rp }: { challenge: string; rp: { id: string } }, { verifies = true } = {}) {
      const data = dataOf(rp.id, { flags: verifies ? 0x45 : 0x41, counter: 0 });
      const authData = Buffer.concat([data, Buffer.alloc(16), Buffer.from([0, id.length]), id, cose]);
      const head = Buffer.concat([
        hex("a363"),
        Buffer.from("fmt"),
        hex("64"),
        Buffer.from("none"),
        hex("67"),
        Buffer.from("attStmt"),
      ]);
      const parts = [
        head,
        hex("a068"),
        Buffer.from("authData"),
        Buffer.from([0x58, authData.length]),
        authData,
      ];
      return sent({
        clientDataJSON: clientData("webauthn.create", challenge),
        attestationObject: Buffer.concat(parts),
      });
    },
    enter({ challenge, rpId }: { challenge: string; rpId: string }, { verifies = true, counter = 1 } = {}) {
      const clientDataJSON = clientData("webauthn.get", challenge);
      const authenticatorData = dataOf(rpId, { flags: verifies ? 5 : 1, counter });
      const signature = sign(
        "sha256",
        Buffer.concat([authenticatorData, sha256(clientDataJSON)]),
        privateKey,
      );
      return sent({ clientDataJSON, authenticatorData, signature });
    },
  };
}

async function register(browser: TestBrowser, device = makeDevice(), name?: unknown) {
  const options = await optionsOf(browser, "/generate-register-options");
  return browser.auth("/passkey/verify-registration", { response: device.register(options), name });
}

async function openWithPasskey(name: string) {
  const browser = await openAccount(fixture.services, `${name}@example.com`);
  const device = makeDevice();
  expect((await register(browser, device, name)).status).toBe(200);
  const caller = await callerOf(browser);
  return { browser, device, userId: caller?.userId ?? "", sessionId: caller?.sessionId };
}

/** Types the password of `openAccount` again in a session of it. */
const typeAgain = ({ userId, sessionId }: { userId: string; sessionId: string | undefined }) =>
  confirmPassword(fixture.services, { userId, sessionId, password: testPassword });

const keysOf = async (userId: string) => (await readSecurity(fixture.services, userId)).passkeys;

test("S1 a passkey signs in, once its device checked its user, and not as a copy", async () => {
  const { device, userId } = await openWithPasskey("entered");
  const browser = openTestBrowser(fixture.services);
  const enter = async (how: { verifies?: boolean; counter?: number }) => {
    const options = await optionsOf(browser, "/generate-authenticate-options");
    expect(options.userVerification).toBe("required");
    return browser.auth("/passkey/verify-authentication", { response: device.enter(options, how) });
  };
  expect(await answerOf(await enter({ verifies: false }))).toEqual([401, "PASSKEY_UNVERIFIED"]);
  expect(await callerOf(browser)).toBeNull();
  expect((await enter({ counter: 5 })).status).toBe(200);
  expect(await callerOf(browser)).toMatchObject({ userId, via: "session" });
  expect((await keysOf(userId))[0]).toMatchObject({ name: "entered", lastUsedAt: expect.any(String) });
  expect((await enter({ counter: 4 })).status).toBe(400);
});

test("S1 a password manager's passkey signs in: no counter, no transports, an empty handle of the user", async () => {
  for (const [at, transports] of [undefined, null, [], ["hybrid", "cable", "internal"]].entries()) {
    const browser = await openAccount(fixture.services, `manager-${at}@example.com`);
    const device = makeDevice();
    const made = device.register(await optionsOf(browser, "/generate-register-options"));
    const response = { ...made, response: { ...made.response, transports } };
    expect((await browser.auth("/passkey/verify-registration", { response })).status).toBe(200);
    const userId = (await callerOf(browser))?.userId;
    for (const userHandle of [undefined, null, ""]) {
      const other = openTestBrowser(fixture.services);
      const options = await optionsOf(other, "/generate-authenticate-options");
      const answer = device.enter(options, { counter: 0 });
      const sent = { ...answer, response: { ...answer.response, userHandle }, clientExtensionResults: null };
      const entered = await other.auth("/passkey/verify-authentication", { response: sent });
      expect(entered.status).toBe(200);
      expect(await callerOf(other)).toMatchObject({ userId });
    }
  }
});

test("S1 a passkey is not added together with a session, which might be refused while the key stays", async () => {
  const browser = await openAccount(fixture.services, "with-session@example.com");
  const options = await optionsOf(browser, "/generate-register-options");
  const body = { response: makeDevice().register(options), createSession: true };
  const added = await browser.auth("/passkey/verify-registration", body);
  expect(await answerOf(added)).toEqual([400, "INVALID_PASSKEY"]);
  expect(await keysOf((await callerOf(browser))?.userId ?? "")).toEqual([]);
});

test("S1 a passkey whose device did not check its user is not added, nor one of a guest", async () => {
  const { services } = fixture;
  const browser = await openAccount(services, "unchecked@example.com");
  const options = await optionsOf(browser, "/generate-register-options");
  const response = makeDevice().register(options, { verifies: false });
  expect(await answerOf(await browser.auth("/passkey/verify-registration", { response }))).toEqual([
    401,
    "PASSKEY_UNVERIFIED",
  ]);
  expect(await keysOf((await callerOf(browser))?.userId ?? "")).toEqual([]);
  expect((await ask(await openGuest(services), "/generate-register-options")).status).toBe(403);
});

test("S1 answers of a device that cannot be read or stored are 400", async () => {
  const browser = await openAccount(fixture.services, "unread@example.com");
  const right = { id: "a", rawId: "a", type: "public-key" };
  for (const response of [
    null,
    7,
    {},
    { ...right, id: "a\0" },
    { ...right, id: 7 },
    { ...right, id: {} },
    right,
  ]) {
    await optionsOf(browser, "/generate-register-options");
    const added = await browser.auth("/passkey/verify-registration", { response });
    expect([response, added.status]).toEqual([response, 400]);
    await optionsOf(browser, "/generate-authenticate-options");
    const entered = await browser.auth("/passkey/verify-authentication", { response });
    expect([response, entered.status]).toEqual([response, 400]);
  }
  const options = await optionsOf(browser, "/generate-register-options");
  const { response, ...device } = makeDevice().register(options);
  const torn = { ...device, response: { ...response, attestationObject: "AAAA" } };
  expect(await answerOf(await browser.auth("/passkey/verify-registration", { response: torn }))).toEqual([
    400,
    "FAILED_TO_VERIFY_REGISTRATION",
  ]);
  await optionsOf(browser, "/generate-register-options");
  const unstorable = { ...device, response: { ...response, transports: ["usb\0"] } };
  expect((await browser.auth("/passkey/verify-registration", { response: unstorable })).status).toBe(400);
});

test("S1 the name of a passkey is one line of at most a hundred characters, or none", async () => {
  const browser = await openAccount(fixture.services, "named@example.com");
  for (const name of ["a".repeat(101), "two\nlines", "nul\0", "half \ud800"])
    expect(await answerOf(await register(browser, makeDevice(), name))).toEqual([400, "INVALID_NAME"]);
  expect((await register(browser, makeDevice(), " ")).status).toBe(200);
  expect((await register(browser, makeDevice(), "a".repeat(100))).status).toBe(200);
  const names = (await keysOf((await callerOf(browser))?.userId ?? "")).map(
    ({ name }) => name?.length ?? null,
  );
  expect(names).toEqual([null, 100]);
});

test("S1 a removed passkey no longer signs in; the only way to sign in stays", async () => {
  const { services } = fixture;
  const { browser, device, userId, sessionId } = await openWithPasskey("removed");
  const [first] = await keysOf(userId);
  const own = { userId, sessionId, id: first?.id ?? "" };
  const stranger = await openWithPasskey("stranger");
  const foreign = { ...own, userId: stranger.userId, sessionId: stranger.sessionId };
  await expect(removePasskey(services, foreign)).rejects.toMatchObject({ code: "not_found" });
  await expect(removePasskey(services, { ...own, sessionId: undefined })).rejects.toMatchObject({
    code: "forbidden",
  });
  const other = openTestBrowser(services);
  const enter = async () => {
    const options = await optionsOf(other, "/generate-authenticate-options");
    return other.auth("/passkey/verify-authentication", { response: device.enter(options, { counter: 0 }) });
  };
  expect((await enter()).status).toBe(200);
  const { credentials, verifications } = schema;
  await services.db.delete(credentials).where(eq(credentials.userId, userId));
  await expect(removePasskey(services, own)).rejects.toMatchObject({ code: "conflict" });
  expect(await callerOf(other)).toMatchObject({ userId });
  // The second key itself ends the session of the other browser.
  expect((await register(browser)).status).toBe(200);
  expect((await enter()).status).toBe(200);
  const trust = {
    identifier: "trust-device-removed",
    value: userId,
    expiresAt: new Date(Date.now() + 60_000),
  };
  await services.db.insert(verifications).values({ id: "removed", ...trust });
  await removePasskey(services, own);
  expect(await callerOf(other)).toBeNull();
  expect(await callerOf(browser)).toMatchObject({ userId });
  expect(await services.db.$count(verifications, eq(verifications.value, userId))).toBe(0);
  expect(await answerOf(await enter())).toEqual([401, "PASSKEY_NOT_FOUND"]);
});

test("S7 passkeys and passwords that come and go are told by e-mail, each once", async () => {
  const { services } = fixture;
  const { browser, userId, sessionId } = await openWithPasskey("told");
  expect((await register(browser)).status).toBe(200);
  const [first] = await keysOf(userId);
  const own = { userId, sessionId };
  await removePasskey(services, { ...own, id: first?.id ?? "" });
  await typeAgain(own);
  await removePassword(services, own);
  await addPassword(services, { ...own, password: testPassword });
  const { token } = await createResetLink(services, { userId, adminId: null });
  await expect(spendResetLink(services, { token, password: "short" })).rejects.toMatchObject({
    code: "bad_request",
  });
  await spendResetLink(services, { token, password: "another long password" });
  expect(await readNotices(services, userId)).toEqual([
    "account.passkey_added",
    "account.passkey_added",
    "account.passkey_removed",
    "account.password_removed",
    "account.password_changed",
    "account.password_changed",
  ]);
});

describe("S1 a sign-in that the end of what it rests on overtakes begins no session", () => {
  const byPassword = (browser: TestBrowser, email: string) =>
    browser.auth("/sign-in/email", { email, password: testPassword });
  const byPasskey = async (browser: TestBrowser, device: ReturnType<typeof makeDevice>) => {
    const options = await optionsOf(browser, "/generate-authenticate-options");
    const response = device.enter(options, { counter: 0 });
    return () => browser.auth("/passkey/verify-authentication", { response });
  };
  type Opened = Awaited<ReturnType<typeof openWithPasskey>>;
  const endFactors = (userId: string) =>
    fixture.services.db.transaction(async (tx) => {
      await tx.select().from(schema.users).where(eq(schema.users.id, userId)).for("update");
      return removeFactors(tx, userId);
    });
  const ends = {
    passkey: async ({ userId, sessionId }: Opened) =>
      removePasskey(fixture.services, { userId, sessionId, id: (await keysOf(userId))[0]?.id ?? "" }),
    password: (own: Opened) => removePassword(fixture.services, own),
    reset: (_: Opened, email: string) =>
      resetPassword(fixture.services, { email, password: "another long password" }),
    devices: ({ userId, sessionId = "" }: Opened) =>
      endOtherSessions(fixture.services, { userId, sessionId }),
    factors: ({ userId }: Opened) => endFactors(userId),
    other: ({ browser }: Opened) =>
      browser.auth("/change-password", {
        currentPassword: testPassword,
        newPassword: "another long password",
        revokeOtherSessions: true,
      }),
  };

  test.each([
    ["password", "password"],
    ["password", "reset"],
    ["password", "devices"],
    ["password", "other"],
    ["passkey", "passkey"],
    ["passkey", "factors"],
  ] as const)("by %s, and the %s ended", async (way, end) => {
    const { services } = fixture;
    const opened = await openWithPasskey(`${way}-${end}`);
    const { userId } = opened;
    const email = `${way}-${end}@example.com`;
    await typeAgain(opened);
    const late = openTestBrowser(services);
    const enter = way === "password" ? () => byPassword(late, email) : await byPasskey(late, opened.device);
    const [ended, entered] = await race(services, userId, [async () => ends[end](opened, email), enter]);
    expect(ended.status).toBe("fulfilled");
    if (entered.status === "rejected") throw entered.reason;
    expect(await answerOf(entered.value)).toEqual([401, "SIGN_IN_OVERTAKEN"]);
    expect(await callerOf(late)).toBeNull();
    const isKept = end !== "reset" && end !== "factors";
    expect(await services.db.$count(schema.sessions, eq(schema.sessions.userId, userId))).toBe(
      isKept ? 1 : 0,
    );
  });

  test("nor does a passkey stay that a session added which was ended", async () => {
    const { services } = fixture;
    const { browser, userId } = await openWithPasskey("added-late");
    const options = await optionsOf(browser, "/generate-register-options");
    const response = makeDevice().register(options);
    const [, added] = await race(services, userId, [
      () => endFactors(userId),
      () => browser.auth("/passkey/verify-registration", { response }),
    ]);
    if (added.status === "rejected") throw added.reason;
    expect(await answerOf(added.value)).toEqual([401, "SIGN_IN_OVERTAKEN"]);
    expect(await keysOf(userId)).toEqual([]);
  });

  test("nor does it change a password that was set meanwhile", async () => {
    const { services } = fixture;
    const email = "changed-late@example.com";
    const { browser, userId } = await openWithPasskey("changed-late");
    const newPassword = "the password of a thief";
    const [, changed] = await race(services, userId, [
      () => resetPassword(services, { email, password: "another long password" }),
      () =>
        browser.auth("/change-password", {
          currentPassword: testPassword,
          newPassword,
          revokeOtherSessions: true,
        }),
    ]);
    if (changed.status === "rejected") throw changed.reason;
    expect(await answerOf(changed.value)).toEqual([401, "SIGN_IN_OVERTAKEN"]);
    const entered = await openTestBrowser(services).auth("/sign-in/email", { email, password: newPassword });
    expect(entered.status).toBe(401);
  });
});

test("S1 a passkey of an earlier address is no way in here, and may be removed; one of none proves itself", async () => {
  const { services } = fixture;
  const { passkeys } = schema;
  const opened = await openWithPasskey("moved");
  const { browser, device, userId } = opened;
  const [made] = await keysOf(userId);
  expect(made).toMatchObject({ host: "localhost", place: "here" });
  const setHost = (rpId: string | null) =>
    services.db.update(passkeys).set({ rpId }).where(eq(passkeys.userId, userId));
  await typeAgain(opened);
  await setHost("old.example.com");
  expect((await keysOf(userId))[0]).toMatchObject({ host: "old.example.com", place: "elsewhere" });
  await expect(removePassword(services, opened)).rejects.toMatchObject({
    code: "conflict",
    message: "The password is the only way to sign in. Add a passkey first.",
  });
  await setHost(null);
  expect((await keysOf(userId))[0]).toMatchObject({ host: null, place: "unknown" });
  await expect(removePassword(services, opened)).rejects.toMatchObject({
    code: "conflict",
    message: expect.stringContaining("Sign in with your passkey once"),
  });
  const options = await optionsOf(browser, "/generate-authenticate-options");
  const response = device.enter(options, { counter: 0 });
  expect((await browser.auth("/passkey/verify-authentication", { response })).status).toBe(200);
  expect((await keysOf(userId))[0]).toMatchObject({ host: "localhost", place: "here" });
  const own = { userId, sessionId: (await callerOf(browser))?.sessionId };
  await typeAgain(own);
  await removePassword(services, own);
  const last = { ...own, id: made?.id ?? "" };
  await expect(removePasskey(services, last)).rejects.toMatchObject({ code: "conflict" });
  await setHost("old.example.com");
  await removePasskey(services, last);
  expect(await keysOf(userId)).toEqual([]);
});

test("S1 two sign-in pages of one browser each answer their own challenge, each once", async () => {
  const { services } = fixture;
  const { device, userId } = await openWithPasskey("two-tabs");
  const browser = openTestBrowser(services);
  const [first, second] = [
    await optionsOf(browser, "/generate-authenticate-options"),
    await optionsOf(browser, "/generate-authenticate-options"),
  ];
  const enter = (options: typeof first) =>
    browser.auth("/passkey/verify-authentication", { response: device.enter(options, { counter: 0 }) });
  expect((await enter(first)).status).toBe(200);
  expect(await callerOf(browser)).toMatchObject({ userId });
  expect(await answerOf(await enter(first))).toEqual([400, "CHALLENGE_NOT_FOUND"]);
  expect((await enter(second)).status).toBe(200);
  const stranger = openTestBrowser(services);
  const third = await optionsOf(browser, "/generate-authenticate-options");
  const response = device.enter(third, { counter: 0 });
  expect((await stranger.auth("/passkey/verify-authentication", { response })).status).toBe(400);
  // However often a page asks, few of its challenges stay in the browser.
  for (let round = 0; round < 12; round += 1) await optionsOf(browser, "/generate-authenticate-options");
  expect(browser.headers.get("cookie")?.match(/passkey\./g)?.length).toBeLessThanOrEqual(8);
});

describe("S1 an account with a passkey does without its password", () => {
  const kindsOf = async (userId: string) => {
    const { auditEntries } = schema;
    const kinds = { kind: auditEntries.kind };
    return (
      await fixture.services.db.select(kinds).from(auditEntries).where(eq(auditEntries.actorId, userId))
    ).map(({ kind }) => kind);
  };
  const signIn = (email: string, password = testPassword) =>
    openTestBrowser(fixture.services).auth("/sign-in/email", { email, password });

  test("it goes with the app, open links and other sessions, and never as the last way in", async () => {
    const { services } = fixture;
    const bare = await openAccount(services, "bare@example.com");
    const bareCaller = await callerOf(bare);
    const bareOwn = { userId: bareCaller?.userId ?? "", sessionId: bareCaller?.sessionId };
    await typeAgain(bareOwn);
    await expect(removePassword(services, bareOwn)).rejects.toMatchObject({ code: "conflict" });
    expect((await signIn("bare@example.com")).status).toBe(200);

    const { browser, userId, sessionId } = await openWithPasskey("freed");
    const own = { userId, sessionId };
    await expect(removePassword(services, { userId, sessionId: undefined })).rejects.toMatchObject({
      code: "forbidden",
      details: { reason: "not_recent" },
    });
    // A session that has just begun, as one at a provider, knows nothing of the password.
    await expect(removePassword(services, own)).rejects.toMatchObject({ details: { reason: "not_recent" } });
    await typeAgain(own);
    await expect(removePassword(services, { ...own, adminLack: "sign_in" })).rejects.toMatchObject({
      code: "forbidden",
    });
    const other = openTestBrowser(services);
    expect(
      (await other.auth("/sign-in/email", { email: "freed@example.com", password: testPassword })).status,
    ).toBe(200);
    const { passwordResets, twoFactors, users } = schema;
    await createResetLink(services, { userId, adminId: null });
    await services.db
      .insert(twoFactors)
      .values({ id: "freed", userId, secret: "s", backupCodes: "c", verified: true });
    await services.db.update(users).set({ twoFactorEnabled: true }).where(eq(users.id, userId));
    await removePassword(services, own);
    expect(await readSecurity(services, userId)).toMatchObject({
      hasPassword: false,
      takesPasswords: true,
      hasApp: false,
      passkeys: [{ name: "freed" }],
    });
    expect(await services.db.$count(passwordResets, eq(passwordResets.userId, userId))).toBe(0);
    expect(await services.db.$count(users, and(eq(users.id, userId), eq(users.twoFactorEnabled, true)))).toBe(
      0,
    );
    expect([await callerOf(browser), await callerOf(other)]).toMatchObject([{ userId }, null]);
    expect(await answerOf(await signIn("freed@example.com"))).toEqual([401, "INVALID_EMAIL_OR_PASSWORD"]);
    await expect(removePassword(services, own)).rejects.toMatchObject({ code: "not_found" });
    const [key] = await keysOf(userId);
    await expect(removePasskey(services, { ...own, id: key?.id ?? "" })).rejects.toMatchObject({
      code: "conflict",
    });
    expect(await kindsOf(userId)).toContain("account.password_removed");
  });

  test("of its passkey and its password removed at once one stays", async () => {
    const { services } = fixture;
    const { userId, sessionId } = await openWithPasskey("both");
    const [key] = await keysOf(userId);
    const own = { userId, sessionId };
    await typeAgain(own);
    const ends = await Promise.allSettled([
      removePassword(services, own),
      removePasskey(services, { ...own, id: key?.id ?? "" }),
    ]);
    expect(ends.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  });

  test("it gets one again, once, from a recent session, and where the studio takes passwords", async () => {
    const { services } = fixture;
    const { browser, device, userId, sessionId } = await openWithPasskey("again");
    const own = { userId, sessionId, password: "a second long password" };
    await expect(addPassword(services, own)).rejects.toMatchObject({ code: "conflict" });
    await typeAgain(own);
    await removePassword(services, own);
    const other = openTestBrowser(services);
    const options = await optionsOf(other, "/generate-authenticate-options");
    const response = device.enter(options, { counter: 0 });
    expect((await other.auth("/passkey/verify-authentication", { response })).status).toBe(200);
    await expect(addPassword(services, { ...own, password: "short" })).rejects.toMatchObject({
      code: "bad_request",
    });
    await expect(addPassword(services, { ...own, sessionId: undefined })).rejects.toMatchObject({
      code: "forbidden",
    });
    const providers = { house: { name: "Example Ltd" } };
    const without = { ...services, config: { ...services.config, signIn: { passwords: false, providers } } };
    await expect(addPassword(without as never, own)).rejects.toMatchObject({
      code: "conflict",
      message: "This studio takes no passwords: people sign in through Example Ltd, or with a passkey.",
    });
    const { sessions, users } = schema;
    const ended = (await callerOf(other))?.sessionId ?? "";
    const late = await services.db.transaction(async (tx) => {
      await tx.select({ id: users.id }).from(users).where(eq(users.id, userId)).for("update");
      const answer = addPassword(services, { ...own, sessionId: ended }).catch((error: unknown) => error);
      const waiting = sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      await vi.waitUntil(async () => (await services.db.execute(waiting)).length > 0);
      await tx.delete(sessions).where(eq(sessions.id, ended));
      return { answer };
    });
    expect(await late.answer).toMatchObject({ code: "forbidden" });
    await addPassword(services, own);
    expect([await callerOf(browser), await callerOf(other)]).toMatchObject([{ userId }, null]);
    expect((await signIn("again@example.com", own.password)).status).toBe(200);
  });

  test("an admin keeps it while the studio asks admins for a second factor that would go with it", async () => {
    const { services } = fixture;
    const browser = await openAccount(services, "ruled@example.com");
    const caller = await callerOf(browser);
    const own = { userId: caller?.userId ?? "", sessionId: caller?.sessionId };
    const { credentials, studio, twoFactors, users } = schema;
    const providers = { house: { name: "Example Ltd", asksSecondFactor: false } };
    const ruled = { ...services, config: { ...services.config, signIn: { passwords: true, providers } } };
    await services.db
      .insert(credentials)
      .values({ id: "ruled", userId: own.userId, accountId: "ruled", providerId: "house" });
    await services.db
      .insert(twoFactors)
      .values({ id: "ruled", userId: own.userId, secret: "s", backupCodes: "c", verified: true });
    await services.db
      .update(users)
      .set({ twoFactorEnabled: true, role: "admin" })
      .where(eq(users.id, own.userId));
    await services.db
      .insert(studio)
      .values({ adminsNeedFactor: true })
      .onConflictDoUpdate({ target: studio.id, set: { adminsNeedFactor: true } });
    await typeAgain(own);
    await expect(removePassword(ruled as never, own)).rejects.toMatchObject({ code: "conflict" });
    const ofOwn = eq(credentials.userId, own.userId);
    expect(await services.db.$count(credentials, ofOwn)).toBe(2);
    expect(await services.db.$count(twoFactors, eq(twoFactors.userId, own.userId))).toBe(1);
    await services.db.update(studio).set({ adminsNeedFactor: false });
    await removePassword(ruled as never, own);
    expect(await services.db.$count(credentials, ofOwn)).toBe(1);
  });

  test("passkeys sign in also where the studio takes no passwords", async () => {
    const { device, userId } = await openWithPasskey("passwordless");
    const { services } = fixture;
    const { config } = services;
    const without = { ...services, config: { ...config, signIn: { ...config.signIn, passwords: false } } };
    const browser = openTestBrowser(without);
    const options = await optionsOf(browser, "/generate-authenticate-options");
    const response = device.enter(options, { counter: 0 });
    expect((await browser.auth("/passkey/verify-authentication", { response })).status).toBe(200);
    expect(await callerOf(browser)).toMatchObject({ userId });
    expect(await readSecurity(without, userId)).toMatchObject({ hasPassword: false, takesPasswords: false });
  });
});
