// @module-tag all
import { schema } from "@atelier/server/db";
import { and, eq, isNull } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { setLocale } from "@atelier/server/accounts";
import { telegramChannel } from "@atelier/server/telegram";
import { wordsIn } from "@atelier/server/words";
import type { Services } from "@atelier/server/services";
import { addNode, addOwner, until as untilStatus } from "@atelier/testing/jobs";
import { captureLog, createTestServices, type TestServices } from "@atelier/testing/services";
import {
  type BotApi,
  codeOf,
  countConsents,
  jobsOf,
  linkOwner,
  type Person,
  photo,
  rolesOf,
  setProgress,
  startBotApi,
  startJob,
  until,
} from "@atelier/testing/telegram";
import { createLink, readTelegramState } from "@atelier/server/telegram";
import { setNotification } from "@atelier/server/deliveries";
import { startDeliveries } from "../deliveries.ts";
import { startTelegram } from "./index.ts";

const { log, lines } = captureLog();

let api: BotApi;
let opened: TestServices;
let services: Services;
let stop: () => Promise<void>;
beforeAll(async () => {
  api = await startBotApi();
  opened = await createTestServices({ log, env: api.env });
  ({ services } = opened);
  // Slots enough that no job of another test keeps one waiting.
  await addNode(services, { slots: 50, queue: "cpu-light" });
  await addNode(services, { slots: 50, queue: "cpu-intensive" });
  const bot = startTelegram(services, { timing: { leaseMs: 3_000, waitSeconds: 1, editMs: 300 } });
  const deliveries = startDeliveries(services, [telegramChannel]);
  stop = async () => {
    await bot?.stop();
    await deliveries.stop();
  };
});
afterAll(async () => {
  await stop();
  await opened.close();
  await api.close();
});

const shows = (person: Person, pattern: RegExp) =>
  until(`a message like ${pattern.source}`, () => person.messages.find(({ text }) => pattern.test(text)));

const oneJob = (owner: Parameters<typeof jobsOf>[1]) =>
  until("the job", async () => (await jobsOf(services, owner))[0]);

test("C1 the bot links a chat: the deep link, the account's name, the confirmation, and /stop", async () => {
  const owner = await addOwner(services);
  const person = api.person();
  person.say("/start");
  await shows(person, /not linked to an account/);
  person.say(`/start ${codeOf(await createLink(services, owner.userId))}`);
  await shows(person, new RegExp(`account ${owner.userId}@example\\.test \\(name: “Test”\\)`));
  person.press("Confirm");
  await shows(person, /^Linked\./);
  expect((await readTelegramState(services, owner.userId)).link).toMatchObject({ name: "@ann" });
  person.say("/start wrong-code");
  await shows(person, /too old or was used/);
  person.say("/stop");
  await shows(person, /no longer linked, and nothing more/);
  expect((await readTelegramState(services, owner.userId)).link).toBeNull();
});

test("the bot speaks the language of the account", async () => {
  const owner = await addOwner(services);
  await setLocale(services, { userId: owner.userId, locale: "de" });
  const { t } = await wordsIn("de");
  const person = api.person();
  person.say(`/start ${codeOf(await createLink(services, owner.userId))}`);
  await until("the question", () => person.messages.find(({ text }) => text.includes("Konto")));
  person.press(t("bot.confirm"));
  await until("the link", () => person.messages.find(({ text }) => text === t("bot.linked")));
  person.say("/status");
  await until("the answer", () => person.messages.find(({ text }) => text === t("bot.noJobs")));
  expect(t("bot.noJobs")).toMatch(/Jobs/);
});

test("C1 Cancel links nothing, and blocking the bot ends a link", async () => {
  const owner = await addOwner(services);
  const person = api.person();
  person.say(`/start ${codeOf(await createLink(services, owner.userId))}`);
  await shows(person, /Link this chat/);
  person.press("Cancel");
  await shows(person, /Nothing was linked/);
  const linked = api.person();
  const other = await linkOwner(services, linked);
  linked.block();
  await until("the end of the link", async () => {
    const { link } = await readTelegramState(services, other.userId);
    return link === null ? true : null;
  });
  expect((await readTelegramState(services, owner.userId)).link).toBeNull();
});

test("C1 a photo becomes a job by a button, its message is edited, and the result follows once", async () => {
  const person = api.person();
  const owner = await linkOwner(services, person);
  person.sendPhotos([await photo()]);
  const question = await shows(person, /What is to be done/);
  expect(question.buttons.map(({ text }) => text)).toEqual(
    expect.arrayContaining(["Remove background", "Upscale", "Cancel"]),
  );
  person.press("Upscale");
  const job = await oneJob(owner);
  expect(job).toMatchObject({ kind: "upscale", params: { scale: 2 } });
  expect(await rolesOf(services, job.id)).toEqual(["image"]);
  await shows(person, /^Started\.$/);
  const progress = await shows(person, /^Upscale: /);
  expect(progress.buttons.map(({ text }) => text)).toEqual(["Cancel"]);
  const run = await startJob(services, job.id);
  await setProgress(services, job.id, 0.4);
  await until("the progress", () => (progress.text === "Upscale: 40 %" ? true : null));
  await run.end();
  await until("the end", () => (progress.text === "Upscale: done" ? true : null));
  expect(progress.buttons).toEqual([]);
  await until("the result", () => person.messages.find(({ kind }) => kind === "photo"));
  expect(person.messages.filter(({ kind }) => kind === "photo")).toHaveLength(1);
  const [first = 0, ...others] = progress.editedAtMs;
  others.reduce((before, after) => {
    expect(after - before).toBeGreaterThan(250);
    return after;
  }, first);
});

test("C1 a result comes to the chat that asked for it although notifications are off", async () => {
  const person = api.person();
  const owner = await linkOwner(services, person);
  await setNotification(services, { ownerId: owner.userId, channel: "telegram", isOn: false });
  person.sendPhotos([await photo()], { asFile: true });
  await shows(person, /What is to be done/);
  person.press("Remove background");
  const job = await oneJob(owner);
  await (await startJob(services, job.id)).end({ channels: 4 });
  await until("the result", () => person.messages.find(({ kind }) => kind === "document"));
  expect(person.messages.filter(({ kind }) => kind === "document")).toHaveLength(1);
});

test("C1 two photos are an outfit change after the consent: as an album, and one after the other", async () => {
  for (const isAlbum of [true, false]) {
    const person = api.person();
    const owner = await linkOwner(services, person);
    const photos = [await photo(), await photo()];
    if (isAlbum) person.sendPhotos(photos);
    else {
      person.sendPhotos(photos.slice(0, 1));
      await shows(person, /What is to be done/);
      person.sendPhotos(photos.slice(1));
    }
    const question = await shows(person, /adult who agrees/);
    expect(await jobsOf(services, owner)).toEqual([]);
    person.press("Swap the photos");
    await until("the other order", () =>
      question.text.includes("second photo shows the person") ? true : null,
    );
    person.press("Confirm and start");
    const job = await oneJob(owner);
    expect(job).toMatchObject({ kind: "outfit_change", params: { consent: true } });
    expect(await rolesOf(services, job.id)).toEqual(["garment", "person"]);
    expect(await countConsents(services, owner)).toBe(1);
  }
});

test("C1 three photos, a caption, a text and a command that nothing can do get an answer in words", async () => {
  const person = api.person();
  const owner = await linkOwner(services, person);
  person.sendPhotos([await photo(), await photo(), await photo()]);
  await shows(person, /Send one photo, or two/);
  person.sendPhotos([await photo()], { caption: "make it blue" });
  await shows(person, /Edit with a prompt is not available/);
  person.say("a house by the sea");
  await shows(person, /ComfyUI|not available/);
  person.say("/unknown");
  await shows(person, /Send a photo with what to change/);
  expect(await jobsOf(services, owner)).toEqual([]);
});

test("C1 a damaged picture is refused in the product's own words, and the buttons stay", async () => {
  const person = api.person();
  await linkOwner(services, person);
  person.sendPhotos([Buffer.from("no picture")]);
  await shows(person, /What is to be done/);
  person.press("Upscale");
  const refusal = await shows(person, /damaged|Only JPEG/);
  expect(refusal.buttons.map(({ text }) => text)).toContain("Upscale");
});

test("C1 /status tells the open jobs, the button and /cancel end them", async () => {
  const person = api.person();
  const owner = await linkOwner(services, person);
  person.say("/status");
  await shows(person, /no open jobs/);
  person.say("/cancel");
  await shows(person, /nothing to cancel/);
  for (const end of ["button", "command"]) {
    person.sendPhotos([await photo()]);
    const count = (await jobsOf(services, owner)).length;
    await until("the question", () =>
      person.messages.findLast(({ buttons }) => buttons.some(({ text }) => text === "Upscale")),
    );
    person.press("Upscale");
    const job = await until("the job", async () => (await jobsOf(services, owner))[count]);
    const message = await until("the message", () =>
      person.messages.findLast(
        ({ text, buttons }) => text.startsWith("Upscale: waiting") && buttons.length === 1,
      ),
    );
    person.say("/status");
    await until("the status", () =>
      person.messages.find(({ id, text }) => id > message.id && text.startsWith("Upscale: waiting")),
    );
    if (end === "button") person.press("Cancel");
    else person.say("/cancel");
    await untilStatus(services, job.id, "cancelled");
    await until("the end", () => (message.text === "Upscale: cancelled" ? true : null));
  }
  expect(person.notices).toContain("Cancelling");
  await shows(person, /^The job is cancelled\.$/);
});

test("C3 an update that arrives twice, and a press twice, make one job", async () => {
  const person = api.person();
  const owner = await linkOwner(services, person);
  person.sendPhotos([await photo()]);
  await shows(person, /What is to be done/);
  person.press("Upscale");
  person.press("Upscale");
  api.repeatLast();
  await oneJob(owner);
  await until("the notice", () => person.notices.find((text) => text.includes("done already")));
  // What comes after them has been answered, so they have been, too.
  person.say("/status");
  await shows(person, /^Upscale: waiting/);
  expect(await jobsOf(services, owner)).toHaveLength(1);
});

test("C1 an answer that Telegram asks to wait with is sent once it may", async () => {
  const person = api.person();
  await linkOwner(services, person);
  api.slowDown(person.chatId, 900);
  person.say("/status");
  await shows(person, /no open jobs/);
  expect(person.messages).toHaveLength(1);
});

test("C1 a question that Telegram refuses for longer than the bot waits is asked afterwards, once", async () => {
  const { telegramRequests } = schema;
  const person = api.person();
  await linkOwner(services, person);
  const held = () =>
    services.db
      .select()
      .from(telegramRequests)
      .where(and(eq(telegramRequests.chatId, String(person.chatId)), isNull(telegramRequests.endedAt)));
  api.slowDown(person.chatId, 60_000);
  person.sendPhotos([await photo()]);
  await until("the wait", async () =>
    (await held()).some(({ asksAt }) => Number(asksAt) > Date.now() + 20_000),
  );
  expect(person.messages).toEqual([]);
  api.slowDown(person.chatId, 0);
  await services.db
    .update(telegramRequests)
    .set({ asksAt: new Date(0) })
    .where(eq(telegramRequests.chatId, String(person.chatId)));
  await shows(person, /^What is to be done/);
  await until("the end of asking", async () => (await held())[0]?.asksAt === null);
  expect(person.messages).toHaveLength(1);
});

test("S9 the token, codes and captions are in no line of the log", () => {
  const logged = lines.join("\n");
  expect(logged).toContain("reads the updates of the Telegram bot");
  for (const canary of ["simulated-token-canary", "make it blue", "a house by the sea"])
    expect(logged).not.toContain(canary);
});
