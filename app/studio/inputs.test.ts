import { expect, test } from "vitest";
import { resolveSlot } from "./inputs.tsx";

test("a slot holds its stored picture unless that was deleted", () => {
  expect(resolveSlot({ storedId: "a", isGone: false, upload: undefined })).toEqual({
    imageId: "a",
    isFree: false,
  });
  expect(resolveSlot({ storedId: "a", isGone: true, upload: undefined })).toEqual({
    imageId: null,
    isFree: true,
  });
  expect(resolveSlot({ storedId: null, isGone: false, upload: undefined })).toEqual({
    imageId: null,
    isFree: true,
  });
});

test("an upload takes the slot: nothing can run with the picture it replaces", () => {
  for (const state of ["waiting", "sending", "done"] as const) {
    expect(resolveSlot({ storedId: "old", isGone: false, upload: { state } })).toEqual({
      imageId: null,
      isFree: false,
    });
  }
});

test("a failed upload leaves the slot to the next picture", () => {
  expect(resolveSlot({ storedId: "old", isGone: false, upload: { state: "failed" } })).toEqual({
    imageId: null,
    isFree: true,
  });
});
