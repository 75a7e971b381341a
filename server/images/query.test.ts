import { expect, test, vi } from "vitest";
import { listOrders, orderOf, parseSearch, termOf } from "./query.ts";

const read = (search: string) =>
  parseSearch(search).map(({ meaning, isNot }) => ({ ...meaning, ...(isNot && { isNot }) }));

test("a search is words, phrases, parts that must not be there, and operators", () => {
  expect(read('red "long dress" -hat Tag:summer -board:"Old things"')).toEqual([
    { words: "red", isPhrase: false },
    { words: "long dress", isPhrase: true },
    { words: "hat", isPhrase: false, isNot: true },
    { name: "tag", text: "summer" },
    { name: "board", text: "Old things", isNot: true },
  ]);
});

test.each([
  ["kind:text-to-image,upscale", { name: "kind", kinds: ["upscale", "text_to_image"] }],
  ["KIND:Edit", { name: "kind", kinds: ["edit"] }],
  ["rating:>=3", { name: "rating", range: { least: 3, most: null } }],
  ["rating:<3", { name: "rating", range: { least: null, most: 2 } }],
  ["rating:2..4", { name: "rating", range: { least: 2, most: 4 } }],
  ["rating:0", { name: "rating", range: { least: 0, most: 0 } }],
  ["size:>2000", { name: "size", range: { least: 2_001, most: null } }],
  ["size:1024×768", { name: "exactSize", widthPx: 1_024, heightPx: 768 }],
  ["from:2024-02", { name: "from", at: new Date("2024-02-01") }],
  ["to:2024-02", { name: "to", at: new Date("2024-03-01") }],
  ["to:2024-12-31", { name: "to", at: new Date("2025-01-01") }],
  ["to:2024", { name: "to", at: new Date("2025-01-01") }],
  ["seed:18446744073709551615", { name: "seed", text: "18446744073709551615" }],
  ["tag:none", { name: "tag", text: null }],
  ["tag:“два слова”", { name: "tag", text: "два слова" }],
  ["tag:«два слова»", { name: "tag", text: "два слова" }],
  ["tag:»zwei Wörter«", { name: "tag", text: "zwei Wörter" }],
  ["tag：＂两个 词＂", { name: "tag", text: "两个 词" }],
  ["标签：猫", { words: "标签：猫", isPhrase: false }],
  ["«красное платье»", { words: "красное платье", isPhrase: true }],
  ['"вывеска «Чай» на стене"', { words: "вывеска «Чай» на стене", isPhrase: true }],
  ["«the “old” house»", { words: "the “old” house", isPhrase: true }],
  ['board:"Проект «Весна»"', { name: "board", text: "Проект «Весна»" }],
  ['„rotes Kleid"', { words: "rotes Kleid", isPhrase: true }],
  ['"red dress”', { words: "red dress", isPhrase: true }],
  ["„ein Bild“", { words: "ein Bild", isPhrase: true }],
  ['"not ended', { words: "not ended", isPhrase: true }],
  ["–hat", { words: "hat", isPhrase: false, isNot: true }],
  ["−tag：summer", { name: "tag", text: "summer", isNot: true }],
  ["rating：≥３", { name: "rating", range: { least: 3, most: null } }],
  ["rating:2…4", { name: "rating", range: { least: 2, most: 4 } }],
  ["rating:>9999999", { name: "rating", range: { least: 100, most: null } }],
  ["size：１０２４ｘ７６８", { name: "exactSize", widthPx: 1_024, heightPx: 768 }],
  ["size:1024х768", { name: "exactSize", widthPx: 1_024, heightPx: 768 }],
  ["seed:0077", { name: "seed", text: "77" }],
  ["seed:0", { name: "seed", text: "0" }],
  ["is：Starred", { name: "is", flag: "starred" }],
  ["from:２０２４-02", { name: "from", at: new Date("2024-02-01") }],
  ["from:0050", { name: "from", at: new Date("0050-01-01T00:00:00Z") }],
  ["from:9999y", { name: "from", at: new Date("0001-01-01T00:00:00Z") }],
  ["from:0000", { name: "from", at: new Date("0001-01-01T00:00:00Z") }],
  ["to:9999", { name: "to", at: new Date("9999-12-31T23:59:59Z") }],
])("%s is understood", (search, meaning) => {
  expect(read(search)).toEqual([meaning]);
});

test("days are of the time zone, also where the clock is changed on them", () => {
  const days = (search: string, timeZone: string) =>
    parseSearch(search, timeZone).map(({ meaning }) => "at" in meaning && meaning.at.toISOString());
  expect(days("from:2026-03-29 to:2026-03-29", "Europe/Sofia")).toEqual([
    "2026-03-28T22:00:00.000Z",
    "2026-03-29T21:00:00.000Z",
  ]);
  expect(days("from:2026 to:2026-12", "America/Los_Angeles")).toEqual([
    "2026-01-01T08:00:00.000Z",
    "2027-01-01T08:00:00.000Z",
  ]);
});

test.each([
  ["2026-03-31T12:00:00Z", "1m", "2026-02-28T12:00:00.000Z"],
  ["2026-08-31T12:00:00Z", "6m", "2026-02-28T12:00:00.000Z"],
  ["2028-02-29T12:00:00Z", "1y", "2027-02-28T12:00:00.000Z"],
  ["2026-07-31T12:00:00Z", "1m", "2026-06-30T12:00:00.000Z"],
  ["2026-03-28T12:00:00Z", "1m", "2026-02-28T12:00:00.000Z"],
])("from %s on %s ago is no day of a later month", (now, ago, at) => {
  vi.useFakeTimers({ now: new Date(now) });
  try {
    expect(read(`from:${ago}`)).toEqual([{ name: "from", at: new Date(at) }]);
  } finally {
    vi.useRealTimers();
  }
});

test.each([
  "kind:painting",
  "rating:good",
  "rating:5..2",
  "from:2024-02-31",
  "from:yesterday",
  "to:2024-13",
  "is:good",
  "size:big",
  "seed:x1",
])("%s is wrong, and says which operator", (search) => {
  expect(read(search)).toEqual([{ wrong: search.split(":")[0] }]);
});

test("an order is no filter: it takes a name, the last one counts, and what is not wanted orders nothing", () => {
  const order = (search: string) => orderOf(parseSearch(search));
  expect(listOrders.map((name) => order(`fox order:${name}`))).toEqual(listOrders);
  expect(order("Order：RATED")).toBe("rated");
  expect(order("order:oldest order:largest")).toBe("largest");
  expect(["fox", "-order:oldest", "order:upside-down", "order:"].map(order)).toEqual([
    null,
    null,
    null,
    null,
  ]);
  expect(read("order:best")).toEqual([{ wrong: "order" }]);
});

test.each(["12:30", "https://a.example/b", "a:b", "::", ":tag", "é:x"])(
  "%s is a word, since it has no operator",
  (search) => {
    expect(read(search)).toEqual([{ words: search, isPhrase: false }]);
  },
);

test("halves of a search do no harm: a quote without an end, a lone minus, an operator without a value", () => {
  expect(read('"red dress')).toEqual([{ words: "red dress", isPhrase: true }]);
  expect(read(" - – — ")).toEqual([]);
  expect(read("tag： −Board：")).toEqual([]);
  expect(read("tag:")).toEqual([]);
  expect(read("-Board: fox")).toEqual([{ words: "fox", isPhrase: false }]);
  expect(read('tag:""')).toEqual([{ wrong: "tag" }]);
  expect(read("x ".repeat(500))).toHaveLength(30);
});

test("a term that is written is read as it was meant", () => {
  expect(read(termOf("board", 'Two "words"', true))).toEqual([
    { name: "board", text: "Two words", isNot: true },
  ]);
  expect(read(termOf("board", "«Две» думи"))).toEqual([{ name: "board", text: "Две думи" }]);
  expect(termOf("tag", "one")).toBe("tag:one");
});
