import { startMailServer } from "@atelier/testing/deliveries";
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
import { and, eq, type SQL, sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import {
  createApiKey,
  endOtherSessions,
  resetPassword,
  resolveCaller,
  setLocale,
} from "../accounts/index.ts";
import { recordChange } from "../accounts/plain.ts";
import { noticeKinds, schema } from "../db/index.ts";
import { deliver, emailChannel, findDue, redeliver } from "../deliveries/index.ts";
import { asOperator, newId, underRequestId } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { confirmLink, unlink, unlinkChat } from "../telegram/index.ts";
import { resetFactors } from "../users/index.ts";

const { auditEntries, deliveries, sessions, telegramCodes, telegramLinks, twoFactors, users, verifications } =
  schema;

let mail: Awaited<ReturnType<typeof startMailServer>>;
let opened: TestServices;
let services: Services;
beforeAll(async () => {
  mail = await startMailServer();
  opened = await createTestServices({
    env: { SMTP_URL: mail.url, SMTP_FROM: "Atelier <atelier@example.test>", APP_URL: testOrigin },
  });
  ({ services } = opened);
});
afterAll(async () => {
  await opened.close();
  await mail.close();
});

const agent =
  "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36";
const from = <T>(act: () => Promise<T>) =>
  underRequestId({ id: null, forwardedFor: "203.0.113.7", agent }, act);
const owedTo = (ownerId: string) =>
  services.db
    .select()
    .from(deliveries)
    .where(and(eq(deliveries.ownerId, ownerId), eq(deliveries.channel, "email")));

async function open(name: string) {
  const browser = await openAccount(services, `${name}@example.test`);
  return { browser, userId: (await resolveCaller(services, browser.headers))?.userId ?? "" };
}

async function send(userId: string) {
  const signal = new AbortController().signal;
  for (const { id } of await owedTo(userId))
    await deliver(services, { id, via: "poll", channels: [emailChannel], signal });
}

/** Of an account with an app that a browser is trusted with, which is signed in elsewhere, too. */
async function openWithApp(name: string) {
  const { browser, userId } = await open(name);
  const other = openTestBrowser(services);
  await other.auth("/sign-in/email", { email: `${name}@example.test`, password: testPassword });
  await services.db
    .insert(twoFactors)
    .values({ id: name, userId, secret: "s", backupCodes: "c", verified: true });
  await services.db.update(users).set({ twoFactorEnabled: true }).where(eq(users.id, userId));
  await services.db.insert(verifications).values({
    id: name,
    identifier: `trust-device-${name}`,
    value: userId,
    expiresAt: new Date(Date.now() + 60_000),
  });
  return { browser, userId };
}

/** What is left of the app, of sessions and of trust, and what the user was told. */
async function standingOf(userId: string) {
  const [user] = await services.db.select().from(users).where(eq(users.id, userId));
  const acts = await services.db.select().from(auditEntries).where(eq(auditEntries.actorId, userId));
  return {
    isOn: user?.twoFactorEnabled,
    apps: await services.db.$count(twoFactors, eq(twoFactors.userId, userId)),
    sessions: await services.db.$count(sessions, eq(sessions.userId, userId)),
    trusted: await services.db.$count(verifications, eq(verifications.value, userId)),
    acts: acts.map(({ kind }) => kind).filter((kind) => noticeKinds.some((known) => known === kind)),
    mails: (await owedTo(userId)).map(({ notice }) => notice?.what),
  };
}

/** Signs the browser out while its own change waits for a lock that `lock` takes. */
async function signOutDuring(browser: TestBrowser, lock: SQL, change: () => Promise<Response>) {
  const pending = await services.db.transaction(async (tx) => {
    await tx.execute(lock);
    const changing = change();
    await vi.waitFor(async () => expect((await services.db.execute(waiting)).length).toBe(1), {
      timeout: 10_000,
      interval: 10,
    });
    expect((await browser.auth("/sign-out")).status).toBe(200);
    // As an object: the transaction must not wait for it.
    return { changing };
  });
  return pending.changing;
}
const waiting = sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;

const codeOf = async (response: Response) => [response.status, Object(await response.json()).code];

test("S7 a session that was signed out while its password was checked turns no app off", async () => {
  const { browser, userId } = await openWithApp("signed-out");
  const lock = sql`select from users where id = ${userId} for update`;
  const off = () => browser.auth("/two-factor/disable", { password: testPassword });
  expect(await codeOf(await signOutDuring(browser, lock, off))).toEqual([401, "SIGN_IN_OVERTAKEN"]);
  expect(await standingOf(userId)).toEqual({
    isOn: true,
    apps: 1,
    sessions: 1,
    trusted: 1,
    acts: [],
    mails: [],
  });
});

test("S7 an app that is off is recorded and told, whatever becomes of the session that turned it off", async () => {
  const { browser, userId } = await openWithApp("turned-off");
  const lock = sql`select from two_factors where user_id = ${userId} for update`;
  const off = () => browser.auth("/two-factor/disable", { password: testPassword });
  expect(await codeOf(await signOutDuring(browser, lock, off))).toEqual([401, "SIGN_IN_OVERTAKEN"]);
  expect(await standingOf(userId)).toEqual({
    isOn: false,
    apps: 0,
    sessions: 0,
    trusted: 0,
    acts: ["account.factor_removed"],
    mails: ["account.factor_removed"],
  });
});

/** A change of the password and an end of sessions at once, which get their turn in the order that is given. */
async function changeAndEnd(name: string, order: "change first" | "end first") {
  const { browser, userId } = await openWithApp(name);
  const other = await resolveCaller(services, browser.headers);
  const form = {
    currentPassword: testPassword,
    newPassword: "another long password",
    revokeOtherSessions: true,
  };
  const change = () => browser.auth("/change-password", form).then(codeOf);
  const end = () => endOtherSessions(services, { userId, sessionId: other?.sessionId ?? "" });
  const ends =
    order === "change first"
      ? (await race(services, userId, [change, end]))[0]
      : (await race(services, userId, [end, change]))[1];
  if (ends.status === "rejected") throw ends.reason;
  return { answer: ends.value, userId };
}

test("S7 a new password is recorded and told, also where an end of sessions overtakes its session", async () => {
  const { answer, userId } = await changeAndEnd("overtaken", "change first");
  // An end that comes after the last look at the sessions takes that of the answer itself.
  expect([
    [401, "SIGN_IN_OVERTAKEN"],
    [200, undefined],
  ]).toContainEqual(answer);
  expect(await standingOf(userId)).toMatchObject({
    sessions: 0,
    trusted: 0,
    acts: ["account.password_changed"],
    mails: ["account.password_changed"],
  });
});

test("S7 a change of the password that an end of sessions comes before changes nothing", async () => {
  const { answer, userId } = await changeAndEnd("too-late", "end first");
  expect(answer).toEqual([401, "SIGN_IN_OVERTAKEN"]);
  expect(await standingOf(userId)).toMatchObject({ sessions: 1, trusted: 1, acts: [], mails: [] });
});

test("S7 a mail repeats no text that a sender calls its browser", async () => {
  const { browser, userId } = await open("named");
  const form = { currentPassword: testPassword, newPassword: "another long password" };
  const lie = "Your account was locked. Open https://evil.example/unlock now/1 (x) y";
  await underRequestId({ id: null, agent: lie }, () => browser.auth("/change-password", form));
  expect((await owedTo(userId)).map(({ notice }) => notice)).toMatchObject([{ browser: null, system: null }]);
});

test("S7 a user orders no mail about the account again, and gets ten an hour, while the acts are all recorded", async () => {
  const { userId } = await open("flood");
  const act = { kind: "account.recovery_codes_made", by: userId } as const;
  for (let at = 0; at < 12; at += 1) await services.db.transaction((tx) => recordChange(services, tx, act));
  const { acts, mails } = await standingOf(userId);
  expect([acts.length, mails.length]).toEqual([12, 10]);
  const [{ id } = { id: "" }] = await owedTo(userId);
  await expect(redeliver(services, { id, ownerId: userId })).rejects.toMatchObject({
    code: "conflict",
    message: "A message about your account is sent once; only an admin can send it again.",
  });
  await redeliver(services, { id, ownerId: null });
});

test("S7 a mail about the account waits for no other delivery of its owner", async () => {
  const { userId } = await open("held");
  const tests = Array.from({ length: 20 }, (_, at) => ({
    id: newId(),
    ownerId: userId,
    channel: "webhook" as const,
    target: `endpoint ${at}`,
    event: "endpoint.test" as const,
  }));
  await services.db.insert(deliveries).values(tests);
  const act = { kind: "account.passkey_added", by: userId } as const;
  await services.db.transaction((tx) => recordChange(services, tx, act));
  const [mailed] = await owedTo(userId);
  const limits = { limit: 100, perTarget: 2, perOwner: 6 };
  const due = await findDue(services, { ...limits, busy: new Map() });
  const own = due.filter(({ ownerKey }) => ownerKey === `owner ${userId}`);
  expect([own.length, due.find(({ id }) => id === mailed?.id)?.ownerKey]).toEqual([6, null]);
  const busy = new Map([[`owner ${userId}`, 6]]);
  const left = await findDue(services, { ...limits, busy });
  expect(left.some(({ id }) => id === mailed?.id)).toBe(true);
  expect(left.some(({ ownerKey }) => ownerKey === `owner ${userId}`)).toBe(false);
});

test("S7 a new password leads to one mail in the user's language, with what, when, from where, and no secret", async () => {
  const { browser, userId } = await open("told");
  await setLocale(services, { userId, locale: "de" });
  const newPassword = "canary of the new password";
  const form = { currentPassword: testPassword, newPassword, revokeOtherSessions: true };
  const changed = await from(() => browser.auth("/change-password", form));
  expect(changed.status).toBe(200);
  expect(await owedTo(userId)).toMatchObject([
    {
      event: "account.changed",
      target: "told@example.test",
      notice: {
        what: "account.password_changed",
        by: "user",
        browser: "Chrome",
        system: "Linux",
        address: "203.0.113.7",
      },
    },
  ]);
  await send(userId);
  const [got] = mail.received.filter(({ to }) => to.includes("told@example.test"));
  expect(got?.raw).toContain("Passwort");
  expect(got?.raw).toContain("Chrome, Linux, 203.0.113.7");
  expect(got?.raw).toContain(`${testOrigin}/settings`);
  expect(got?.raw).toContain("UTC");
  expect(got?.raw).not.toContain(newPassword);
});

test("S7 a wrong password, a guest and an address that receives none lead to no mail, nor does a studio without a mail server", async () => {
  const { browser, userId } = await open("untold");
  const wrong = { currentPassword: "not the password", newPassword: "another long password" };
  expect((await browser.auth("/change-password", wrong)).status).toBe(400);
  const guest = (await resolveCaller(services, (await openGuest(services)).headers))?.userId ?? "";
  const act = { kind: "account.passkey_added", by: guest } as const;
  await services.db.transaction((tx) => recordChange(services, tx, act));
  const { SMTP_URL: _url, ...env } = services.env;
  await services.db.transaction((tx) => recordChange({ env }, tx, { ...act, by: userId }));
  expect([await owedTo(userId), await owedTo(guest)]).toEqual([[], []]);
});

test("S7 what an admin or an operator does is told without their browser and address", async () => {
  const { userId } = await open("helped");
  await services.db
    .insert(twoFactors)
    .values({ id: "helped", userId, secret: "s", backupCodes: "c", verified: true });
  const admin = await open("helper");
  await services.db.update(users).set({ role: "admin" }).where(eq(users.id, admin.userId));
  await from(() => resetFactors(services, { userId, adminId: admin.userId }));
  await resetPassword(services, { email: "helped@example.test", password: "another long password" });
  const unknown = { by: "admin", browser: null, system: null, address: null };
  expect((await owedTo(userId)).map(({ notice }) => notice)).toMatchObject([
    { what: "user.factors_reset", ...unknown },
    { what: "account.password_changed", ...unknown },
  ]);
  await send(userId);
  const raw = mail.received.filter(({ to }) => to.includes("helped@example.test")).map((one) => one.raw);
  expect(raw).toHaveLength(2);
  expect(raw.every((text) => text.includes("An admin of the studio did it."))).toBe(true);
});

test("S7 each change has its mail, whose subject says what happened", async () => {
  const { userId } = await open("each");
  for (const kind of noticeKinds) {
    await services.db.transaction((tx) => recordChange(services, tx, { kind, by: userId }));
    // There are more kinds than mails an hour.
    await services.db.delete(schema.rateLimits);
  }
  await send(userId);
  const subjects = mail.received
    .filter(({ to }) => to.includes("each@example.test"))
    .flatMap(({ raw }) => /^Subject: (.*)$/m.exec(raw)?.[1] ?? []);
  expect(new Set(subjects).size).toBe(noticeKinds.length);
  expect(subjects).toContain("A passkey was added to your studio account");
});

test("S7 a change that only a newer version has words for waits for its worker", async () => {
  const { userId } = await open("newer");
  const act = { kind: "account.passkey_added", by: userId } as const;
  await services.db.transaction((tx) => recordChange(services, tx, act));
  const newer = sql`jsonb_set(notice, '{what}', '"account.unheard_of"')`;
  await services.db.update(deliveries).set({ notice: newer }).where(eq(deliveries.ownerId, userId));
  await send(userId);
  expect(await owedTo(userId)).toMatchObject([
    { attempts: 1, deliveredAt: null, failedAt: null, lastError: expect.stringContaining("too old") },
  ]);
  expect(mail.received.some(({ to }) => to.includes("newer@example.test"))).toBe(false);
});

test("S7 a mail server that refuses the mail of a new password changes nothing about it", async () => {
  const { browser, userId } = await open("refused");
  const form = { currentPassword: testPassword, newPassword: "another long password" };
  expect((await browser.auth("/change-password", form)).status).toBe(200);
  mail.refuseNext(552, "no");
  await send(userId);
  expect(await owedTo(userId)).toMatchObject([{ failedAt: expect.any(Date), deliveredAt: null }]);
  expect(mail.received.some(({ to }) => to.includes("refused@example.test"))).toBe(false);
  const enter = (password: string) =>
    openTestBrowser(services).auth("/sign-in/email", { email: "refused@example.test", password });
  expect([(await enter(testPassword)).status, (await enter(form.newPassword)).status]).toEqual([401, 200]);
});

test("S7 a new password is advised where the account has one", async () => {
  const { userId } = await open("advised");
  const act = { kind: "account.passkey_added", by: userId } as const;
  await services.db.transaction((tx) => recordChange(services, tx, act));
  await services.db.transaction((tx) => recordChange(services, tx, act));
  const [first, second] = await owedTo(userId);
  const sendOne = (id = "", by = services) =>
    deliver(by, { id, via: "poll", channels: [emailChannel], signal: new AbortController().signal });
  await sendOne(first?.id);
  const { signIn } = services.config;
  await sendOne(second?.id, {
    ...services,
    config: { ...services.config, signIn: { ...signIn, passwords: false } },
  });
  const advised = mail.received
    .filter(({ to }) => to.includes("advised@example.test"))
    .map(({ raw }) => raw.includes("set a new password"));
  expect(advised).toEqual([true, false]);
});

test("S7 a new API key is told with its rights and its end, by whom it was made, and never with the key", async () => {
  const { userId } = await open("keyed");
  await setLocale(services, { userId, locale: "en" });
  const rights = ["create", "read"] as const;
  const limited = await from(() => createApiKey(services, { userId, name: "canary name", rights, days: 30 }));
  await asOperator(() => createApiKey(services, { userId, name: "by an operator" }));
  expect((await owedTo(userId)).map(({ notice }) => notice)).toMatchObject([
    { what: "key.made", by: "user", browser: "Chrome", key: { rights, endsAt: expect.any(String) } },
    { what: "key.made", by: "admin", browser: null, key: { rights: null, endsAt: null } },
  ]);
  await send(userId);
  const raw = mail.received.filter(({ to }) => to.includes("keyed@example.test")).map((one) => one.raw);
  const [first = "", second = ""] = raw;
  expect(first).toContain("The key may: Look, Make and change.");
  expect(first).toMatch(/It ends on \S+ \d/);
  expect(second).toContain("The key may do all that your account may.");
  expect(second).toContain("It does not end by itself.");
  expect(raw.some((text) => text.includes(limited.key) || text.includes("canary name"))).toBe(false);
});

test("S7 a new API key with a cap is told as one with chosen rights, since it may not all", async () => {
  const { userId } = await open("capped");
  await setLocale(services, { userId, locale: "en" });
  await createApiKey(services, { userId, name: "capped", cap: { usd: 5, period: "month" } });
  await send(userId);
  const [told] = mail.received.filter(({ to }) => to.includes("capped@example.test"));
  expect(told?.raw).toMatch(/The key may: Look, Make and change, [^,.]+\./);
  expect(told?.raw).not.toContain("all that your account may");
});

test("S7 a key that an operator makes locks its user first, as where all ways into the account end", async () => {
  const { userId } = await open("locked-first");
  const pending = await services.db.transaction(async (tx) => {
    await tx.execute(sql`lock table key_caps in access exclusive mode`);
    const making = createApiKey(services, { userId, name: "capped", cap: { usd: 5, period: "month" } });
    await vi.waitFor(async () => expect((await services.db.execute(waiting)).length).toBe(1), {
      timeout: 10_000,
      interval: 10,
    });
    const free = await tx.execute(sql`select from users where id = ${userId} for update skip locked`);
    return { making, free };
  });
  expect(pending.free.length).toBe(0);
  await pending.making;
});

test("S7 a chat of Telegram that is linked, moved to another account or unlinked is told to each", async () => {
  const [first, second] = [await open("chatting"), await open("taking-over")];
  const link = async (userId: string) => {
    const id = newId();
    const expiresAt = new Date(Date.now() + 60_000);
    await services.db.insert(telegramCodes).values({ id, userId, codeHash: id, chatId: "77", expiresAt });
    return confirmLink(services, { codeId: id, chatId: "77", name: "canary" });
  };
  expect([await link(first.userId), await link(second.userId)]).toEqual([true, true]);
  expect(await from(() => unlink(services, second.userId))).toBe(true);
  const told = async (userId: string) => (await owedTo(userId)).map(({ notice }) => notice?.what);
  const both = ["account.chat_linked", "account.chat_unlinked"];
  expect([await told(first.userId), await told(second.userId)]).toEqual([both, both]);
});

test("S7 a chat is unlinked while all ways into its account end, and neither waits for ever", async () => {
  const { userId } = await open("ending");
  await services.db.insert(telegramLinks).values({ userId, chatId: "78", name: "n" });
  const pending = await services.db.transaction(async (tx) => {
    await tx.execute(sql`select from users where id = ${userId} for update`);
    const unlinking = unlinkChat(services, "78");
    await vi.waitFor(async () => expect((await services.db.execute(waiting)).length).toBe(1), {
      timeout: 10_000,
      interval: 10,
    });
    await tx.delete(telegramLinks).where(eq(telegramLinks.userId, userId));
    return { unlinking };
  });
  expect(await pending.unlinking).toBe(false);
});
