import { expect, test, vi } from "vitest";
import { firstKeysScript } from "./first-keys.ts";

interface Press {
  readonly key: string;
  readonly ctrlKey?: boolean;
  readonly altKey?: boolean;
  readonly isAltGraph?: boolean;
}

const ctrlK: Press = { key: "k", ctrlKey: true };
const typed = (text: string): Press[] => Array.from(text, (key) => ({ key }));
const plain = { code: "", ctrlKey: false, metaKey: false, altKey: false, shiftKey: false, repeat: false };

/** A page in which the script runs and nothing else yet. */
function openPage() {
  const listeners = new Map<string, (event: unknown) => void>();
  const page: Record<string, unknown> & { takeFirstKeys?: () => readonly { readonly key: string }[] } = {
    addEventListener: (type: string, listener: (event: unknown) => void) => listeners.set(type, listener),
    removeEventListener: (type: string) => listeners.delete(type),
  };
  // oxlint-disable-next-line no-implied-eval, no-new-func -- as a page runs it
  new Function("window", firstKeysScript())(page);
  return {
    click: () => listeners.get("pointerdown")?.({}),
    /** Whether the page itself hears the key. */
    press({ isAltGraph = false, ...keys }: Press): boolean {
      const hold = vi.fn<() => void>();
      const stops = { preventDefault: hold, stopImmediatePropagation: hold };
      listeners.get("keydown")?.({ ...plain, ...keys, ...stops, getModifierState: () => isAltGraph });
      return hold.mock.calls.length === 0;
    },
    take() {
      const taken = page.takeFirstKeys?.().map(({ key }) => key);
      expect(listeners.size).toBe(0);
      return taken;
    },
  };
}

test.each([
  ["what is typed after Ctrl+K", [ctrlK, ...typed("gx"), { key: "Enter" }], ["k", "g", "x", "Enter"], []],
  ["a move in the list", [ctrlK, { key: "ArrowDown" }], ["k", "ArrowDown"], []],
  ["what a backspace takes away", [ctrlK, { key: "Backspace" }], ["k", "Backspace"], []],
  [
    "a character of AltGr",
    [ctrlK, { key: "ą", ctrlKey: true, altKey: true, isAltGraph: true }],
    ["k", "ą"],
    [],
  ],
  ["nothing without Ctrl+K", typed("ab"), [], ["a", "b"]],
  ["nothing after Escape", [ctrlK, { key: "a" }, { key: "Escape" }, { key: "b" }], [], ["Escape", "b"]],
  ["nothing after a second Ctrl+K", [ctrlK, ctrlK, { key: "b" }], [], ["b"]],
  ["nothing after a click elsewhere", [ctrlK, { key: "a" }, "click", ...typed("cat")], [], ["c", "a", "t"]],
  ["no command of the browser", [ctrlK, { key: "r", ctrlKey: true }, { key: "Tab" }], ["k"], ["r", "Tab"]],
] satisfies [string, (Press | "click")[], string[], string[]][])(
  "%s is kept before the code of the page listens",
  (_what, presses, kept, heard) => {
    const page = openPage();
    const heardOf = (press: Press | "click") =>
      press === "click" ? (page.click(), []) : page.press(press) ? [press.key] : [];
    expect(presses.flatMap(heardOf)).toEqual(heard);
    expect(page.take()).toEqual(kept);
  },
);

test("keys are the page's again when its code does not come", () => {
  vi.useFakeTimers();
  const page = openPage();
  expect([page.press(ctrlK), page.press({ key: "a" })]).toEqual([false, false]);
  vi.advanceTimersByTime(10_000);
  expect(page.press({ key: "a" })).toBe(true);
  expect(page.take()).toEqual([]);
});
