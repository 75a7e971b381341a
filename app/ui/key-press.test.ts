import { expect, test, vi } from "vitest";
import { isCombined, keyOf, keyOnce } from "./key-press.ts";

const plain = { ctrlKey: false, metaKey: false, altKey: false, shiftKey: false };

test("Caps Lock changes no key, Shift does", () => {
  expect(keyOf({ ...plain, key: "S", code: "KeyS" })).toBe("s");
  expect(keyOf({ ...plain, key: "s", code: "KeyS", shiftKey: true })).toBe("S");
  expect([keyOf({ ...plain, key: "?", shiftKey: true }), keyOf({ ...plain, key: "ß" })]).toEqual(["?", "ß"]);
});

test("a letter of another script is the Latin one on its key", () => {
  expect(keyOf({ ...plain, key: "п", code: "KeyG" })).toBe("g");
  expect(keyOf({ ...plain, key: "Ы", code: "KeyS", shiftKey: true })).toBe("S");
  expect(keyOf({ ...plain, key: "لا", code: "KeyB" })).toBe("b");
  expect(
    ["Enter", "ArrowLeft", "Dead", "F1", " "].map((key) => keyOf({ ...plain, key, code: "KeyA" })),
  ).toEqual(["Enter", "ArrowLeft", "Dead", "F1", " "]);
});

test("a key that writes a vowel sign or a digit of another script is the Latin one, too", () => {
  const on = (key: string, code: string) => keyOf({ ...plain, key, code });
  // Hindi, then Thai, whose letters lie on the digits as well.
  expect([on("\u{94C}", "KeyQ"), on("\u{947}", "KeyS"), on("\u{93F}", "KeyF")]).toEqual(["q", "s", "f"]);
  expect([on("\u{E31}", "KeyY"), on("ถ", "Digit5"), on("\u{E38}", "Digit6"), on("จ", "Digit0")]).toEqual([
    "y",
    "5",
    "6",
    "0",
  ]);
  expect([on("٣", "Digit3"), on("۴", "Numpad4"), on("५", "Digit5")]).toEqual(["3", "4", "5"]);
});

test("what a Latin keyboard writes stays", () => {
  const on = (key: string, code: string) => keyOf({ ...plain, key, code });
  // French, Vietnamese, and digits that lie elsewhere.
  expect([on("µ", "Backslash"), on("é", "Digit2"), on("\u{300}", "Digit5"), on("7", "Digit2")]).toEqual([
    "µ",
    "é",
    "\u{300}",
    "7",
  ]);
});

test("the one key of an Apple keyboard that deletes is Delete", () => {
  vi.stubGlobal("navigator", { platform: "MacIntel" });
  expect(keyOf({ ...plain, key: "Backspace" })).toBe("Delete");
  expect(keyOnce({ ...plain, key: "Backspace", repeat: true })).not.toBe("Delete");
  vi.stubGlobal("navigator", { platform: "Win32" });
  expect(keyOf({ ...plain, key: "Backspace" })).toBe("Backspace");
});

test("a key that is held deletes, marks and rates once, and moves on as long as it is held", () => {
  const [first, held] = [false, true].map(
    (repeat) => (key: string) => keyOnce({ ...plain, key, code: "", repeat }),
  );
  const once = ["Delete", "s", "x", "5", "Escape"];
  expect(once.map((key) => first?.(key))).toEqual(once);
  expect(once.map((key) => held?.(key))).toEqual(once.map(() => ""));
  expect(held?.("ArrowLeft")).toBe("ArrowLeft");
});

test("a held Ctrl+A stays the command that keeps the browser from choosing all of the page", () => {
  expect(keyOnce({ ...plain, key: "a", code: "KeyA", ctrlKey: true, repeat: true })).toBe("a");
});

test("Alt with an arrow is the browser's, Shift with one is not", () => {
  expect(isCombined({ ...plain, key: "ArrowLeft", altKey: true })).toBe(true);
  expect(isCombined({ ...plain, key: "ArrowLeft", metaKey: true })).toBe(true);
  expect(isCombined({ ...plain, key: "ArrowLeft", shiftKey: true })).toBe(false);
});
