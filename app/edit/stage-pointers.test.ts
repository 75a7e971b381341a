import { expect, test } from "vitest";
import { createPalmGuard, placesOf } from "./stage-pointers.ts";

const pen = (timeStamp: number) => ({ pointerType: "pen", timeStamp });
const touch = (timeStamp: number) => ({ pointerType: "touch", timeStamp });

test("without a pen fingers paint", () => {
  const guard = createPalmGuard();
  expect([guard.admits(touch(0)), guard.isBesidePen(touch(0))]).toEqual([true, false]);
  expect(guard.admits({ pointerType: "mouse", timeStamp: 1 })).toBe(true);
});

test("a palm beside the pen does nothing: before its tip, while it draws and just after", () => {
  const guard = createPalmGuard();
  guard.note(pen(1_000));
  expect(guard.admits(touch(1_050))).toBe(false);
  expect(guard.admits(pen(1_100))).toBe(true);
  guard.note(pen(9_000));
  expect([guard.admits(touch(9_300)), guard.admits(touch(9_699))]).toEqual([false, false]);
  expect(guard.admits(touch(9_800))).toBe(true);
});

test("once a pen has drawn a finger moves the picture, and a pen or a mouse still paints", () => {
  const guard = createPalmGuard();
  guard.note(pen(0));
  expect(["touch", "pen", "mouse"].map((pointerType) => guard.isBesidePen({ pointerType }))).toEqual([
    true,
    false,
    false,
  ]);
});

test("a browser that tells of no places between two frames draws through those of its events", () => {
  const event: { readonly clientX: number; readonly getCoalescedEvents?: () => PointerEvent[] } = {
    clientX: 5,
  };
  expect(placesOf(event)).toEqual([event]);
  expect(placesOf({ ...event, getCoalescedEvents: () => [] })).toHaveLength(1);
  // Safe cast: only counted.
  const between = [{ clientX: 3 }, { clientX: 4 }] as PointerEvent[];
  expect(placesOf({ ...event, getCoalescedEvents: () => between })).toEqual(between);
});
