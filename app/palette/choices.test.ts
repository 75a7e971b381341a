import { expect, test } from "vitest";
import { type Choice, parseRecents, scoreOf, sectionsOf, withRecent } from "./choices.ts";
import { withKey } from "./early-keys.ts";
import { isPaletteKey } from "./first-keys.ts";

const page = (key: string, label: string): Choice => ({ key, group: "pages", label, href: `/${key}` });
const gallery = page("gallery", "Gallery");
const wardrobe = page("wardrobe", "Wardrobe");
const sky: Choice = { key: "board:1", group: "boards", label: "Night sky", href: "/gallery" };
const search: Choice = { key: "search", group: "pictures", label: "Search for it", href: "/gallery" };
const bicycle: Choice = {
  key: "job:1",
  group: "work",
  label: "Text to image",
  detail: "a red bicycle",
  href: "/jobs/1",
};
const all = [gallery, wardrobe, sky, bicycle];

const keysOf = (text: string, choices: readonly Choice[] = all, recents = parseRecents(null)) =>
  sectionsOf(choices, text, recents).map((section) => [
    section.title,
    ...section.choices.map(({ key }) => key),
  ]);

test("a choice is found by the beginnings of its words, in any order and without accents, and by its detail", () => {
  expect(scoreOf(gallery, "gal")).toBeGreaterThan(scoreOf(wardrobe, "a"));
  expect(scoreOf(sky, "sky night")).toBeGreaterThan(0.5);
  expect(scoreOf({ ...sky, label: "Café à Paris" }, "cafe PARIS")).toBeGreaterThan(0.5);
  expect(scoreOf({ ...sky, label: "图库" }, "库")).toBeGreaterThan(0);
  expect(scoreOf({ ...sky, words: ["theme"] }, "theme")).toBeGreaterThan(0.5);
  expect(scoreOf(bicycle, "bicycle")).toBeGreaterThan(0);
});

test("letters that only stand somewhere in a text find nothing, and each word must be found", () => {
  expect(scoreOf(gallery, "gly")).toBe(0);
  expect(scoreOf(bicycle, "rby")).toBe(0);
  expect(scoreOf(sky, "night moon")).toBe(0);
  expect(scoreOf(sky, " ")).toBe(0);
});

test("the group of the best choice comes first, and the pictures that the server found last", () => {
  expect(keysOf("night", [...all, search])).toEqual([
    ["boards", "board:1"],
    ["pictures", "search"],
  ]);
  expect(keysOf("nothing at all", [...all, search])).toEqual([["pictures", "search"]]);
});

test("with nothing typed recent choices come first, and are not offered twice", () => {
  const recents = [bicycle, wardrobe].reduce(withRecent, parseRecents(null));
  expect(keysOf("", all, recents)).toEqual([
    ["recent", "wardrobe", "job:1"],
    ["pages", "gallery"],
    ["boards", "board:1"],
  ]);
});

test("a recent page or board that is gone is left out; a picture is shown as it was stored", () => {
  const picture: Choice = { key: "picture:1", group: "pictures", label: "rocket", href: "/gallery?image=1" };
  const recents = [picture, sky, page("admin", "Admin")].reduce(withRecent, parseRecents(null));
  expect(keysOf("", [gallery], recents)).toEqual([
    ["recent", "picture:1"],
    ["pages", "gallery"],
  ]);
});

test("recent choices are stored without what acts, the newest first, once each, and no more than twelve", () => {
  const many = Array.from({ length: 20 }, (_, index) => page(`p${index}`, `Page ${index}`));
  const act: Choice = { key: "act", group: "actions", label: "Act", act: () => undefined };
  const passing: Choice = { ...act, key: "passing", isPassing: true };
  const recents = [...many, act, passing, page("p19", "Page 19")].reduce(withRecent, parseRecents(null));
  expect(recents).toHaveLength(12);
  expect(recents.slice(0, 3).map(({ key }) => key)).toEqual(["p19", "act", "p18"]);
  expect(parseRecents(JSON.stringify(recents))).toEqual(recents);
});

test.each([
  ["{", 0],
  ["{}", 0],
  ['[null, 1, {"key":"a","group":"pages"}, {"key":"a","group":"none","label":"A"}]', 0],
  ['[{"key":"a","group":"pages","label":"A"}]', 1],
])("of what is stored as %s, %d are read", (text, count) => {
  expect(parseRecents(text)).toHaveLength(count);
});

test("a stored address leads to no other place", () => {
  const stored = {
    key: "a",
    group: "work",
    label: "A",
    href: "//elsewhere.example",
    cover: { src: "https://x" },
  };
  const [read] = parseRecents(JSON.stringify([stored]));
  expect([read?.href, read?.cover]).toEqual([undefined, undefined]);
});

const press = {
  key: "k",
  code: "KeyK",
  ctrlKey: true,
  metaKey: false,
  altKey: false,
  shiftKey: false,
  repeat: false,
};

test.each([
  ["Ctrl+K", {}, true],
  ["Cmd+K", { ctrlKey: false, metaKey: true }, true],
  ["the same key with Cyrillic letters", { key: "л" }, true],
  ["K of another layout", { code: "KeyT" }, true],
  ["another letter at its place", { key: "t" }, false],
  ["K alone", { ctrlKey: false }, false],
  ["Ctrl+Shift+K", { shiftKey: true }, false],
  ["Ctrl+K that is held down", { repeat: true }, false],
])("%s opens the palette: %o, %s", (_name, changes, opens) => {
  expect(isPaletteKey({ ...press, ...changes })).toBe(opens);
});

const plainPress = { ctrlKey: false, metaKey: false, altKey: false, repeat: false };
const written = (text: string) => ({ text, isEntered: false, moves: [] });
const moved = (...moves: string[]) => ({ ...written("ro"), moves });

test.each([
  ["a letter is added", written("ro"), { key: "c" }, written("roc")],
  ["a character outside of the first plane is one", written("ro"), { key: "😀" }, written("ro😀")],
  ["Backspace takes the last one", written("ro😀"), { key: "Backspace" }, written("ro")],
  ["a shortcut writes nothing", written("ro"), { key: "a", ctrlKey: true }, null],
  [
    "Enter asks for the first of what is found",
    written("ro"),
    { key: "Enter" },
    { ...written("ro"), isEntered: true },
  ],
  ["Enter without a word asks for nothing", written(""), { key: "Enter" }, written("")],
  ["a held Enter asks for nothing", written("ro"), { key: "Enter", repeat: true }, written("ro")],
  ["an arrow moves", moved("ArrowDown"), { key: "ArrowUp" }, moved("ArrowDown", "ArrowUp")],
  [
    "Enter after an arrow takes what it leads to",
    moved("ArrowDown"),
    { key: "Enter" },
    moved("ArrowDown", "Enter"),
  ],
  ["a letter after an arrow begins at the first again", moved("ArrowDown"), { key: "c" }, written("roc")],
])("before the line has the focus %s", (_name, typed, changes, after) => {
  expect(withKey(typed, { ...plainPress, ...changes })).toEqual(after);
});
