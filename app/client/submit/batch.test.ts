import { expect, test } from "vitest";
import { withChoice } from "./batch.ts";

test("a batch in either form keeps all its jobs on own machines where the user chose so", () => {
  const cup = { kind: "text_to_image", inputs: {}, params: { prompt: "a cup" } } as const;
  expect(withChoice({ jobs: [cup, cup] }, true)).toEqual({
    jobs: [
      { ...cup, ownOnly: true },
      { ...cup, ownOnly: true },
    ],
  });
  const axes = [{ param: "seed", values: [1, 2] }];
  expect(withChoice({ base: cup, axes }, true)).toEqual({ base: { ...cup, ownOnly: true }, axes });
  expect(withChoice({ base: cup, axes }, false)).toEqual({ base: cup, axes });
});
