import { expect, test } from "vitest";
import { createPromptFilter } from "./watch.ts";
import { parseEvent, type PromptEvent } from "./socket.ts";

const ours = "10ccd508-9eac-4400-a3d5-74c2224fefd7";
const theirs = "20ccd508-9eac-4400-a3d5-74c2224fefd7";

function event(type: string, data: Record<string, unknown>): PromptEvent {
  const parsed = parseEvent(JSON.stringify({ type, data }));
  if (!parsed) throw new Error(`${type} is no event`);
  return parsed;
}

const unnamed = { bytes: new Uint8Array(), promptId: null };
const step = event("progress", { node: "3", value: 1, max: 2 });
const start = event("execution_start", { prompt_id: ours });
const flags = event("feature_flags", { supports_preview_metadata: true });

test("A12 frames that name no prompt are ours only while ours is executed", () => {
  const filter = createPromptFilter(ours);
  const passed = () => [filter.passesEvent(step), filter.passesPreview(unnamed)];
  expect(passed()).toEqual([false, false]);
  expect(filter.passesEvent(event("execution_start", { prompt_id: theirs }))).toBe(false);
  expect(passed()).toEqual([false, false]);
  expect(filter.passesEvent(start)).toBe(true);
  expect(passed()).toEqual([true, true]);
  expect(filter.passesEvent(event("execution_success", { prompt_id: ours }))).toBe(true);
  expect(passed()).toEqual([false, false]);
});

test("A12 from a server that names the prompts of previews, no unnamed one is ours", () => {
  const filter = createPromptFilter(ours);
  expect(filter.passesEvent(flags)).toBe(false);
  filter.passesEvent(start);
  expect(filter.passesPreview(unnamed)).toBe(false);
  expect(filter.passesPreview({ ...unnamed, promptId: ours })).toBe(true);
  expect(filter.passesPreview({ ...unnamed, promptId: theirs })).toBe(false);
});

test("A12 after a break nothing unnamed is ours until the new socket tells where ours is", () => {
  const filter = createPromptFilter(ours);
  filter.passesEvent(start);
  filter.forget();
  expect([filter.passesEvent(step), filter.passesPreview(unnamed)]).toEqual([false, false]);
  expect(filter.passesEvent(event("executing", { node: null }))).toBe(false);
  expect(filter.passesEvent(event("executing", { node: "3" }))).toBe(true);
  expect([filter.passesEvent(step), filter.passesPreview(unnamed)]).toEqual([true, true]);
});
