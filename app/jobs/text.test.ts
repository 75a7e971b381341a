import { describe, expect, test } from "vitest";
import { formatSeconds, paramRows, canRetryHelp, shownKind, promptsOf } from "./text.ts";

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

describe("shown kind", () => {
  test("A12 to remove an object is not called repainting", () => {
    expect(shownKind({ kind: "inpaint", params: {} })).toBe("removal");
    expect(shownKind({ kind: "inpaint", params: { prompt: "a vase" } })).toBe("repainting");
    expect(shownKind({ kind: "upscale", params: {} })).toBe("upscale");
  });
});

describe("text", () => {
  test("A4 the settings of a picture are told in one order, without its words", () => {
    const params = {
      seed: 7,
      prompt: "a fox",
      steps: 8,
      width: 640,
      height: 480,
      consent: true,
      guidance: 3.5,
    };
    expect(paramRows(params)).toEqual([
      { name: "size", value: "640 × 480" },
      { name: "steps", value: "8" },
      { name: "guidance", value: "3.5" },
      { name: "seed", value: "7" },
    ]);
    expect(promptsOf(params)).toEqual({ prompt: "a fox", negativePrompt: "" });
  });
});
