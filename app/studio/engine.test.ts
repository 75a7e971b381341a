import { expect, test } from "vitest";
import type { OfferedWorkflow } from "../client/queries.ts";
import { offeredWorkflow } from "@atelier/testing/workflows";
import { chooseOutfitEngine, needsMask, takesMask } from "./engine.tsx";

const workflow = (name: string, changes: Partial<OfferedWorkflow> = {}) =>
  offeredWorkflow({ name, kind: "outfit_change", params: {}, inputs: [], ...changes });
const whole = workflow("whole");
const painted = workflow("painted", { inputs: [{ role: "mask", required: true }] });

const choose = (situation: Partial<Parameters<typeof chooseOutfitEngine>[0]>) =>
  chooseOutfitEngine({ workflows: [whole, painted], requested: null, isPainted: false, ...situation }).chosen
    ?.name ?? null;

test("A12 the best that can run changes the outfit; with marks the one that follows them", () => {
  expect(choose({})).toBe("whole");
  expect(choose({ isPainted: true })).toBe("painted");
  expect(choose({ requested: "painted" })).toBe("painted");
  expect(choose({ requested: "local", isPainted: true })).toBeNull();
});

test("A12 without a live workflow it is the engine of this computer, whatever was requested", () => {
  const workflows = [workflow("whole", { isLive: false })];
  expect(choose({ workflows, requested: "whole" })).toBeNull();
  expect(choose({ workflows: [painted] })).toBeNull();
  expect(chooseOutfitEngine({ workflows, requested: null, isPainted: false }).options).toEqual([null]);
});

test("A12 which engines follow marks, and which cannot work without", () => {
  const optional = workflow("optional", { inputs: [{ role: "mask", required: false }] });
  expect([takesMask(null), takesMask(whole), takesMask(optional)]).toEqual([false, false, true]);
  expect([needsMask(null), needsMask(optional), needsMask(painted)]).toEqual([false, false, true]);
});
