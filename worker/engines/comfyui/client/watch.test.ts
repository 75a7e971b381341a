import { expect, test } from "vitest";
import { createSieve } from "./watch.ts";
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
  const sieve = createSieve(ours);
  const passed = () => [sieve.passesEvent(step), sieve.passesPreview(unnamed)];
  expect(passed()).toEqual([false, false]);
  expect(sieve.passesEvent(event("execution_start", { prompt_id: theirs }))).toBe(false);
  expect(passed()).toEqual([false, false]);
  expect(sieve.passesEvent(start)).toBe(true);
  expect(passed()).toEqual([true, true]);
  expect(sieve.passesEvent(event("execution_success", { prompt_id: ours }))).toBe(true);
  expect(passed()).toEqual([false, false]);
});

test("A12 from a server that names the prompts of previews, no unnamed one is ours", () => {
  const sieve = createSieve(ours);
  expect(sieve.passesEvent(flags)).toBe(false);
  sieve.passesEvent(start);
  expect(sieve.passesPreview(unnamed)).toBe(false);
  expect(sieve.passesPreview({ ...unnamed, promptId: ours })).toBe(true);
  expect(sieve.passesPreview({ ...unnamed, promptId: theirs })).toBe(false);
});

test("A12 after a break nothing unnamed is ours until the new socket tells where ours is", () => {
  const sieve = createSieve(ours);
  sieve.passesEvent(start);
  sieve.forget();
  expect([sieve.passesEvent(step), sieve.passesPreview(unnamed)]).toEqual([false, false]);
  expect(sieve.passesEvent(event("executing", { node: null }))).toBe(false);
  expect(sieve.passesEvent(event("executing", { node: "3" }))).toBe(true);
  expect([sieve.passesEvent(step), sieve.passesPreview(unnamed)]).toEqual([true, true]);
});
