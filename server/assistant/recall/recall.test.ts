import { createTestServices, type TestServices } from "@atelier/testing/services";
import { afterAll, beforeAll, expect, test } from "vitest";
import { addSpeaker, importTalks } from "../import-talks.ts";
import { addMemory, deleteMemory, editMemory, forgetEverything } from "../memories.ts";
import { recall } from "./recall.ts";
import { namedSpeakers, readDates, readOrder } from "./query.ts";
import { mergeNeighbours } from "./rows.ts";
import { type Candidate, rankCandidates } from "./score.ts";

let fixture: TestServices;
beforeAll(async () => void (fixture = await createTestServices()));
afterAll(() => fixture.close());

const start = Date.UTC(2026, 3, 1, 10);
const dayMs = 86_400_000;

/** A talk with a line a minute, begun on a day. */
function talk(session: string, day: number, ...lines: string[]) {
  return lines.map((line, at) => {
    const [, speaker = "Ann", text = line] = /^(\w+): (.*)$/.exec(line) ?? [];
    const time = new Date(start + day * dayMs + at * 60_000);
    return { session, id: `${session} ${at}`, at: time, speaker, text };
  });
}

async function remember(...talks: ReturnType<typeof talk>[]) {
  const { db } = fixture.services;
  const userId = await addSpeaker(db, "Ann");
  await importTalks(db, userId, talks.flat());
  return async (query: string, period?: { from: Date | null; to: Date | null }) => {
    const hits = await recall(fixture.services, userId, query, { limit: 10, period: period ?? null });
    return hits.map(({ text }) => text);
  };
}

test("stems, rare words and neighbours: the answer may have no word of the question", async () => {
  const find = await remember(
    talk("dress", 0, "Ann: Which dress did you wear at the wedding?", "Ben: The green one, with a belt."),
    talk("food", 1, "Ann: The soup was good.", "Ben: I like soup."),
    talk("shoes", 2, "Ann: I bought new shoes for the office."),
  );
  const found = await find("What did Ben wear at the wedding?");
  expect(found.slice(0, 2).toSorted()).toEqual([
    "The green one, with a belt.",
    "Which dress did you wear at the wedding?",
  ]);
  expect((await find("wearing dresses"))[0]).toMatch(/dress/);
  expect(await find("of the and")).toEqual([]);
});

test.each([
  ["Chinese", "昨天我买了一条红色的裙子和一双鞋", "裙子"],
  ["Chinese, one letter", "我喜欢猫", "猫"],
  ["Japanese", "結婚式で緑のドレスを着ました", "緑のドレス"],
  ["Japanese, half width", "ｺｰﾄを買いました", "コート"],
  ["Korean", "어제 빨간 원피스를 샀어요", "원피스는 어디에 있어요?"],
  ["Thai", "เมื่อวานฉันซื้อกระโปรงสีแดง", "กระโปรง"],
  ["Lao", "ຂ້ອຍຊື້ເສື້ອສີແດງ", "ເສື້ອ"],
  ["Khmer", "ខ្ញុំបានទិញអាវក្រហម", "អាវ"],
  ["Arabic", "اشتريت أمس الفُستان الأحمر", "فستان"],
  ["Hebrew", "אתמול קניתי את השמלה האדומה", "שמלה"],
  ["Persian", "دیروز پیراهن قرمز خریدم", "پیراهن"],
  ["Hindi", "कल मैंने लाल पोशाक खरीदी", "पोशाक"],
  ["Tamil", "நேற்று சிவப்பு சேலை வாங்கினேன்", "சேலை"],
  ["Greek", "Χθες αγόρασα ένα κόκκινο φόρεμα", "ΦΟΡΕΜΑ"],
  ["Georgian", "გუშინ წითელი კაბა ვიყიდე", "კაბა"],
  ["Armenian", "Երեկ կարմիր զգեստ գնեցի", "զգեստ"],
  ["Amharic", "ትናንት ቀይ ቀሚስ ገዛሁ", "ቀሚስ"],
  ["Russian", "Вчера я купила красное платье", "платья"],
  ["Russian, й", "Мой любимый чай зелёный", "чай"],
  ["Ukrainian", "Учора я купила червону сукню з її крамниці", "сукню"],
  ["German", "Gestern kaufte ich grüne Schuhe in Größe 38", "grüne schuhe".normalize("NFD")],
  ["French", "J'ai acheté un manteau doublé", "double manteau"],
  ["Vietnamese", "Hôm qua tôi mua váy đỏ", "vay"],
  ["Turkish", "Dün kırmızı elbise aldım", "elbise"],
  ["full width", "I bought ＳＩＬＫ yesterday", "silk"],
])("M1 what was said is found in every script: %s", async (_script, said, query) => {
  const find = await remember(
    talk("first", 0, said),
    talk("other", 3, "The garden needs water.", "今日は雨です", "오늘은 비가 와요"),
  );
  expect((await find(query))[0]).toBe(said);
});

/** Messages of one conversation, said at once; what is named beside them and is none of them has no words. */
function said(messages: Readonly<Record<string, Partial<Candidate>>>): Candidate[] {
  const [from, to] = [new Date(start), new Date(start)];
  const common = {
    from,
    to,
    kind: "message",
    conversationId: "one",
    isQuestion: false,
    isBySpeaker: false,
  } as const;
  return Object.entries(messages).map(([id, own]): Candidate => ({
    ...common,
    id,
    mask: 0,
    length: 5,
    before: ["-"],
    after: ["-"],
    ...own,
  }));
}

/** Ranks by three stems that are equally rare and, where some are given, by standard deviations of nearness in meaning. */
function rank(candidates: readonly Candidate[], nearness?: Readonly<Record<string, number>>) {
  const terms = Array.from({ length: 3 }, () => ({ weight: 1, documents: 5 }));
  const corpus = { documents: 100, conversations: 5, meanLength: 5 };
  const meaning = nearness ? { of: (id: string) => nearness[id] ?? 0, ofConversation: () => 0 } : null;
  const ranked = rankCandidates(candidates, { terms, corpus, dates: [], order: null, meaning });
  return ranked.map(({ candidate }) => candidate.id);
}

test("M1 a message whose neighbours are not read does not come before those whose are", async () => {
  const lines = ["How are you?", "Fine.", "The lamp is here.", "I see.", "Well."];
  // Neighbours are read for the first hundred only. Each of these is in the middle of its own talk, and later ones count more.
  const talks = Array.from({ length: 120 }, (_, day) => talk(`talk ${day}`, day, ...lines));
  const userId = await addSpeaker(fixture.services.db, "Ann");
  await importTalks(fixture.services.db, userId, talks.flat());
  const hits = await recall(fixture.services, userId, "lamp", { limit: 120 });
  const days = hits.map(({ from }) => (from.getTime() - start - 2 * 60_000) / dayMs);
  expect(days).toEqual(Array.from({ length: 120 }, (_, at) => 119 - at));
});

test("M1 neighbours that are not read are no nearer in meaning than those that are read and far", () => {
  const found = said({ near: {}, unread: {} });
  const around = said({ far: {} }).flatMap((message) =>
    [-1, 1].map((step) => ({ ...message, id: `far ${step}`, of: "near", step })),
  );
  const nearness = { near: 2, unread: 1.9, "far -1": -2, "far 1": -2 };
  expect(rank(mergeNeighbours(found, around), nearness).slice(0, 2)).toEqual(["near", "unread"]);
});

test("M1 all of a question within a few messages counts more than a part of it said twice", () => {
  const messages = said({
    again: { mask: 0b001 },
    twice: { mask: 0b001, after: ["again"] },
    second: { mask: 0b010 },
    third: { mask: 0b100 },
    spread: { mask: 0b001, before: ["-", "second"], after: ["-", "-", "third"] },
  });
  expect(rank(messages)[0]).toBe("spread");
});

test("M2 of a fact that changed the later one comes first", async () => {
  const find = await remember(
    talk("first", 0, "My size is M."),
    talk("other", 5, "The garden is green."),
    talk("second", 30, "My size is L."),
  );
  expect((await find("What is my size?"))[0]).toBe("My size is L.");
});

test.each([
  ["What did Ross do?", ["ross geller"]],
  ["Where is Monica Geller's ring?", ["monica geller"]],
  ["What did the Gellers say?", ["ross geller", "monica geller"]],
  ["Who will ross it?", []],
  ["Где ключи Марии?", ["мария"]],
  ["Wo sind Noras Schuhe?", ["nora"]],
  ["王芳的备用钥匙在哪里?", ["王芳"]],
  ["花子さんの鍵はどこですか?", ["花子"]],
  ["أين مفاتيح نورا؟", ["نورا"]],
])("whom a question names, by a part of the name and in every script: %s", (query, expected) => {
  const speakers = ["ross geller", "monica geller", "мария", "марк", "nora", "王芳", "花子", "نورا", "e"];
  expect(namedSpeakers(query, speakers)).toEqual(expected);
});

test("what the named speaker said goes before what others said of it", async () => {
  const find = await remember(
    talk("keys", 0, "Ann: The spare keys are at work."),
    talk("more keys", 1, "Ben: The spare keys hang in the shed."),
  );
  expect((await find("Where are Ann's spare keys?"))[0]).toBe("The spare keys are at work.");
  expect((await find("Where are the spare keys of Ben?"))[0]).toBe("The spare keys hang in the shed.");
});

test("a date in the question prefers its time, and a period keeps everything else out", async () => {
  const find = await remember(
    talk("april", 2, "We tried the red coat."),
    talk("may", 40, "We tried the red coat again."),
  );
  expect((await find("Which red coat did we try in May?"))[0]).toMatch(/again/);
  expect((await find("Which red coat did we try on 3 April 2026?"))[0]).toBe("We tried the red coat.");
  expect(await find("red coat", { from: new Date(start + 39 * dayMs), to: null })).toEqual([
    "We tried the red coat again.",
  ]);
});

test("M2 nothing of another user is ever found, and nothing that was deleted", async () => {
  const { services } = fixture;
  const [ann, ben] = [await addSpeaker(services.db, "Ann"), await addSpeaker(services.db, "Ben")];
  const secret = await addMemory(services, { ownerId: ann, text: "The user wears a purple kaftan." });
  const find = async (userId: string) =>
    (await recall(services, userId, "purple kaftan", { limit: 10 })).map(({ text }) => text);
  expect(await find(ben)).toEqual([]);
  expect(await find(ann)).toEqual(["The user wears a purple kaftan."]);
  await editMemory(services, { ownerId: ann, id: secret.id, text: "The user wears an orange kaftan." });
  expect(await find(ann)).toEqual(["The user wears an orange kaftan."]);
  await expect(deleteMemory(services, { ownerId: ben, id: secret.id })).rejects.toMatchObject({
    code: "not_found",
  });
  await deleteMemory(services, { ownerId: ann, id: secret.id });
  expect(await find(ann)).toEqual([]);
  expect(await services.db.execute("select from memories where memories::text like '%kaftan%'")).toHaveLength(
    0,
  );
  await addMemory(services, { ownerId: ann, text: "The user likes kaftans." });
  await forgetEverything(services, ann);
  expect(await find(ann)).toEqual([]);
});

test("dates in several languages; a word at the head of a question is no month", () => {
  expect(readDates("What happened on 4 May 2023?")).toEqual([{ month: 5, day: 4, year: 2023 }]);
  expect(readDates("What did we do on March 3rd?")).toEqual([{ month: 3, day: 3, year: null }]);
  expect(readDates("Was haben wir im Januar probiert?")).toEqual([{ month: 1, day: null, year: null }]);
  expect(readDates("Что любит Мария после Марка и Мартина?")).toEqual([]);
  expect(readDates("Что было в марте?")).toEqual([{ month: 3, day: null, year: null }]);
  expect(readDates("Что было в мае 2024?")).toEqual([{ month: 5, day: null, year: 2024 }]);
  expect(readDates("Какво стана през януари?")).toEqual([{ month: 1, day: null, year: null }]);
  expect(readDates("2024年5月3日我们试了什么?")).toEqual([{ month: 5, day: 3, year: 2024 }]);
  expect(readDates("What did we try before May 2023?")).toEqual([
    { month: 5, day: null, year: 2023, side: "before" },
  ]);
  expect(readDates("Was kam nach dem 3. März?")).toEqual([{ month: 3, day: 3, year: null, side: "after" }]);
  expect(readDates("5月以前我穿什么?")).toEqual([{ month: 5, day: null, year: null, side: "before" }]);
  expect(readDates("on 2024-02-29")).toEqual([{ month: 2, day: 29, year: 2024 }]);
  expect(readDates("May I see it?")).toEqual([]);
});

test("the first and the last time of something, and what was before or after a day", async () => {
  const find = await remember(
    talk("one", 2, "We tried the red coat with Mia."),
    talk("two", 20, "We tried the red coat with Lea."),
    talk("three", 45, "We tried the red coat with Ida."),
  );
  const first = async (query: string) => (await find(query))[0]?.split(" ").at(-1);
  expect(await first("With whom did we try the red coat the first time?")).toBe("Mia.");
  expect(await first("With whom did we try the red coat the last time?")).toBe("Ida.");
  expect(await first("With whom did we try the red coat before 10 April 2026?")).toBe("Mia.");
  expect(await first("With whom did we try the red coat after 1 May 2026?")).toBe("Ida.");
});

test.each([
  ["When did I last wear it?", null],
  ["What did we cook the last time?", "newest"],
  ["Was war zuletzt meine Größe?", "newest"],
  ["¿Qué talla tuve la primera vez?", "oldest"],
  ["Что я носил в первый раз?", "oldest"],
  ["Кога за последния път снимахме?", "newest"],
  ["我第一次穿的是什么?", "oldest"],
  ["What did I wear last summer?", null],
])("the order that a question asks for: %s", (query, expected) => {
  expect(readOrder(query).order).toBe(expected);
});
