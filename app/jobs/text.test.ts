import { describe, expect, test } from "vitest";
import { formatSeconds, canRetryHelp } from "./text.ts";

const letters = { seconds: "s", minutes: "min", hours: "h", days: "d" };

describe("duration", () => {
  test.each([
    [0, "0 s"],
    [59, "59 s"],
    [65, "1:05 min"],
    [7389, "2:03:09 h"],
  ])("%d seconds read as %s", (seconds, text) => {
    expect(formatSeconds(seconds, (value, unit) => `${value} ${letters[unit]}`)).toBe(text);
  });
});

describe("retry helps", () => {
  test("what was refused for its content is not offered again", () => {
    for (const code of ["garment_unsuitable", "upload_unreadable", "bad_request", "mask_empty"]) {
      expect(canRetryHelp(code)).toBe(false);
    }
  });

  test("what an engine or a store failed at is offered again", () => {
    for (const code of ["engine_crashed", "worker_lost", "storage_unavailable", "out_of_memory"]) {
      expect(canRetryHelp(code)).toBe(true);
    }
  });
});
