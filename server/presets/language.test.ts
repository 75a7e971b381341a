import { expect, test } from "vitest";
import { speakIn, wordsIn } from "../words.ts";
import { isAppError } from "../platform/index.ts";
import { choicesOf, countTexts, draw, listsIn, parseTemplate, randomOf, readLines } from "./language.ts";

const lists: Readonly<Record<string, readonly string[]>> = {
  colour: ["red", "# a remark", "", "{dark |}blue"],
  sky: ["__colour__ sky"],
  endless: ["__endless__ and on"],
  empty: ["# nothing"],
};
/** Names differ by case as well, as those of stored lists. */
function lookIn(all: Readonly<Record<string, readonly string[]>>) {
  const read = new Map(Object.entries(all).map(([name, lines]) => [name, choicesOf(lines)]));
  return (name: string) => read.get(name.toLowerCase());
}
const look = lookIn(lists);

const drawWith = (text: string, seed: number) =>
  draw(parseTemplate(text), { lists: look, random: randomOf(seed) });
const drawAll = (text: string, times = 200) =>
  new Set(Array.from({ length: times }, (_, seed) => drawWith(text, seed)));

function problemOf(text: string): string {
  try {
    drawWith(text, 1);
  } catch (error) {
    if (isAppError(error) && error.code === "template_invalid")
      return `${error.message} @${JSON.stringify(error.details?.["at"] ?? null)}`;
    throw error;
  }
  return "none";
}

test.each([
  ["plain", ["plain"]],
  ["a {red|green} hat", ["a red hat", "a green hat"]],
  ["{a|{b|c} d|}", ["a", "b d", "c d", ""]],
  ["__colour__", ["red", "dark blue", "blue"]],
  [
    "__sky__, __colour__!",
    ["red", "dark blue", "blue"].flatMap((one) =>
      ["red", "dark blue", "blue"].map((two) => `${one} sky, ${two}!`),
    ),
  ],
  [String.raw`\{a\|b\} \_\_colour__ \(x:1.2\) a|b {c\|d}`, [String.raw`{a|b} __colour__ \(x:1.2\) a|b c|d`]],
  ["snake__case, ____ and __ alone", ["snake__case, ____ and __ alone"]],
  ["{0::never|always}", ["always"]],
])("%s becomes each of its texts", (text, all) => {
  expect([...drawAll(text)].toSorted()).toEqual([...new Set(all)].toSorted());
});

test("a seed draws the same text again, and weights count", () => {
  expect(drawWith("{a|b|c} __sky__", 42)).toBe(drawWith("{a|b|c} __sky__", 42));
  const drawn = Array.from({ length: 3_000 }, (_, seed) => drawWith("{9::often|rare}", seed));
  const share = drawn.filter((text) => text === "often").length / drawn.length;
  expect(share).toBeGreaterThan(0.85);
  expect(share).toBeLessThan(0.95);
});

test("seeds that follow each other draw evenly, also one that is larger than 32 bits", () => {
  const counts = Map.groupBy(
    Array.from({ length: 4_000 }, (_, at) => drawWith("{a|b|c|d}", 2 ** 40 + at)),
    (text) => text,
  );
  for (const { length } of counts.values()) expect(length).toBeGreaterThan(800);
});

test.each([
  ["a {b|c", String.raw`A “{” is not closed. Write \{ where it is meant as it is. @2`],
  ["a {b|{c}", String.raw`A “{” is not closed. Write \{ where it is meant as it is. @2`],
  ["a b}", String.raw`A “}” closes nothing. Write \} where it is meant as it is. @3`],
  ["__hat__", "There is no list __hat__. Choose one of yours, or make it. @null"],
  ["__endless__", "The list __endless__ holds itself. @null"],
  ["__empty__", "The list __empty__ is empty. @null"],
  ["{2$$a|b}", `Several of one choice (2$$) cannot be drawn. Write the choice twice. @1`],
  ["{0::a|0::b}", "All choices have the weight 0. @0"],
  ["{".repeat(30), "Braces stand in each other more than 20 times. @20"],
])("the fault of %s is named with its place", (text, problem) => {
  expect(problemOf(text)).toBe(problem);
});

test("lists are found and texts counted before anything is drawn", () => {
  expect(listsIn(parseTemplate("{a|__colour__} __sky__"))).toEqual(["colour", "sky"]);
  expect(countTexts(parseTemplate("{a|__colour__} __sky__"), look)).toBe(12);
});

test("a text that lists blow up is refused before it fills the memory", () => {
  const much = (name: string) => choicesOf([`${`__${name}x__ `.repeat(30)}`]);
  const blown = (name: string) => (name.length > 20 ? choicesOf(["word"]) : much(name));
  expect(() => draw(parseTemplate("__a__"), { lists: blown, random: randomOf(1) })).toThrow("too long");
});

test.each([
  ["that multiply", Array.from({ length: 8 }, () => 150), "{}"],
  ["that are long", Array.from({ length: 8 }, () => 150), "word "],
])("S2 lists %s are refused at once, and counted", (_what, widths, end) => {
  const all = widths.map((width, at): [string, string[]] => {
    const next = at + 1 === widths.length ? end : `__l${at + 1}__ `;
    return [`l${at}`, [next.repeat(width), next.repeat(width)]];
  });
  const many = lookIn(Object.fromEntries(all));
  expect(() => draw(parseTemplate("__l0__"), { lists: many, random: randomOf(1) })).toThrow(/too long/);
  expect(countTexts(parseTemplate("__l0__"), many)).toBe(Number.MAX_SAFE_INTEGER);
});

test("S2 a list that names itself in another case holds itself", () => {
  const all = lookIn({ abcd: ["__ABCD__ __aBCD__ __AbCD__", "__abCD__ __ABcd__"] });
  const template = parseTemplate("__abcd__");
  expect(() => draw(template, { lists: all, random: randomOf(1) })).toThrow(/holds itself/);
  expect(() => countTexts(template, all)).toThrow(/holds itself/);
});

test("S2 a list as long as may be is read while others have their turns, and drawn from without a look at each line", async () => {
  const lines = Array.from({ length: 200 }, () => "{a|b}".repeat(199));
  let turns = 0;
  const count = setInterval(() => (turns += 1), 0);
  const read = await readLines(lines);
  clearInterval(count);
  expect(turns).toBeGreaterThan(5);
  expect(read).toEqual(choicesOf(lines));
  let looks = 0;
  const words = Array.from({ length: 5_000 }, (_, at) => ({
    get weight() {
      looks += 1;
      return 1;
    },
    parts: [`word ${at}`],
  }));
  const many = () => words;
  const texts = [0, 1, 2].map((seed) =>
    draw(parseTemplate("__l__"), { lists: many, random: randomOf(seed) }),
  );
  expect(looks).toBe(words.length);
  expect(texts).toEqual([0, 1, 2].map((seed) => `word ${Math.floor(randomOf(seed)() * words.length)}`));
});

test("a fault is told in the language of whoever reads it", async () => {
  const german = await wordsIn("de");
  expect(() => speakIn(german, () => parseTemplate("a {red|blue"))).toThrow(/nicht geschlossen/);
  expect(() => parseTemplate("a {red|blue")).toThrow(/is not closed. Write \\\{/);
});
