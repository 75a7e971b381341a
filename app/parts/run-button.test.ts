import { expect, test } from "vitest";
import { isRunKey } from "./run-button.tsx";

const enter = { key: "Enter", ctrlKey: false, metaKey: false, repeat: false };

test("the run key is Enter with Ctrl or Cmd", () => {
  expect(isRunKey({ ...enter, ctrlKey: true })).toBe(true);
  expect(isRunKey({ ...enter, metaKey: true })).toBe(true);
  expect(isRunKey(enter)).toBe(false);
  expect(isRunKey({ ...enter, key: "a", ctrlKey: true })).toBe(false);
});

test("a run key that is held down does not ask again", () => {
  expect(isRunKey({ ...enter, ctrlKey: true, repeat: true })).toBe(false);
});
