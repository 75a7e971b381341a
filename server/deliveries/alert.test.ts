import { startMailServer, startWebhookReceiver } from "@atelier/testing/deliveries";
import { captureLog, createTestServices, openAccount, openAdmin } from "@atelier/testing/services";
import { eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { schema } from "../db/index.ts";
import { alertAdmins } from "./alert.ts";

type OnFinished = (end: () => Promise<void>) => void;

async function open(onFinished: OnFinished) {
  const [mail, receiver] = await Promise.all([startMailServer(), startWebhookReceiver()]);
  const { log, lines } = captureLog();
  const fixture = await createTestServices({
    log,
    env: {
      SMTP_URL: mail.url,
      SMTP_FROM: "atelier@example.org",
      ALERT_WEBHOOK_URL: `${receiver.url}/alerts`,
    },
  });
  onFinished(() => fixture.close());
  onFinished(() => mail.close());
  onFinished(() => receiver.close());
  await openAdmin(fixture.services, "admin@example.org");
  await openAccount(fixture.services, "user@example.org");
  return { services: fixture.services, mail, receiver, lines };
}

test("B9 of twenty processes that see a fault one tells the admins, and nobody else", async ({
  onTestFinished,
}) => {
  const { services, mail, receiver } = await open(onTestFinished);
  const fault = { code: "assistant_responder", text: "It failed." };
  await Promise.all(Array.from({ length: 20 }, () => alertAdmins(services, fault)));
  expect(mail.received.map(({ to }) => to)).toEqual([["admin@example.org"]]);
  expect(mail.received[0]?.raw).toContain("Subject: Atelier: assistant_responder");
  expect(receiver.received.map(({ body }) => JSON.parse(body))).toEqual([
    { type: "studio.fault", code: "assistant_responder", text: "Atelier, assistant_responder: It failed." },
  ]);
});

test("B9 a suspended admin is told of no fault", async ({ onTestFinished }) => {
  const { services, mail } = await open(onTestFinished);
  await openAdmin(services, "second@example.org");
  const ofFirst = eq(schema.users.email, "admin@example.org");
  await services.db.update(schema.users).set({ banned: true }).where(ofFirst);
  await alertAdmins(services, { code: "one", text: "It failed." });
  await services.db
    .update(schema.users)
    .set({ banExpires: new Date(Date.now() - 1_000) })
    .where(ofFirst);
  await alertAdmins(services, { code: "two", text: "It failed." });
  expect(mail.received.map(({ to }) => to.toSorted())).toEqual([
    ["second@example.org"],
    ["admin@example.org", "second@example.org"],
  ]);
});

test("B9 after an hour it is told again; another fault at once", async ({ onTestFinished }) => {
  const { services, receiver } = await open(onTestFinished);
  const told = () => receiver.received.map(({ body }) => JSON.parse(body).code);
  const tell = (code: string) => alertAdmins(services, { code, text: "It failed." });
  await tell("one");
  await tell("two");
  expect(told()).toEqual(["one", "two"]);
  await services.db.execute(
    `update studio set alerts = jsonb_build_object('one', now() - interval '61 minutes', 'two', now() - interval '59 minutes')`,
  );
  await tell("one");
  await tell("two");
  expect(told()).toEqual(["one", "two", "one"]);
});

test("B9 an address or a mail server that is away stops nothing; the other way is used all the same", async ({
  onTestFinished,
}) => {
  const { services, mail, receiver } = await open(onTestFinished);
  mail.refuseNext(451, "Try again later");
  await alertAdmins(services, { code: "one", text: "It failed." });
  expect([mail.received.length, receiver.received.length]).toEqual([0, 1]);
  await receiver.close();
  await alertAdmins(services, { code: "two", text: "It failed." });
  expect(mail.received).toHaveLength(1);
});

test("B9 what the mail server refuses for one language reaches the admins of another, and a 2xx is taken whatever follows it", async ({
  onTestFinished,
}) => {
  const { services, mail, receiver, lines } = await open(onTestFinished);
  await openAdmin(services, "german@example.org");
  await services.db
    .update(schema.users)
    .set({ locale: "de" })
    .where(eq(schema.users.email, "german@example.org"));
  mail.refuseNext(550, "5.1.1 no such user");
  receiver.inject("/alerts", [{ kind: "status", status: 200, headers: { "content-encoding": "zstd" } }]);
  await alertAdmins(services, { code: "store", text: "It failed." });
  expect(mail.received).toHaveLength(1);
  expect(lines.join("")).not.toContain("The answer is packed");
});

test("each admin is told in their language, with what the catalogue knows of the fault", async ({
  onTestFinished,
}) => {
  const { services, mail } = await open(onTestFinished);
  await openAdmin(services, "german@example.org");
  await services.db
    .update(schema.users)
    .set({ locale: "de" })
    .where(eq(schema.users.email, "german@example.org"));
  await alertAdmins(services, { code: "store", text: "The server cannot be reached." });
  const texts = new Map(mail.received.map(({ to, raw }) => [to.join(), raw]));
  expect(texts.get("admin@example.org")).toContain("The server cannot be reached.");
  expect(texts.get("german@example.org")).toContain("Der Server ist nicht erreichbar.");
});
