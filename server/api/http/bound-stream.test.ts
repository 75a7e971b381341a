import { expect, test } from "vitest";
import { boundStream } from "./bound-stream.ts";

/** Endless numbers that say when they were closed. */
function openNumbers() {
  const state = { isClosed: false };
  async function* numbers() {
    try {
      for (let value = 0; ; value += 1) yield value;
    } finally {
      state.isClosed = true;
    }
  }
  return { state, numbers: numbers() };
}

test("S1 a stream ends once its caller may not read on, and closes its source", async () => {
  const { state, numbers } = openNumbers();
  const answers = [true, true, false];
  const isAllowed = async () => answers.shift() ?? false;
  const seen = await Array.fromAsync(
    boundStream(numbers, { isAllowed, recheckMs: 0, lengthMs: Number.POSITIVE_INFINITY }),
  );
  expect(seen).toEqual([0, 1]);
  expect(state.isClosed).toBe(true);
});

test("a stream ends when its time is over", async () => {
  const { state, numbers } = openNumbers();
  const isAllowed = async () => true;
  expect(await Array.fromAsync(boundStream(numbers, { isAllowed, recheckMs: 0, lengthMs: 0 }))).toEqual([]);
  expect(state.isClosed).toBe(true);
});
