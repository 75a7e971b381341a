import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { enableProvider, type ProviderName } from "@atelier/server/providers";
import type { Services } from "@atelier/server/services";
import { addNode } from "@atelier/testing/jobs";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import {
  type BotApi,
  cheapenOffers,
  expireOffers,
  jobsOf,
  linkOwner,
  noteSeen,
  type Person,
  photo,
  rolesOf,
  startBotApi,
  until,
} from "@atelier/testing/telegram";
import { startTelegram } from "./index.ts";

const model = (id: string, kind: string, offers: readonly object[]) => ({
  id,
  title: `The ${id}`,
  kind,
  inputs: { required: kind === "text_to_image" ? [] : ["image"], optional: [] },
  params: kind === "upscale" ? [] : ["prompt"],
  offers,
});
const offer = (provider: string, priceUsd: number | null) => ({
  provider,
  endpoint: "e",
  input: {},
  priceUsd,
});
const models = [
  model("painter", "text_to_image", [offer("fal", 0.04), offer("replicate", 0.085)]),
  model("editor", "edit", [offer("fal", null), offer("replicate", 0.6)]),
  model("gift", "restore_faces", [offer("fal", 0), offer("replicate", 0.2)]),
  model("scaler", "upscale", [{ ...offer("fal", 0.5), input: { factor: "$scale" } }]),
  model("cutter", "remove_background", [offer("replicate", 0.5)]),
];

let api: BotApi;
let opened: TestServices;
let services: Services;
let homeId: string;
let stop: () => Promise<void>;
beforeAll(async () => {
  api = await startBotApi();
  opened = await createTestServices({ env: api.env, config: { cloud: { models } } });
  ({ services } = opened);
  homeId = await addNode(services, { slots: 50, queue: "cpu-light", needs: ["local/upscale"] });
  const needs = models.map(({ id }) => `cloud/${id}` as const);
  await addNode(services, { slots: 50, queue: "cloud", needs, providers: ["fal", "replicate"] });
  const bot = startTelegram(services, { timing: { leaseMs: 3_000, waitSeconds: 1, editMs: 300 } });
  stop = async () => bot?.stop();
});
afterAll(async () => {
  await stop();
  await opened.close();
  await api.close();
});

const shows = (person: Person, pattern: RegExp) =>
  until(`a message like ${pattern.source}`, () => person.messages.find(({ text }) => pattern.test(text)));
const jobCount = (person: Person, owner: Parameters<typeof jobsOf>[1], count: number) =>
  until(`${count} jobs of ${person.chatId}`, async () => {
    const jobs = await jobsOf(services, owner);
    return jobs.length === count ? jobs : null;
  });

/** The admin leaves these providers switched on, until the test ends. */
const switchTo = async (...providers: readonly ProviderName[]) => {
  const set = async (isOn: (name: ProviderName) => boolean) => {
    for (const name of ["fal", "replicate"] as const) await enableProvider(services.db, name, isOn(name));
  };
  await set((name) => providers.includes(name));
  onTestFinished(() => set(() => true));
};
const edits = () => api.calls.filter((name) => name === "editMessageText").length;
const untilEdits = (count: number) => until(`edit ${count}`, () => (edits() >= count ? true : null));

test("C1 E8 what costs money is asked about with its price, and one agreement makes one job", async () => {
  const person = api.person();
  const owner = await linkOwner(services, person);
  person.say("a house by the sea");
  const question = await shows(person, /The painter at fal.*costs about \$0\.04, and at most \$0\.085/);
  expect(question.buttons.map(({ text }) => text)).toEqual(["Make it for $0.085", "Cancel"]);
  expect(await jobsOf(services, owner)).toEqual([]);
  person.press("Make it for $0.085");
  person.press("Make it for $0.085");
  const [job] = await jobCount(person, owner, 1);
  expect(job).toMatchObject({ engine: "cloud", model: "painter", ownOnly: false });
  expect(job?.agreed).toMatchObject({ maxPriceUsd: 0.085, ownOnly: false, unknownPrice: false });
  expect(job?.params).toMatchObject({ prompt: "a house by the sea" });
  await until("the notice", () => person.notices.find((text) => text.includes("done already")));
  expect(await jobsOf(services, owner)).toHaveLength(1);
});

test("C1 Cancel below a price makes nothing", async () => {
  const person = api.person();
  const owner = await linkOwner(services, person);
  person.say("nothing at all");
  await shows(person, /costs about/);
  person.press("Cancel");
  await shows(person, /^Dropped\.$/);
  expect(await jobsOf(services, owner)).toEqual([]);
});

test("C1 an old question about a price makes nothing", async () => {
  const person = api.person();
  const owner = await linkOwner(services, person);
  person.say("too late");
  await shows(person, /costs about/);
  await expireOffers(services, person);
  person.press("Make it for $0.085");
  await shows(person, /asked about too long ago/);
  expect(await jobsOf(services, owner)).toEqual([]);
});

test("C1 a price that rose after the question is asked about again", async () => {
  const person = api.person();
  const owner = await linkOwner(services, person);
  person.say("a dear friend");
  const question = await shows(person, /costs about \$0\.04/);
  await cheapenOffers(services, person, 0.01);
  const { text, buttons } = question;
  const before = edits();
  person.press("Make it for $0.085");
  // It is the same question, so that the chat shows no change.
  await untilEdits(before + 1);
  expect(person.messages).toMatchObject([{ text, buttons }]);
  expect(await jobsOf(services, owner)).toEqual([]);
  person.press("Make it for $0.085");
  await jobCount(person, owner, 1);
});

const refusedEdit = { kind: "refuse", status: 400, text: "Bad Request: refused" } as const;

test("C1 a second press on a price that rose meanwhile agrees to nothing, also where the chat still shows it", async () => {
  const person = api.person();
  const owner = await linkOwner(services, person);
  await switchTo("fal");
  person.say("a dear friend again");
  await shows(person, /costs about \$0\.04/);
  await switchTo("replicate");
  api.inject("editMessageText", refusedEdit);
  const before = edits();
  person.press("Make it for $0.04");
  person.press("Make it for $0.04");
  await untilEdits(before + 2);
  await shows(person, /costs about \$0\.085/);
  expect(await jobsOf(services, owner)).toEqual([]);
  person.press("Make it for $0.085");
  const [job] = await jobCount(person, owner, 1);
  expect(job?.agreed).toMatchObject({ maxPriceUsd: 0.085 });
});

test("C1 the most for an unknown price is asked for anew where the price is known by now", async () => {
  const person = api.person();
  const owner = await linkOwner(services, person);
  await switchTo("fal");
  person.sendPhotos([await photo()], { caption: "make it red" });
  await shows(person, /The editor at fal.*price is not known/);
  await switchTo("replicate");
  const before = edits();
  person.press("At most $0.05");
  person.press("At most $0.05");
  await untilEdits(before + 2);
  await shows(person, /The editor at Replicate.*costs about \$0\.60/);
  expect(await jobsOf(services, owner)).toEqual([]);
});

test("C1 a price is agreed to for what it was asked for alone", async () => {
  const person = api.person();
  const owner = await linkOwner(services, person);
  await noteSeen(services, homeId, 600);
  person.sendPhotos([await photo()]);
  await shows(person, /What is to be done/);
  const before = edits();
  // The chat shows the first question, and the second one stands.
  api.inject("editMessageText", { kind: "lost" }, refusedEdit);
  person.press("Upscale");
  person.press("Remove background");
  await untilEdits(before + 2);
  expect(person.messages.at(-1)?.text).toMatch(/The scaler at fal.*costs about \$0\.50/);
  person.press("Make it for $0.50");
  await shows(person, /The cutter at Replicate.*costs about \$0\.50/);
  expect(await jobsOf(services, owner)).toEqual([]);
  await noteSeen(services, homeId, -86_400);
});

test("C1 an unknown price is asked about with the most that the person would pay", async () => {
  const person = api.person();
  const owner = await linkOwner(services, person);
  await switchTo("fal");
  person.sendPhotos([await photo()], { caption: "make it blue" });
  const question = await shows(person, /The editor at fal.*price is not known: choose the most/);
  const buttons = ["At most $0.05", "At most $0.20", "At most $1.00", "Cancel"];
  expect(question.buttons.map(({ text }) => text)).toEqual(buttons);
  person.press("At most $0.20");
  const [job] = await jobCount(person, owner, 1);
  expect(job).toMatchObject({ kind: "edit", model: "editor", params: { prompt: "make it blue" } });
  expect(job?.agreed).toEqual({ maxPriceUsd: 0.2, ownOnly: false, unknownPrice: true });
  expect(await rolesOf(services, job?.id ?? "")).toEqual(["image"]);
});

test("C1 E8 where own machines are too busy the person chooses between them and the price", async () => {
  const person = api.person();
  const owner = await linkOwner(services, person);
  await noteSeen(services, homeId, 600);
  person.sendPhotos([await photo()]);
  await shows(person, /What is to be done/);
  person.press("Upscale");
  const question = await shows(person, /The scaler at fal.*costs about \$0\.50/);
  expect(question.buttons.map(({ text }) => text)).toEqual([
    "Make it for $0.50",
    "On our own machines",
    "Cancel",
  ]);
  person.press("On our own machines");
  const [job] = await jobCount(person, owner, 1);
  expect(job).toMatchObject({ engine: "local", ownOnly: true, model: null });
  // As far ahead as no test lasts: it does not beat.
  await noteSeen(services, homeId, -86_400);
});

test("C1 what the own machines or a provider do for nothing starts without a question", async () => {
  const person = api.person();
  const owner = await linkOwner(services, person);
  let answeredId = 0;
  for (const [at, choice] of ["Upscale", "Restore faces"].entries()) {
    person.sendPhotos([await photo()]);
    const question = await until("the question", () =>
      // The one before may still show its buttons.
      person.messages.find(
        ({ id, buttons }) => id > answeredId && buttons.some(({ text }) => text === choice),
      ),
    );
    answeredId = question.id;
    person.press(choice);
    await jobCount(person, owner, at + 1);
  }
  const [own, gift] = await jobsOf(services, owner);
  expect(own).toMatchObject({ kind: "upscale", engine: "local" });
  expect(own?.agreed).toMatchObject({ maxPriceUsd: 0, ownOnly: true });
  expect(gift).toMatchObject({ kind: "restore_faces", model: "gift", ownOnly: false });
  expect(gift?.agreed).toMatchObject({ maxPriceUsd: 0, ownOnly: false });
  expect(person.messages.filter(({ text }) => /costs about|price is not/.test(text))).toEqual([]);
});
