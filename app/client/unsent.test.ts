import { beforeEach, expect, test, vi } from "vitest";
import { draftKeys, forgetDrafts } from "./leaving.ts";

/** A browser with this in its storage, in which the page has just been loaded. */
async function load(stored?: string) {
  const items = new Map(stored === undefined ? [] : [[draftKeys.questions as string, stored]]);
  vi.stubGlobal("localStorage", {
    getItem: (key: string) => items.get(key) ?? null,
    setItem: (key: string, text: string) => void items.set(key, text),
    removeItem: (key: string) => void items.delete(key),
  });
  vi.resetModules();
  const { unsent } = await import("./unsent.ts");
  return { unsent, items };
}

beforeEach(() => vi.unstubAllGlobals());

test("words that are not asked yet are kept by conversation, over a reload, until they are asked", async () => {
  const { unsent, items } = await load();
  unsent.set("one", () => "What did we");
  unsent.set(null, () => "Make a");
  expect([unsent.get("one"), unsent.get(null), unsent.get("two")]).toEqual(["What did we", "Make a", ""]);
  const again = (await load(items.get(draftKeys.questions))).unsent;
  again.set("one", (now) => `${now} try?`);
  expect([again.get("one"), again.get(null)]).toEqual(["What did we try?", "Make a"]);
  again.set("one", () => "");
  again.set(null, () => "");
  expect(items.size).toBe(1);
  expect((await load(JSON.stringify([]))).unsent.get("one")).toBe("");
});

test("the words of many conversations do not pile up, and a sign-out forgets them", async () => {
  const { unsent, items } = await load();
  for (let at = 0; at < 50; at += 1) unsent.set(`talk ${at}`, () => `words ${at}`);
  unsent.set("talk 35", (now) => `${now}!`);
  expect([unsent.get("talk 10"), unsent.get("talk 35"), unsent.get("talk 49")]).toEqual([
    "",
    "words 35!",
    "words 49",
  ]);
  expect(JSON.parse(items.get(draftKeys.questions) ?? "")).toHaveLength(20);
  forgetDrafts(localStorage);
  expect(items.size).toBe(0);
});

test("what another tab has written meanwhile is neither lost nor brought back", async () => {
  const { unsent, items } = await load();
  unsent.set("one", () => "asked here");
  items.set(draftKeys.questions, JSON.stringify([["two", "written there"]]));
  unsent.set("three", () => "written here");
  expect([unsent.get("one"), unsent.get("two"), unsent.get("three")]).toEqual([
    "",
    "written there",
    "written here",
  ]);
  expect(JSON.parse(items.get(draftKeys.questions) ?? "")).toHaveLength(2);
});

test("a question that comes back stands once before what was written since, however often it comes", async () => {
  const { putBefore } = await import("./unsent.ts");
  const twice = (now: string) => putBefore("What is it?")(putBefore("What is it?")(now));
  expect(["", " \n", "And", "What is it?", "What is it?x"].map(twice)).toEqual([
    "What is it?",
    "What is it?",
    "What is it?\nAnd",
    "What is it?",
    "What is it?\nWhat is it?x",
  ]);
});

test("where the browser blocks its storage, words are kept as long as the tab", async () => {
  const { unsent } = await load();
  const refuse = () => {
    throw new DOMException("blocked", "SecurityError");
  };
  vi.stubGlobal("localStorage", { getItem: refuse, setItem: refuse, removeItem: refuse });
  unsent.set("one", () => "What did");
  unsent.set("two", () => "Make a");
  expect([unsent.get("one"), unsent.get("two")]).toEqual(["What did", "Make a"]);
});

test.each(["{", "null", '{"a":1}', '[["one"],["two",2],3]'])("a stored %s holds no words", async (stored) => {
  const { unsent } = await load(stored);
  expect([unsent.get("one"), unsent.get("two")]).toEqual(["", ""]);
});
