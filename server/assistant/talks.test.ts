import { createTestServices, type TestServices } from "@atelier/testing/services";
import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { mergeGuest } from "../accounts/index.ts";
import { schema } from "../db/index.ts";
import type { HintMessage } from "../queue/index.ts";
import { newId } from "../platform/index.ts";
import { ask } from "./ask.ts";
import { findTalks, snippetOf } from "./find-talks.ts";
import { addSpeaker } from "./import-talks.ts";
import { questionSource } from "./live.ts";
import { readConversation } from "./read.ts";
import { changeConversation, deleteConversation, listConversations, titleOf } from "./talks.ts";

const { assistantConversations, assistantMessages } = schema;

let fixture: TestServices;
let ownerId = "";
beforeAll(async () => void (fixture = await createTestServices()));
afterAll(() => fixture.close());
beforeEach(async () => void (ownerId = await addSpeaker(fixture.services.db, "Ann")));

interface Said {
  readonly title?: string | null;
  readonly said?: readonly string[];
  /** Seconds ago. */
  readonly ago?: number;
}

async function addTalk({ title = null, said = [], ago = 60 }: Said, owner = ownerId): Promise<string> {
  const { db } = fixture.services;
  const id = newId();
  const startMs = Date.now() - ago * 1_000;
  await db
    .insert(assistantConversations)
    .values({ id, ownerId: owner, title, lastAt: new Date(startMs + said.length) });
  for (const [at, text] of said.entries())
    await db.insert(assistantMessages).values({
      id: newId(),
      conversationId: id,
      ownerId: owner,
      role: at % 2 === 0 ? "user" : "assistant",
      text,
      at: new Date(startMs + at),
    });
  return id;
}

const list = async () => (await listConversations(fixture.services, { ownerId, cursor: undefined })).items;
const change = (input: { id: string; title?: string; isPinned?: boolean }) =>
  changeConversation(fixture.services, { ...input, ownerId });

describe("names and pins", () => {
  test("an own title is one clean line, stays when the talk goes on, and goes when it is emptied", async () => {
    const { conversationId: id } = await ask(fixture.services, { ownerId, text: "Which red dress?" });
    expect(await list()).toMatchObject([{ id, title: "Which red dress?", isPinned: false }]);
    expect(await change({ id, title: "  Winter\n catalogue \u202E" })).toMatchObject({
      title: "Winter catalogue",
    });
    await fixture.services.db.execute(
      sql`update assistant_runs set status = 'completed', revision = revision + 1`,
    );
    await ask(fixture.services, { ownerId, text: "And the blue one?", conversationId: id });
    expect(await list()).toMatchObject([{ id, title: "Winter catalogue" }]);
    expect(await change({ id, title: "x".repeat(500) })).toMatchObject({ title: "x".repeat(120) });
    expect(await change({ id, title: " \u200B " })).toMatchObject({ title: "Which red dress?" });
  });

  test("a long question without spaces is cut between its signs", () => {
    for (const before of ["", "a"])
      expect(titleOf(before + "\u{20BB7}".repeat(80))).toMatch(/^a?\u{20BB7}{39,40}…$/u);
  });

  test("pinned ones come first, the last pinned first, and are on no later page", async () => {
    const ids: string[] = [];
    for (let at = 0; at < 35; at += 1) ids.push(await addTalk({ title: `T${at}`, ago: 60 + at }));
    const [old = "", older = ""] = [ids[34], ids[33]];
    await change({ id: old, isPinned: true });
    await change({ id: older, isPinned: true });
    // Once more changes nothing.
    await change({ id: old, isPinned: true });
    const first = await listConversations(fixture.services, { ownerId, cursor: undefined });
    expect(first.items.slice(0, 3)).toMatchObject([
      { id: older, isPinned: true },
      { id: old, isPinned: true },
      { id: ids[0], isPinned: false },
    ]);
    const next = await listConversations(fixture.services, { ownerId, cursor: first.next ?? "" });
    const seen = [...first.items, ...next.items].map(({ id }) => id);
    expect(new Set(seen)).toEqual(new Set(ids));
    expect(seen).toHaveLength(35);
    await change({ id: old, isPinned: false });
    expect((await list())[0]).toMatchObject({ id: older });
    expect((await list())[1]).toMatchObject({ id: ids[0] });
  });

  test("more pins than are kept are refused; one that is pinned stays", async () => {
    const ids: string[] = [];
    for (let at = 0; at < 51; at += 1) ids.push(await addTalk({ title: "T" }));
    for (const id of ids.slice(0, 45)) await change({ id, isPinned: true });
    // Of many windows at once, too, no more are pinned.
    const together = await Promise.allSettled(ids.slice(45).map((id) => change({ id, isPinned: true })));
    expect(together.filter(({ status }) => status === "fulfilled")).toHaveLength(5);
    await expect(change({ id: await addTalk({ title: "T" }), isPinned: true })).rejects.toMatchObject({
      code: "bad_request",
    });
    await change({ id: ids[0] ?? "", isPinned: true });
    expect((await list()).filter(({ isPinned }) => isPinned)).toHaveLength(50);
  });

  test("another owner's talk is changed, found and read by nobody else", async () => {
    const other = await addSpeaker(fixture.services.db, "Ben");
    const id = await addTalk({ title: "Secret dress", said: ["a secret dress"] }, other);
    for (const wrong of [id, newId(), "x"])
      await expect(change({ id: wrong, title: "Mine" })).rejects.toMatchObject({ code: "not_found" });
    expect((await findTalks(fixture.services, { ownerId, text: "secret" })).items).toEqual([]);
    expect((await findTalks(fixture.services, { ownerId: other, text: "secret" })).items).toHaveLength(1);
  });

  test("pages that are open elsewhere are told of a name", async () => {
    const { services } = fixture;
    const { conversationId: id, runId } = await ask(services, { ownerId, text: "Which dress?" });
    const markOf = async () => (await questionSource.readRows(services, [runId])).rows[0];
    const before = await markOf();
    const heard: HintMessage[] = [];
    const stop = services.hints.subscribe((message) => heard.push(message));
    await expect
      .poll(async () => {
        await change({ id, title: "Winter" });
        return heard;
      })
      .toContainEqual({ type: "run", runId, ownerId, status: "new" });
    stop();
    const after = await markOf();
    expect(after?.view.talk).toEqual({ title: "Winter", isPinned: false });
    expect(after?.mark.detail).not.toBe(before?.mark.detail);
    await change({ id, isPinned: true });
    expect((await markOf())?.view.talk).toEqual({ title: "Winter", isPinned: true });
    expect((await markOf())?.mark.detail).not.toBe(after?.mark.detail);
  });
});

describe("search", () => {
  const find = async (text: string) => (await findTalks(fixture.services, { ownerId, text })).items;
  const idsOf = async (text: string) => (await find(text)).map(({ id }) => id);

  test.each([
    ["Ein Café in Zürich", ["cafe", "CAFÉ", "cafe\u0301", "caf", "zurich", "zürich cafe"]],
    ["The dresses were running late", ["dress", "dresses", "run", "runs late", "the dress"]],
    ["Красивые красные платья", ["платье", "красн", "КРАСНЫЕ ПЛАТЬЯ"]],
    ["Червена рокля от лен", ["рокля", "рок", "лен червена"]],
    ["東京タワーの写真", ["東京", "写真", "タワー", "京"]],
    ["我想要一件红色连衣裙", ["红色", "连衣裙", "衣"]],
    ["빨간 드레스를 만들어 줘", ["드레스", "빨간"]],
    ["أريد فستان أحمر", ["فستان", "فستا", "الفستان"]],
    ["אני רוצה שמלה אדומה", ["שמלה", "שמל"]],
    ["ชุดสีแดงสวยมาก", ["สีแดง", "ชุด"]],
    ["लाल पोशाक चाहिए", ["पोशाक", "लाल"]],
    ["Ένα κόκκινο φόρεμα", ["κοκκινο", "φόρεμα"]],
    ["C++ and it's 50% off_now", ["c++", "50%", "it's 50%"]],
  ])("%s is found in each spelling, and in the title", async (text, queries) => {
    const id = await addTalk({ title: "Other", said: ["Hello", text] });
    const named = await addTalk({ title: text, said: ["Nothing"] });
    for (const query of queries) expect([query, await idsOf(query)]).toEqual([query, [named, id]]);
  });

  test.each(["'", "\\", "':*", "a' | 'b", "%", "_", "!!", "<->", "& |", "(", "\u0301", "🙂", "the", "x ' y"])(
    "%j is no query of PostgreSQL",
    async (text) => {
      await addTalk({ title: "Red", said: ["red dress"] });
      expect(await idsOf(text)).toEqual([]);
    },
  );

  test("all words stand in one message, and each talk is found once by its newest", async () => {
    const both = await addTalk({ said: ["red dress", "yes", "another red dress", "no"], ago: 90 });
    const apart = await addTalk({ said: ["red shoes", "a dress"], ago: 30 });
    expect(await idsOf("red dress")).toEqual([both]);
    expect(await idsOf("red")).toEqual([apart, both]);
    const [hit] = await find("dress red");
    expect(hit?.message?.role).toBe("user");
    expect(hit?.snippet).toEqual([
      { text: "another ", isHit: false },
      { text: "red", isHit: true },
      { text: " ", isHit: false },
      { text: "dress", isHit: true },
    ]);
    const { turns } = await readConversation(fixture.services, { ownerId, id: both });
    expect(turns[1]?.runId).toBe(hit?.message?.turnId);
    await deleteConversation(fixture.services, { ownerId, id: both });
    expect(await idsOf("red dress")).toEqual([]);
  });

  test("what is said far from the newest is found, and what is said everywhere gives the newest", async () => {
    const old = await addTalk({ said: ["a rare okapi with stripes"], ago: 90_000 });
    const many: string[] = [];
    for (let at = 0; at < 40; at += 1) many.unshift(await addTalk({ said: ["stripes"], ago: 5_000 - at }));
    const long = await addTalk({ ago: 60 });
    await fixture.services.db
      .execute(sql`insert into assistant_messages (id, conversation_id, owner_id, role, text)
      select gen_random_uuid(), ${long}, ${ownerId}, 'user', 'word ' || i from generate_series(1, 700) i`);
    expect(await idsOf("okapi")).toEqual([old]);
    expect(await idsOf("stripes")).toEqual(many.slice(0, 30));
    expect(await idsOf("word")).toEqual([long]);
  });

  test("an endless word is stored and found by its beginning", async () => {
    const id = await addTalk({ said: [`${"שלום".repeat(700)} and a dress`] });
    expect(await idsOf("dress")).toEqual([id]);
    expect(await idsOf("שלוםשלום")).toEqual([id]);
  });

  test("a page reaches a message that is older than those it shows", async () => {
    const id = await addTalk({ said: ["the first okapi", "yes"], ago: 9_000 });
    await fixture.services.db
      .execute(sql`insert into assistant_messages (id, conversation_id, owner_id, role, text)
      select gen_random_uuid(), ${id}, ${ownerId}, 'user', 'word ' || i from generate_series(1, 150) i`);
    const read = (more: { turns?: number; reach?: string }) =>
      readConversation(fixture.services, { ownerId, id, ...more });
    expect(await read({})).toMatchObject({ hasEarlier: true });
    const [hit] = await find("okapi");
    const reached = await read({ reach: hit?.message?.turnId ?? "" });
    expect(reached.hasEarlier).toBe(false);
    expect(reached.turns[0]).toMatchObject({ question: "the first okapi", runId: hit?.message?.turnId });
    expect((await read({ turns: 2_000 })).turns).toHaveLength(151);
    for (const reach of ["x", "\0", "\ud800", newId()])
      expect((await read({ reach })).turns).toHaveLength(100);
  });
});

describe("snippets", () => {
  const shown = (text: string, ...words: string[]) =>
    snippetOf(text, words)
      .map(({ text: part, isHit }) => (isHit ? `[${part}]` : part))
      .join("");

  test.each([
    ["A café, here", ["cafe"], "A [café], here"],
    ["cafe\u0301 crème", ["CAFÉ", "creme"], "[cafe\u0301] [crème]"],
    ["Straße nach Köln", ["strasse", "koln"], "[Straße] nach [Köln]"],
    ["They were running", ["runs"], "They were [running]"],
    ["красные платья", ["платье"], "красные [платья]"],
    ["在東京的照片", ["東京"], "在[東京]的照片"],
    ["ﬁne ﬁt", ["fine"], "[ﬁne] ﬁt"],
    ["predress dress", ["dress"], "predress [dress]"],
    ["nothing of it", ["zebra"], "nothing of it"],
    ["", ["zebra"], ""],
  ])("%j with %j", (text, words, marked) => {
    expect(shown(text, ...words)).toBe(marked);
  });

  test.each(["😀", "𠮷", "👩‍🚀"])("no half of %s stands at either end", (sign) => {
    for (let shift = 0; shift < 8; shift += 1) {
      const text = `${"a".repeat(shift)} ${sign.repeat(60)} dress${"s".repeat(shift)} ${sign.repeat(90)}`;
      expect(shown(text, "dress").isWellFormed()).toBe(true);
    }
  });

  test("of a long text the place about the first hit is shown, cut at words", () => {
    const marked = shown(`${"word ".repeat(100)}a dress here ${"more ".repeat(100)}`, "dress");
    expect(marked).toMatch(/^…(?:word )+a \[dress\] here (?:more )+.*…$/);
    expect(marked.length).toBeLessThan(190);
  });
});

test("a guest who signs in keeps names and pins, and the deletion of an account takes them along", async () => {
  const { services } = fixture;
  const userId = await addSpeaker(services.db, "Guest");
  await services.db.update(schema.users).set({ isAnonymous: true }).where(eq(schema.users.id, userId));
  const id = await addTalk({ title: "Mine", said: ["hello"] }, userId);
  await changeConversation(services, { ownerId: userId, id, title: "Named", isPinned: true });
  await mergeGuest(services.db, { guestId: userId, accountId: ownerId, bytesPerUser: 1e9 });
  expect(await list()).toMatchObject([{ id, title: "Named", isPinned: true }]);
  // As a deleted account does.
  await services.db.delete(schema.users).where(eq(schema.users.id, ownerId));
  expect(await services.db.$count(assistantConversations, eq(assistantConversations.id, id))).toBe(0);
});
