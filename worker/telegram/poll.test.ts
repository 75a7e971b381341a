// @module-tag all
import { inAll } from "@atelier/testing/cases";
import { sql } from "drizzle-orm";
import { expect, onTestFinished, test } from "vitest";
import { schema } from "@atelier/server/db";
import { readOverview } from "@atelier/server/monitoring";
import { newId } from "@atelier/server/platform";
import type { Services } from "@atelier/server/services";
import { addNode, addOwner } from "@atelier/testing/jobs";
import { captureLog, createTestServices } from "@atelier/testing/services";
import {
  codeOf,
  forgetHandled,
  jobsOf,
  linkOwner,
  photo,
  readHolder,
  rolesOf,
  startBotApi,
  until,
} from "@atelier/testing/telegram";
import { createLink } from "@atelier/server/telegram";
import { startTelegram } from "./index.ts";

// A lease longer than a busy machine lets a process wait for its turn: one that lapses may go to another poller.
const timing = { leaseMs: 15_000, waitSeconds: 1, editMs: 300 };

/** A bot of its own, and services of a studio with it. */
async function openStudio() {
  const { log, lines } = captureLog();
  const api = await startBotApi();
  const opened = await createTestServices({ log, env: api.env });
  onTestFinished(async () => {
    await opened.close();
    await api.close();
  });
  const start = (services: Services, nodeId: string | null = null) => {
    const bot = startTelegram(services, { timing, nodeId: () => nodeId });
    if (!bot) throw new Error("the studio has no bot");
    onTestFinished(() => bot.stop());
    return bot;
  };
  return { api, opened, services: opened.services, lines, start };
}

test("C3 of several workers one reads the updates and each is answered once; when it stops another goes on", async () => {
  const { api, opened, services, start } = await openStudio();
  const first = start(services);
  const holder = await until("the lease", () => readHolder(services));
  start(await opened.openAnother());
  start(await opened.openAnother());
  const person = api.person();
  await linkOwner(services, person);
  for (let count = 1; count <= 3; count += 1) {
    person.say("/status");
    await until("the answer", () => (person.messages.length >= count ? true : null));
  }
  expect(person.messages).toHaveLength(3);
  expect(await readHolder(services)).toBe(holder);
  await first.stop();
  person.say("/status");
  await until("the answer of another worker", () => (person.messages.length === 4 ? true : null));
  expect(await readHolder(services)).not.toBe(holder);
});

test("C4 what a poller that died had begun is done once: the same job, the same link", async () => {
  const { api, services, start } = await openStudio();
  await addNode(services, { slots: 5 });
  const person = api.person();
  const owner = await addOwner(services);
  const bot = start(services);
  person.say(`/start ${codeOf(await createLink(services, owner.userId))}`);
  await until("the question", () => person.messages.find(({ text }) => text.includes("Link this chat")));
  person.press("Confirm");
  await until("the link", () =>
    person.messages.find(({ text }) => text === "Linked. Results of your jobs come here from now on."),
  );
  await bot.stop();
  await forgetHandled(services);
  api.repeatLast();
  const second = start(services);
  person.sendPhotos([await photo()]);
  await until("the question", () =>
    person.messages.find(({ text }) => text.startsWith("What is to be done")),
  );
  expect(person.messages.filter(({ text }) => text.includes("too old"))).toEqual([]);
  person.press("Upscale");
  await until("the job", async () => (await jobsOf(services, owner))[0]);
  await until("the progress", () => person.messages.find(({ text }) => text.startsWith("Upscale: waiting")));
  await second.stop();
  await forgetHandled(services);
  api.repeatLast();
  start(services);
  person.say("/status");
  await until("the status", () =>
    person.messages.at(-1)?.text.startsWith("Upscale: waiting") ? person.messages.at(-1) : null,
  );
  expect(await jobsOf(services, owner)).toHaveLength(1);
});

test("C4 a Bot API that fails, refuses for now, or has another reader is asked again", async () => {
  const { api, services, lines, start } = await openStudio();
  api.inject(
    "getUpdates",
    { kind: "refuse", status: 502, text: "Bad Gateway" },
    { kind: "refuse", status: 429, text: "Too Many Requests: retry after 1", parameters: { retry_after: 1 } },
    { kind: "lost" },
    { kind: "refuse", status: 409, text: "Conflict: terminated by other getUpdates request" },
  );
  start(services);
  const person = api.person();
  await linkOwner(services, person);
  person.say("/status");
  await until("the answer", () => person.messages[0]);
  const kinds = lines.flatMap((line) => /"kind":"(\w+)"/.exec(line)?.[1] ?? []);
  expect(kinds).toEqual(["unknown", "rate", "unknown", "conflict"]);
  expect(lines.join("\n")).not.toContain("simulated-token-canary");
});

test(
  "C4 a bot with a webhook is told of once, to admins as well, and read as soon as the webhook is gone",
  inAll,
  async () => {
    const { api, services, lines, start } = await openStudio();
    const id = await addNode(services, { slots: 5 });
    const attention = async () => (await readOverview(services, { window: "1h" })).attention;
    api.setWebhook(true);
    start(services, id);
    await until("the attention", async () => ((await attention()).length > 0 ? true : null));
    expect(await attention()).toMatchObject([
      { type: "bot_unread", reason: expect.stringMatching(/has a webhook.*deleteWebhook/) },
    ]);
    const polls = () => api.calls.filter((name) => name === "getUpdates").length;
    await until("another try", () => (polls() >= 2 ? true : null));
    expect(lines.filter((line) => line.includes("has a webhook"))).toHaveLength(1);
    api.setWebhook(false);
    const person = api.person();
    await linkOwner(services, person);
    person.say("/status");
    await until("the answer", () => person.messages[0]);
    expect(await attention()).toEqual([]);
  },
);

test("C4 a worker that no longer reads the bot says nothing of it to admins", async () => {
  const { api, services, start } = await openStudio();
  const id = await addNode(services, { slots: 5 });
  const attention = async () => (await readOverview(services, { window: "1h" })).attention;
  api.setWebhook(true);
  start(services, id);
  await until("the attention", async () => ((await attention()).length > 0 ? true : null));
  const leaseUntil = sql`'infinity'`;
  await services.db.update(schema.telegramBots).set({ holder: newId(), leaseUntil });
  expect(await until("silence", async () => ((await attention()).length === 0 ? true : null))).toBe(true);
});

test("C1 a reply to a picture is an edit of that picture: the bot's, one's own, a file; a photo is its garment", async () => {
  const { api, services, start } = await openStudio();
  const edits = ["comfyui/edit_flux_kontext_stitched", "comfyui/t2i_sd15"] as const;
  await addNode(services, { slots: 5, queue: "gpu-medium", needs: edits });
  start(services);
  const person = api.person();
  const owner = await linkOwner(services, person);
  const jobs = () => jobsOf(services, owner);
  const edited = async (count: number) =>
    until("the job", async () => ((await jobs()).length === count ? (await jobs()).at(-1) : null));
  person.sendPhotos([await photo()]);
  const question = await until("the question", () =>
    person.messages.find(({ text }) => text.startsWith("What is")),
  );
  person.reply("own", "make it blue");
  expect(await edited(1)).toMatchObject({ kind: "edit", params: { prompt: "make it blue" } });
  const shown = { ...question, bytes: await photo(), fileName: "atelier.png" };
  person.reply({ ...shown, kind: "photo" }, "  and now green ");
  expect(await edited(2)).toMatchObject({ kind: "edit", params: { prompt: "and now green" } });
  person.reply({ ...shown, bytes: await photo(), kind: "document" }, "with a hat");
  const last = await edited(3);
  expect(last).toMatchObject({ kind: "edit", params: { prompt: "with a hat" } });
  expect(await rolesOf(services, last.id)).toEqual(["image"]);
  person.reply(question, "a house by the sea");
  expect(await edited(4)).toMatchObject({ kind: "text_to_image" });
  person.reply({ ...shown, kind: "photo" }, "/status");
  await until("the status", () => person.messages.find(({ text }) => text.includes(": waiting")));
  person.reply({ ...shown, bytes: await photo(), kind: "photo" }, await photo());
  await until("the consent", () => person.messages.find(({ text }) => text.startsWith("Change the outfit")));
  expect(await jobs()).toHaveLength(4);
});

test("C1 a caption is the prompt of an edit, a text that of a picture, where the studio can do it", async () => {
  const { api, services, start } = await openStudio();
  const needs = ["comfyui/edit_flux_kontext_stitched", "comfyui/t2i_sd15"] as const;
  await addNode(services, { slots: 5, queue: "gpu-medium", needs });
  start(services);
  const person = api.person();
  const owner = await linkOwner(services, person);
  person.sendPhotos([await photo()], { caption: "make it blue" });
  const edit = await until("the job", async () => (await jobsOf(services, owner))[0]);
  expect(edit).toMatchObject({ kind: "edit", workflow: "edit_flux_kontext_stitched" });
  expect(edit.params).toMatchObject({ prompt: "make it blue" });
  person.say("a house by the sea");
  const made = await until("the job", async () => (await jobsOf(services, owner))[1]);
  expect(made).toMatchObject({ kind: "text_to_image", params: { prompt: "a house by the sea" } });
  await until("both messages", () =>
    person.messages.filter(({ text }) => /^(Edit|Text to image).*: waiting/.test(text)).length === 2
      ? true
      : null,
  );
});
