import { startMailServer } from "@atelier/testing/deliveries";
import {
  createTestServices,
  openAccount,
  openGuest,
  openTestBrowser,
  testOrigin,
  testPassword,
  type TestServices,
} from "@atelier/testing/services";
import { and, eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { resetPassword, resolveCaller, setLocale } from "../accounts/index.ts";
import { recordChange } from "../accounts/plain.ts";
import { noticeKinds, schema } from "../db/index.ts";
import { deliver, emailChannel } from "../deliveries/index.ts";
import { underRequestId } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { resetFactors } from "../users/index.ts";

const { deliveries, twoFactors, users } = schema;

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

test("S7 each change has its mail, and a mail server that refuses it changes nothing", async () => {
  const { userId } = await open("each");
  for (const kind of noticeKinds)
    await services.db.transaction((tx) => recordChange(services, tx, { kind, by: userId }));
  mail.refuseNext(552, "no");
  await send(userId);
  const subjects = mail.received
    .filter(({ to }) => to.includes("each@example.test"))
    .flatMap(({ raw }) => /^Subject: (.*)$/m.exec(raw)?.[1] ?? []);
  expect(new Set(subjects).size).toBe(noticeKinds.length - 1);
  const enter = openTestBrowser(services).auth("/sign-in/email", {
    email: "each@example.test",
    password: testPassword,
  });
  expect((await enter).status).toBe(200);
});
