import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { schema } from "@atelier/server/db";
import { addOwner } from "@atelier/testing/jobs";
import { captureLog, createTestServices, type TestServices } from "@atelier/testing/services";
import { type BotApi, codeOf, linkOwner, startBotApi, until } from "@atelier/testing/telegram";
import { readNotifications } from "../deliveries/index.ts";
import { newId } from "../platform/index.ts";
import type { Services } from "../services.ts";
import {
  confirmLink,
  createLink,
  findLinkedUser,
  openCode,
  readTelegramState,
  refuseLink,
  unlink,
  unlinkChat,
} from "./links.ts";

const { telegramCodes, telegramLinks, users } = schema;
const { log, lines } = captureLog();

let api: BotApi;
let opened: TestServices;
let services: Services;
beforeAll(async () => {
  api = await startBotApi();
  opened = await createTestServices({ log, env: api.env });
  ({ services } = opened);
});
afterAll(async () => {
  await opened.close();
  await api.close();
});

const newCode = async (userId: string) => codeOf(await createLink(services, userId));

test("C1 a deep link links the chat that opens it after a confirmation, and turns its notifications on", async () => {
  const owner = await addOwner(services);
  const person = api.person();
  const chatId = String(person.chatId);
  const link = await createLink(services, owner.userId);
  expect(link.url).toMatch(/^https:\/\/t\.me\/simulated_studio_bot\?start=[\w-]{22}$/);
  expect(await readTelegramState(services, owner.userId)).toEqual({ isOffered: true, link: null });
  await services.db
    .update(schema.users)
    .set({ name: "Bob (bob@example.test)" })
    .where(eq(schema.users.id, owner.userId));
  const question = await openCode(services, { code: codeOf(link), chatId });
  // The name is the owner's: what it says of another address comes after the real one.
  expect(question?.account).toBe(`${owner.userId}@example.test (name: “Bob (bob@example.test)”)`);
  expect(await findLinkedUser(services, chatId)).toBeNull();
  const codeId = question?.codeId ?? "";
  expect(await confirmLink(services, { codeId, chatId, name: "@ann" })).toBe(true);
  expect(await findLinkedUser(services, chatId)).toMatchObject({ userId: owner.userId, isGuest: false });
  expect((await readTelegramState(services, owner.userId)).link).toMatchObject({ name: "@ann" });
  expect(await readNotifications(services, owner.userId)).toEqual([
    { channel: "telegram", isOn: true, target: chatId, codeSentTo: null },
  ]);
  expect(await confirmLink(services, { codeId, chatId, name: "@ann" })).toBe(false);
  expect(await openCode(services, { code: codeOf(link), chatId })).toBeNull();
});

test("S9 a code is stored as a hash, belongs to the first chat, and ends after 15 minutes or with the next one", async () => {
  const owner = await addOwner(services);
  const first = await newCode(owner.userId);
  const [row] = await services.db.select().from(telegramCodes).where(eq(telegramCodes.userId, owner.userId));
  expect(JSON.stringify(row)).not.toContain(first);
  expect((row?.expiresAt.getTime() ?? 0) - (row?.createdAt.getTime() ?? 0)).toBeCloseTo(900_000, -3);
  expect(await openCode(services, { code: "wrong", chatId: "1" })).toBeNull();
  const question = await openCode(services, { code: first, chatId: "1" });
  expect(await openCode(services, { code: first, chatId: "2" })).toBeNull();
  const codeId = question?.codeId ?? "";
  expect(await confirmLink(services, { codeId, chatId: "2", name: "@eve" })).toBe(false);
  const second = await newCode(owner.userId);
  expect(await openCode(services, { code: first, chatId: "1" })).toBeNull();
  const late = await openCode(services, { code: second, chatId: "1" });
  await services.db.update(telegramCodes).set({ expiresAt: sql`now() - interval '1 second'` });
  expect(await openCode(services, { code: second, chatId: "1" })).toBeNull();
  expect(await confirmLink(services, { codeId: late?.codeId ?? "", chatId: "1", name: "@ann" })).toBe(false);
});

test("C1 a refused question links nothing and uses the code up", async () => {
  const owner = await addOwner(services);
  const code = await newCode(owner.userId);
  const question = await openCode(services, { code, chatId: "3" });
  await refuseLink(services, { codeId: question?.codeId ?? "", chatId: "3" });
  expect(await openCode(services, { code, chatId: "3" })).toBeNull();
  expect((await readTelegramState(services, owner.userId)).link).toBeNull();
});

test("C1 either side ends the link, and the chat hears of an end in the settings", async () => {
  const person = api.person();
  const owner = await linkOwner(services, person);
  expect(await unlink(services, owner.userId)).toBe(true);
  expect(await unlink(services, owner.userId)).toBe(false);
  await until("the notice", () => person.messages.find(({ text }) => text.includes("no longer linked")));
  expect(await readNotifications(services, owner.userId)).toEqual([]);
  const other = api.person();
  const second = await linkOwner(services, other);
  expect(await unlinkChat(services, String(other.chatId))).toBe(true);
  expect(await unlinkChat(services, String(other.chatId))).toBe(false);
  expect((await readTelegramState(services, second.userId)).link).toBeNull();
});

test("C1 a chat has one account and an account one chat: a new link replaces the others", async () => {
  const [home, work] = [api.person(), api.person()];
  const owner = await linkOwner(services, home);
  const other = await linkOwner(services, work);
  const question = await openCode(services, {
    code: await newCode(owner.userId),
    chatId: String(work.chatId),
  });
  const confirmed = { codeId: question?.codeId ?? "", chatId: String(work.chatId), name: "@ann" };
  expect(await confirmLink(services, confirmed)).toBe(true);
  expect((await findLinkedUser(services, String(work.chatId)))?.userId).toBe(owner.userId);
  expect(await findLinkedUser(services, String(home.chatId))).toBeNull();
  expect((await readTelegramState(services, other.userId)).link).toBeNull();
  await until("the notice", () => home.messages.find(({ text }) => text.includes("no longer linked")));
});

test("C1 two accounts that confirm in one chat at once leave one link", async () => {
  const chatId = String(api.person().chatId);
  const owners = [await addOwner(services), await addOwner(services)];
  const questions = await Promise.all(
    owners.map(async ({ userId }) => openCode(services, { code: await newCode(userId), chatId })),
  );
  const answers = await Promise.all(
    questions.map((question) =>
      confirmLink(services, { codeId: question?.codeId ?? "", chatId, name: "@ann" }),
    ),
  );
  expect(answers).toEqual([true, true]);
  expect(await services.db.$count(telegramLinks, eq(telegramLinks.chatId, chatId))).toBe(1);
});

test("S9 the chat of a suspended account is nobody's", async () => {
  const person = api.person();
  const owner = await linkOwner(services, person);
  await services.db.update(users).set({ banned: true }).where(eq(users.id, owner.userId));
  expect(await findLinkedUser(services, String(person.chatId))).toBeNull();
});

test("S9 a Bot API that fails shows neither its address nor the token, and without a token there is no bot", async () => {
  const owner = await addOwner(services);
  const away = { ...services, env: { ...services.env, TELEGRAM_API_ROOT: "http://127.0.0.1:9" } };
  const error: unknown = await createLink(away, owner.userId).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: "internal" });
  const { TELEGRAM_BOT_TOKEN: _token, ...env } = services.env;
  expect(await readTelegramState({ ...services, env }, owner.userId)).toMatchObject({ isOffered: false });
  await expect(createLink({ ...services, env }, owner.userId)).rejects.toMatchObject({ code: "conflict" });
  expect(lines.join("\n")).toContain("the name of the bot could not be read");
  expect(lines.join("\n")).not.toContain("simulated-token-canary");
});

test("C1 a button that was never shown links nothing and refuses nothing", async () => {
  const chatId = String(api.person().chatId);
  for (const codeId of ["", "1", "a'b", newId()]) {
    expect(await confirmLink(services, { codeId, chatId, name: "@ann" })).toBe(false);
    await refuseLink(services, { codeId, chatId });
  }
});
