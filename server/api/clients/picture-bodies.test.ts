import { expect, test, vi } from "vitest";
import { bytesOfPicture } from "./picture-bodies.ts";

test("a large text of escapes is read in one step", () => {
  const steps = vi.spyOn(String, "fromCharCode");
  const bytes = bytesOfPicture(`data:image/png;base64,${"%51UJD".repeat(100_000)}`);
  const made = steps.mock.calls.length;
  steps.mockRestore();
  expect(made).toBe(0);
  expect(bytes).toEqual(Buffer.from("ABC".repeat(100_000)));
});

test.each(["100%", "QUJD%zz", "%ff%fe", "%"])("%j is no escaped text, and is no picture", (text) => {
  expect(bytesOfPicture(text)).toEqual(Buffer.from(text, "base64"));
});
