import { and, eq, inArray, sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { schema } from "@atelier/server/db";
import { addJob, addNode, readJob } from "@atelier/testing/jobs";
import { captureLog, createTestServices, type TestServices } from "@atelier/testing/services";
import { type BotApi, linkOwner, type Picture, startBotApi, startJob } from "@atelier/testing/telegram";
import { inAll } from "@atelier/testing/cases";
import { deliver, readNotifications } from "../deliveries/index.ts";
import type { Services } from "../services.ts";
import { telegramChannel } from "./channel.ts";
import { readTelegramState, unlink } from "./links.ts";

const { deliveries, images, jobOutputs } = schema;
const { log, lines } = captureLog();

let api: BotApi;
let opened: TestServices;
let services: Services;
beforeAll(async () => {
  api = await startBotApi();
  opened = await createTestServices({ log, env: { ...api.env, APP_URL: "https://studio.example.test" } });
  ({ services } = opened);
  await addNode(services, { slots: 50 });
});
afterAll(async () => {
  await opened.close();
  await api.close();
});

/** A person whose account has a completed job with these pictures. */
async function complete(...pictures: readonly Picture[]) {
  const person = api.person();
  const owner = await linkOwner(services, person);
  const jobId = await addJob(services, { owner });
  await (await startJob(services, jobId)).end(...pictures);
  const send = async () => {
    // Whatever wait the last failure asked for is over.
    await services.db
      .update(deliveries)
      .set({ nextAttemptAt: sql`now()` })
      .where(own);
    const { id } = await row();
    const { signal } = new AbortController();
    return deliver(services, { id, via: "callback", channels: [telegramChannel], signal });
  };
  const own = and(eq(deliveries.jobId, jobId), eq(deliveries.channel, "telegram"));
  const row = async () => {
    const [found] = await services.db.select().from(deliveries).where(own);
    if (!found) throw new Error("nothing is owed");
    return found;
  };
  return { person, owner, jobId, send, row };
}

test("C2 a result is sent as a photo with its name and link, and the message's id is recorded", async () => {
  const { person, jobId, send, row } = await complete();
  expect(await send()).toBe("delivered");
  expect(person.messages).toMatchObject([{ kind: "photo", fileName: "atelier.png" }]);
  expect(person.messages[0]?.text).toBe(`Upscale is done.\nhttps://studio.example.test/jobs/${jobId}`);
  expect((await row()).externalId).toBe(String(person.messages[0]?.id));
  expect(await send()).toBe("already_delivered");
  expect(person.messages).toHaveLength(1);
});

test("C2 what Telegram would spoil or refuse as a photo is sent as a file: transparency, long sides, over 10 MB", async () => {
  const pictures = [
    { channels: 4 },
    { width: 2_100, height: 90 },
    { width: 2_000, height: 1_800, isNoise: true },
  ] as const;
  for (const picture of pictures) {
    const { person, send } = await complete(picture);
    expect(await send()).toBe("delivered");
    expect(person.messages.map(({ kind }) => kind)).toEqual(["document"]);
  }
});

test("C2 a photo that Telegram refuses for its size follows as a file, in the same attempt", async () => {
  const { person, send, row } = await complete();
  api.inject("sendPhoto", { kind: "refuse", status: 400, text: "Bad Request: IMAGE_PROCESS_FAILED" });
  expect(await send()).toBe("delivered");
  expect(person.messages.map(({ kind }) => kind)).toEqual(["document"]);
  expect((await row()).attempts).toBe(1);
});

test("C2 a file that Telegram refuses for its size follows scaled, and then not at all", async () => {
  const { person, send } = await complete({ channels: 4 });
  const tooLarge = { kind: "refuse", status: 413, text: "Request Entity Too Large" } as const;
  api.inject("sendDocument", tooLarge);
  expect(await send()).toBe("delivered");
  expect(person.messages).toMatchObject([{ kind: "document", fileName: "atelier-scaled.jpg" }]);
  const other = await complete({ channels: 4 });
  api.inject("sendDocument", tooLarge, tooLarge);
  expect(await other.send()).toBe("failed");
  expect((await other.row()).lastError).toBe("Telegram takes no picture of this size.");
});

const many = (count: number, picture: Picture = {}) => Array.from({ length: count }, () => picture);

test.each([
  { what: "two photos", pictures: many(2), kinds: ["photo"], count: 2, more: null },
  { what: "ten photos", pictures: many(10), kinds: ["photo"], count: 10, more: null },
  { what: "eleven, of which ten are an album", pictures: many(11), kinds: ["photo"], count: 10, more: 1 },
  {
    what: "cut-outs as files",
    pictures: many(3, { channels: 4 }),
    kinds: ["document"],
    count: 3,
    more: null,
  },
  {
    what: "a photo and a cut-out, both as files",
    pictures: [{}, { channels: 4 }] as Picture[],
    kinds: ["document"],
    count: 2,
    more: null,
  },
  {
    what: "files of more than 10 MB, as many as one request holds",
    pictures: many(6, { width: 2_000, height: 1_800, isNoise: true }),
    kinds: ["document"],
    count: 4,
    more: 2,
  },
])("C2 several pictures are one album: $what", inAll, async ({ pictures, kinds, count, more }) => {
  const { person, jobId, send, row } = await complete(...pictures);
  expect(await send()).toBe("delivered");
  expect(person.messages).toHaveLength(count);
  expect([...new Set(person.messages.map(({ kind }) => kind))]).toEqual(kinds);
  expect(new Set(person.messages.map(({ groupId }) => groupId)).size).toBe(1);
  const [first, ...others] = person.messages;
  const link = `https://studio.example.test/jobs/${jobId}`;
  const lines = ["Upscale is done.", ...(more === null ? [] : [`${more} more in the gallery.`]), link];
  expect(first?.text).toBe(lines.join("\n"));
  expect(others.filter(({ text }) => text !== "")).toEqual([]);
  expect((await row()).externalId).toBe(String(first?.id));
});

test("C2 a picture that no request holds leaves the album to the others", async () => {
  const { person, jobId, send } = await complete(...many(3));
  const first = services.db
    .select({ id: jobOutputs.imageId })
    .from(jobOutputs)
    .where(and(eq(jobOutputs.jobId, jobId), eq(jobOutputs.position, 0)));
  await services.db
    .update(images)
    .set({ sizeBytes: 60 * 1_048_576 })
    .where(inArray(images.id, first));
  expect(await send()).toBe("delivered");
  expect(person.messages.map(({ kind }) => kind)).toEqual(["photo", "photo"]);
  expect(person.messages[0]?.text).toContain("1 more in the gallery.");
});

test("C2 an album that Telegram refuses for one of its photos follows as files, and then its first picture alone", async () => {
  const { person, send } = await complete(...many(3));
  const refusal = {
    kind: "refuse",
    status: 400,
    text: 'Bad Request: failed to send message #2 with the error message "PHOTO_INVALID_DIMENSIONS"',
  } as const;
  api.inject("sendMediaGroup", refusal);
  expect(await send()).toBe("delivered");
  expect(person.messages.map(({ kind }) => kind)).toEqual(["document", "document", "document"]);
  const other = await complete(...many(3));
  api.inject("sendMediaGroup", refusal, { kind: "refuse", status: 413, text: "Request Entity Too Large" });
  expect(await other.send()).toBe("delivered");
  expect(other.person.messages).toMatchObject([{ kind: "photo", groupId: null }]);
  expect(other.person.messages[0]?.text).toContain("2 more in the gallery.");
});

test("C2 429 waits as long as Telegram says and is tried again", async () => {
  const { person, send, row } = await complete();
  api.slowDown(person.chatId, 600_000);
  expect(await send()).toBe("retry");
  const { nextAttemptAt, createdAt, lastError } = await row();
  expect(nextAttemptAt.getTime() - createdAt.getTime()).toBeGreaterThan(590_000);
  expect(lastError).toBe("Telegram asked to wait.");
  api.slowDown(person.chatId, 0);
  expect(await send()).toBe("delivered");
  expect(person.messages).toHaveLength(1);
});

test("C2 a blocked bot, an unknown chat and a deactivated account end the link and all that is owed", async () => {
  const refusals = [
    [403, "Forbidden: bot was blocked by the user"],
    [403, "Forbidden: user is deactivated"],
    [400, "Bad Request: chat not found"],
  ] as const;
  for (const [status, text] of refusals) {
    const { owner, send, row } = await complete();
    api.inject("sendPhoto", { kind: "refuse", status, text });
    expect(await send()).toBe("failed");
    expect((await row()).lastError).toContain("cannot be written to");
    expect((await readTelegramState(services, owner.userId)).link).toBeNull();
    expect(await readNotifications(services, owner.userId)).toEqual([]);
  }
});

test("C2 a chat with a new id is sent to there, and the link has it from then on", async () => {
  const { person, owner, send, row } = await complete();
  const to = person.chatId + 1_000_000;
  api.migrate(person.chatId, to);
  expect(await send()).toBe("delivered");
  expect(person.messages).toMatchObject([{ kind: "photo", chatId: to }]);
  expect((await row()).target).toBe(String(to));
  expect(await readNotifications(services, owner.userId)).toMatchObject([{ target: String(to), isOn: true }]);
});

test("C2 without an answer the message is sent again, since it cannot be asked whether it arrived", async () => {
  const { person, send, row } = await complete();
  api.inject("sendPhoto", { kind: "lost" });
  expect(await send()).toBe("retry");
  expect((await row()).lastError).toBe("Telegram gave no answer; the message may have arrived.");
  expect(await send()).toBe("delivered");
  expect(person.messages).toHaveLength(2);
});

test("C2 a refused token and a failing server are tried again, another refusal is final", async () => {
  const { send } = await complete();
  api.inject("sendPhoto", { kind: "refuse", status: 401, text: "Unauthorized" });
  expect(await send()).toBe("retry");
  api.inject("sendPhoto", { kind: "refuse", status: 502, text: "Bad Gateway" });
  expect(await send()).toBe("retry");
  api.inject("sendPhoto", { kind: "refuse", status: 400, text: "Bad Request: something else" });
  expect(await send()).toBe("failed");
});

test("C4 a send that hangs ends with the process, and the delivery is open again", async () => {
  const { person, row } = await complete();
  api.inject("sendPhoto", { kind: "hang" });
  const stopped = new AbortController();
  const { id } = await row();
  const before = api.calls.length;
  const sent = deliver(services, { id, via: "poll", channels: [telegramChannel], signal: stopped.signal });
  await expect.poll(() => api.calls.slice(before)).toEqual(["sendPhoto"]);
  stopped.abort(new Error("the process stops"));
  expect(await sent).toBe("retry");
  expect((await row()).deliveringAt).toBeNull();
  expect(person.messages).toEqual([]);
});

test("S9 nothing is sent to a chat that is no longer linked", async () => {
  const { person, owner, send, row, jobId } = await complete();
  await unlink(services, owner.userId);
  expect(await send()).toBe("ended");
  expect((await row()).lastError).toBe("The chat is no longer linked.");
  expect(person.messages.every(({ kind }) => kind === "text")).toBe(true);
  expect((await readJob(services, jobId)).status).toBe("completed");
});

test("S9 the token is in no row and no line of the log, also after errors of the network", async () => {
  const { send } = await complete();
  api.inject("sendPhoto", { kind: "lost" });
  await send();
  const rows = await services.db.execute(sql`
    select d.last_error, a.error from ${deliveries} d join ${schema.deliveryAttempts} a on a.delivery_id = d.id`);
  expect(lines.join("\n")).toContain("delivery failed");
  for (const text of [lines.join("\n"), JSON.stringify(rows)]) {
    expect(text).not.toContain("simulated-token-canary");
    expect(text).not.toContain("/bot7000000001");
  }
});
