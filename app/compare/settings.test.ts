import { expect, test } from "vitest";
import { besideEachOther, isSame } from "./settings.tsx";

test("settings stand beside each other by their names, in the order in which they first come; what one lacks is empty", () => {
  const settings = besideEachOther([
    [
      { name: "Prompt", value: "a fox", isText: true },
      { name: "Seed", value: "7" },
    ],
    [
      { name: "Seed", value: "7" },
      { name: "Prompt", value: "a red fox", isText: true },
      { name: "Steps", value: "20" },
    ],
    [],
  ]);
  expect(settings).toEqual([
    { name: "Prompt", values: ["a fox", "a red fox", ""], isText: true },
    { name: "Seed", values: ["7", "7", ""], isText: false },
    { name: "Steps", values: ["", "20", ""], isText: false },
  ]);
  expect(settings.map(isSame)).toEqual([false, false, false]);
});

test("a setting is the same only where all have it", () => {
  const of = (...values: string[]) => isSame({ name: "Seed", values, isText: false });
  expect([of("7", "7", "7"), of("7", "7", "8"), of("7", ""), of("")]).toEqual([true, false, false, true]);
});
