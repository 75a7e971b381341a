import { expect, test } from "vitest";
import {
  commandIds,
  commandOf,
  commandOfPress,
  isDone,
  keyName,
  keysOf,
  parseOwnKeys,
  withKey,
} from "./commands.ts";

const press = (key: string, held: readonly ("ctrl" | "shift" | "alt" | "meta")[] = []) =>
  keyName({
    key,
    ctrlKey: held.includes("ctrl"),
    shiftKey: held.includes("shift"),
    altKey: held.includes("alt"),
    metaKey: held.includes("meta"),
  });

test("no two commands of the list have one key", () => {
  const all = commandIds.flatMap((id) => keysOf(id, {}));
  expect(all).toHaveLength(new Set(all).size);
  for (const id of commandIds) expect(keysOf(id, {}).map((key) => commandOf(key, {}))).toContain(id);
});

test("a key press has the name of the list on keyboards of several layouts", () => {
  expect([press("b"), press("B"), press("B", ["shift"])]).toEqual(["b", "b", "Shift+B"]);
  expect([press("a", ["ctrl"]), press("a", ["meta"])]).toEqual(["Control+A", "Control+A"]);
  expect(press("Z", ["ctrl", "shift"])).toBe("Shift+Control+Z");
  expect([press("["), press("{", ["shift"]), press("[", ["shift"])]).toEqual(["[", "Shift+[", "Shift+["]);
  // A German keyboard needs Shift for this sign.
  expect(press("=", ["shift"])).toBe("=");
  expect(press("ж")).toBe("ж");
});

test("keys that pages and readers need are no commands", () => {
  for (const key of ["Enter", "Tab", " ", "ArrowLeft", "Escape", "Shift", "Dead"])
    expect(press(key)).toBeNull();
  expect(press("b", ["alt"])).toBeNull();
});

const plain = { ctrlKey: false, metaKey: false, altKey: false, shiftKey: false };
const altGraph = {
  ...plain,
  ctrlKey: true,
  altKey: true,
  getModifierState: (name: string) => name === "AltGraph",
};

test("keys of other scripts are those of the list, by where they lie", () => {
  const on = (key: string, code: string, held = {}) => commandOfPress({ ...plain, ...held, key, code }, {});
  // Russian, Bulgarian, Greek and Arabic.
  expect([on("и", "KeyB"), on("ч", "KeyX"), on("ε", "KeyE"), on("ر", "KeyV")]).toEqual([
    "brush",
    "swap",
    "eraser",
    "pan",
  ]);
  expect(on("я", "KeyZ", { ctrlKey: true })).toBe("undo");
  expect(on("Я", "KeyZ", { metaKey: true, shiftKey: true })).toBe("redo");
  expect([on("х", "BracketLeft"), on("Ъ", "BracketRight", { shiftKey: true })]).toEqual([
    "smaller",
    "harder",
  ]);
  expect(on("۱", "Digit1")).toBe("actualSize");
  // Letters of Latin keyboards lie where they are written.
  expect([on("z", "KeyY"), on("é", "Digit2"), on("w", "KeyZ")]).toEqual(["undo", null, "select"]);
});

test("a key that was chosen on another keyboard stays", () => {
  const own = withKey({}, "lasso", "ч");
  expect(commandOfPress({ ...plain, key: "ч", code: "KeyX" }, own)).toBe("lasso");
  expect(commandOfPress({ ...plain, key: "x", code: "KeyX" }, own)).toBe("swap");
});

test("signs that need AltGr or Option are keys, letters written with them are none of the list", () => {
  const on = (key: string, held: object) => commandOfPress({ ...plain, ...held, key }, {});
  expect([on("[", altGraph), on("]", altGraph), on("\\", altGraph)]).toEqual([
    "smaller",
    "larger",
    "original",
  ]);
  // A German keyboard of Apple; and what is Alt and a letter or a digit.
  expect([on("[", { altKey: true }), on("v", { altKey: true }), on("1", { altKey: true })]).toEqual([
    "smaller",
    null,
    null,
  ]);
  expect(commandOfPress({ ...altGraph, key: "ż", code: "KeyZ" }, {})).toBeNull();
});

test("braces that need AltGr or Option are brackets with Shift", () => {
  const on = (key: string, held: object) => commandOfPress({ ...plain, ...held, key }, {});
  expect([on("{", altGraph), on("}", altGraph)]).toEqual(["softer", "harder"]);
  expect([on("{", { altKey: true }), on("}", { altKey: true })]).toEqual(["softer", "harder"]);
  // A French keyboard of Apple writes brackets with Option and Shift.
  expect([on("[", { altKey: true, shiftKey: true }), on("[", { shiftKey: true })]).toEqual([
    "smaller",
    "softer",
  ]);
  // Some have a key for them.
  expect(on("{", {})).toBe("smaller");
});

test("Option is Alt where a browser reports it as AltGr, as Firefox does", () => {
  const option = { ...altGraph, ctrlKey: false };
  const on = (key: string, held: object = {}) => commandOfPress({ ...plain, ...option, ...held, key }, {});
  expect([on("v"), on("1"), on("["), on("{")]).toEqual([null, null, "smaller", "softer"]);
  expect([on("[", { metaKey: true }), on("z", { metaKey: true })]).toEqual([null, null]);
});

test("a key that a user gives to a command is taken from the one that had it", () => {
  const own = withKey({}, "lasso", "b");
  expect(commandOf("b", own)).toBe("lasso");
  expect(commandOf("l", own)).toBeNull();
  expect(keysOf("brush", own)).toEqual([]);
  const undone = withKey(withKey(own, "lasso", "l"), "brush", "b");
  expect([commandOf("l", undone), commandOf("b", undone)]).toEqual(["lasso", "brush"]);
  const fewer = withKey({}, "pan", "z");
  expect(keysOf("undo", fewer)).toEqual(["Control+Z"]);
  expect(withKey(fewer, "pan", "z")).toEqual(fewer);
});

test("what was stored is read as far as it can be", () => {
  expect(parseOwnKeys(null)).toEqual({});
  expect(parseOwnKeys("{")).toEqual({});
  expect(parseOwnKeys('["b"]')).toEqual({});
  expect(parseOwnKeys('{"brush":"q","nothing":"b","eraser":5}')).toEqual({ brush: "q" });
});

test("a held key goes on only where that is meant", () => {
  const held = { ...plain, key: "x", repeat: true };
  expect((["undo", "larger", "zoomOut"] as const).every((id) => isDone(id, held))).toBe(true);
  expect((["swap", "invert", "brush", "all"] as const).some((id) => isDone(id, held))).toBe(false);
  expect(isDone("swap", { ...plain, key: "x" })).toBe(true);
});
