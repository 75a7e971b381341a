import os from "node:os";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { setLocale } from "../accounts/index.ts";
import { schema } from "@atelier/server/db";
import { oweCompleted, readDelivery, startMailServer } from "@atelier/testing/deliveries";
import { addOwner, type TestOwner } from "@atelier/testing/jobs";
import { captureLog, createTestServices, type TestServices } from "@atelier/testing/services";
import { newId } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { deliver } from "./deliver.ts";
import { emailChannel, sendMail } from "./email.ts";
import { confirmEmail, readNotifications, requestEmailCode, setNotification } from "./notifications.ts";

const { deliveries, notificationSettings, users } = schema;
const password = "canary-of-the-mail-server";
const { log, lines } = captureLog();

let mail: Awaited<ReturnType<typeof startMailServer>>;
let opened: TestServices;
let services: Services;
beforeAll(async () => {
  mail = await startMailServer({ user: "atelier", password });
  opened = await createTestServices({
    log,
    env: {
      SMTP_URL: mail.url,
      SMTP_FROM: "Atelier <atelier@example.test>",
      APP_URL: "https://studio.example.test",
    },
  });
  ({ services } = opened);
});
afterAll(async () => {
  await opened.close();
  await mail.close();
});

const emailOf = ({ userId }: TestOwner) => `${userId}@example.test`;
const mailTo = (owner: TestOwner) => mail.received.filter(({ to }) => to.includes(emailOf(owner)));
const codeIn = (raw: string) => /Subject: (\d{6}) is your code/.exec(raw)?.[1] ?? "";

/** An owner who has confirmed the address. */
async function openConfirmed(): Promise<TestOwner> {
  const owner = await addOwner(services);
  await requestEmailCode(services, owner.userId);
  const code = codeIn(mailTo(owner)[0]?.raw ?? "");
  await confirmEmail(services, { ownerId: owner.userId, code });
  return owner;
}

async function complete(owner: TestOwner) {
  const jobId = await oweCompleted(services, owner);
  const { id } = await readDelivery(services, jobId);
  const signal = new AbortController().signal;
  return {
    id,
    jobId,
    answer: await deliver(services, { id, via: "callback", channels: [emailChannel], signal }),
  };
}

test("C2 e-mail is on after the code that went to the account's address was entered, and not before", async () => {
  const owner = await addOwner(services);
  const ownerId = owner.userId;
  expect(await readNotifications(services, ownerId)).toEqual([
    { channel: "email", isOn: false, target: null, codeSentTo: null },
  ]);
  await expect(setNotification(services, { ownerId, channel: "email", isOn: true })).rejects.toMatchObject({
    code: "conflict",
  });
  await requestEmailCode(services, ownerId);
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 3_600_000 });
  // Also where the clock of the pages is ahead: the code can be typed, by that of the database.
  const found = await readNotifications(services, ownerId).finally(() => vi.useRealTimers());
  expect(found).toMatchObject([{ codeSentTo: emailOf(owner) }]);
  await expect(requestEmailCode(services, ownerId)).rejects.toMatchObject({ code: "rate_limited" });
  await expect(setNotification(services, { ownerId, channel: "email", isOn: true })).rejects.toMatchObject({
    code: "conflict",
  });
  const before = await oweCompleted(services, owner);
  expect(await services.db.$count(deliveries, eq(deliveries.jobId, before))).toBe(0);
  const code = codeIn(mailTo(owner)[0]?.raw ?? "");
  await expect(confirmEmail(services, { ownerId, code: "x" })).rejects.toMatchObject({ code: "bad_request" });
  await confirmEmail(services, { ownerId, code });
  expect(await readNotifications(services, ownerId)).toEqual([
    { channel: "email", isOn: true, target: emailOf(owner), codeSentTo: null },
  ]);
  await setNotification(services, { ownerId, channel: "email", isOn: false });
  const off = await oweCompleted(services, owner);
  expect(await services.db.$count(deliveries, eq(deliveries.jobId, off))).toBe(0);
  await setNotification(services, { ownerId, channel: "email", isOn: true });
});

test("S9 after five wrong codes the right one is refused as well", async () => {
  const owner = await addOwner(services);
  await requestEmailCode(services, owner.userId);
  const code = codeIn(mailTo(owner)[0]?.raw ?? "");
  const guesses = [...Array.from({ length: 5 }, () => "wrong"), code];
  for (const guess of guesses)
    await expect(confirmEmail(services, { ownerId: owner.userId, code: guess })).rejects.toMatchObject({
      code: "bad_request",
    });
});

test("S9 an address that nobody has proved gets ten codes a day, and the last one still works", async () => {
  const owner = await addOwner(services);
  const ownerId = owner.userId;
  const isOwn = eq(notificationSettings.ownerId, ownerId);
  // What was not sent does not count.
  const fates = [...Array<string>(10).fill("refused"), ...Array<string>(10).fill("sent")];
  for (const fate of fates) {
    if (fate === "refused") mail.refuseNext(450, "busy");
    const asked = requestEmailCode(services, ownerId);
    expect(
      await asked.then(
        () => "sent",
        () => "refused",
      ),
    ).toBe(fate);
    await services.db
      .update(notificationSettings)
      .set({ updatedAt: new Date(Date.now() - 61_000) })
      .where(isOwn);
  }
  await expect(requestEmailCode(services, ownerId)).rejects.toMatchObject({ code: "rate_limited" });
  expect(mailTo(owner)).toHaveLength(10);
  await confirmEmail(services, { ownerId, code: codeIn(mailTo(owner).at(-1)?.raw ?? "") });
  expect(await readNotifications(services, ownerId)).toMatchObject([{ isOn: true }]);
});

test("C2 a completed job is told by e-mail with its own id, and a repetition has the same", async () => {
  const owner = await openConfirmed();
  const { id, jobId, answer } = await complete(owner);
  expect(answer).toBe("delivered");
  const message = mailTo(owner).at(-1)?.raw ?? "";
  expect(message).toContain("Subject: Upscale: your picture is ready");
  expect(message).toContain(`Message-ID: <${id}@example.test>`);
  expect(message).toContain("Auto-Submitted: auto-generated");
  expect(message).toContain(`https://studio.example.test/jobs/${jobId}`);
  expect((await readDelivery(services, jobId)).externalId).toBe(`<${id}@example.test>`);
});

test("a mail speaks the language of its reader", async () => {
  const owner = await openConfirmed();
  await setLocale(services, { userId: owner.userId, locale: "de" });
  await complete(owner);
  const message = mailTo(owner).at(-1)?.raw ?? "";
  expect(message).toContain("Ihr Bild ist fertig");
});

test("C2 450 is tried again, 552 is not, and an unknown mailbox turns the channel off", async () => {
  const owner = await openConfirmed();
  mail.refuseNext(450, "busy");
  expect((await complete(owner)).answer).toBe("retry");
  mail.refuseNext(552, "canary text of the mail server");
  const refused = await complete(owner);
  expect(refused.answer).toBe("failed");
  expect((await readDelivery(services, refused.jobId)).lastError).toBe(
    "The mail server refused the message with 552.",
  );
  expect(await readNotifications(services, owner.userId)).toMatchObject([{ isOn: true }]);
  mail.refuseNext(550, "5.1.1 no such user");
  expect((await complete(owner)).answer).toBe("failed");
  expect(await readNotifications(services, owner.userId)).toMatchObject([{ isOn: false }]);
});

test.each([
  [550, "5.1.10 RESOLVER.ADR.RecipientNotFound; not found by SMTP address lookup", false],
  [550, "5.2.1 The email account that you tried to reach is disabled", false],
  [556, "5.1.10 Recipient address has null MX", false],
  [550, "5.1.8 Access denied, bad outbound sender", true],
  [552, "5.2.2 mailbox full", true],
  [554, "5.7.1 message refused, see rule 15.1.10", true],
])("C2 after %i %j the channel is on: %j", async (code, text, isOn) => {
  const owner = await openConfirmed();
  mail.refuseNext(code, text);
  expect((await complete(owner)).answer).toBe("failed");
  expect(await readNotifications(services, owner.userId)).toMatchObject([{ isOn }]);
});

test("C2 a mailbox that gets too much at the moment is tried again, and the channel stays", async () => {
  const owner = await openConfirmed();
  mail.refuseNext(
    550,
    "5.2.1 The user you are trying to contact is receiving mail at a rate that prevents more",
  );
  expect((await complete(owner)).answer).toBe("retry");
  expect(await readNotifications(services, owner.userId)).toMatchObject([{ isOn: true }]);
});

test.each([
  [530, "5.7.0 Must issue a STARTTLS command first"],
  [553, "5.7.1 Sender address rejected: not owned by user"],
  [550, "5.1.1 unknown sender"],
])(
  "C2 %i %j before the reader is named is the operator's: tried again, and the channel stays",
  async (code, text) => {
    const owner = await openConfirmed();
    mail.refuseNext(code, text, "sender");
    const { answer, jobId } = await complete(owner);
    expect(answer).toBe("retry");
    expect((await readDelivery(services, jobId)).lastError).toBe("The mail server could not be used.");
    expect(await readNotifications(services, owner.userId)).toMatchObject([{ isOn: true }]);
  },
);

test("S9 an address that is no longer the account's gets nothing", async () => {
  const owner = await openConfirmed();
  const before = mailTo(owner).length;
  await services.db
    .update(users)
    .set({ email: `${newId()}@example.test` })
    .where(eq(users.id, owner.userId));
  expect((await complete(owner)).answer).toBe("failed");
  expect(mailTo(owner)).toHaveLength(before);
  const [row] = await services.db
    .select()
    .from(notificationSettings)
    .where(eq(notificationSettings.ownerId, owner.userId));
  expect(row?.isOn).toBe(false);
});

test("C2 a mail server that is away is tried again, and without one the channel is not offered", async () => {
  const owner = await openConfirmed();
  const away = { ...services, env: { ...services.env, SMTP_URL: "smtp://127.0.0.1:9" } };
  const jobId = await oweCompleted(services, owner);
  const { id } = await readDelivery(services, jobId);
  const input = { id, via: "poll", channels: [emailChannel], signal: new AbortController().signal } as const;
  expect(await deliver(away, input)).toBe("retry");
  expect((await readDelivery(services, jobId)).lastError).toBe("The mail server could not be used.");
  const { SMTP_URL: _url, ...env } = services.env;
  expect(await readNotifications({ ...services, env }, owner.userId)).toEqual([]);
});

test("S9 the password of the mail server and the codes are not in the log", () => {
  const logged = lines.join("\n");
  expect(logged).toContain("MARK_DELIVERED");
  const codes = mail.received.map(({ raw }) => codeIn(raw)).filter((code) => code !== "");
  expect(codes.filter((code) => logged.includes(`"${code}"`))).toEqual([]);
  expect(logged).not.toContain(password);
});

test.each([
  ["the host of APP_URL", "https://studio.example.test:8443", "", "studio.example.test"],
  [
    "an own name of the address",
    "https://studio.example.test",
    "?name=mail.example.test",
    "mail.example.test",
  ],
  ["nothing but this machine at an address", "http://192.168.1.5", "", "[127.0.0.1]"],
  ["nothing but this machine without a domain", "http://studio:3000", "", "[127.0.0.1]"],
])("C2 a mail server that refuses names without a domain hears %s", async (_, appUrl, query, greeted) => {
  vi.spyOn(os, "hostname").mockReturnValue("3f1c09ab77de");
  const env = { SMTP_URL: `${mail.url}${query}`, SMTP_FROM: "atelier@example.test", APP_URL: appUrl };
  const message = { to: "reader@example.test", subject: greeted, text: "Here." };
  await sendMail(env, message, AbortSignal.timeout(60_000));
  expect(mail.received.at(-1)).toMatchObject({
    greeted,
    raw: expect.stringContaining(`Subject: ${greeted}`),
  });
});
