import { expect, test } from "vitest";
import { textWithoutWords } from "./text-without-words.ts";

test("D8 an estimate is asked for without the words", () => {
  const text = textWithoutWords({
    kind: "text_to_image",
    inputs: {},
    params: { prompt: "a secret", negativePrompt: "", steps: 20 },
  });
  expect(JSON.parse(text)).toEqual({
    kind: "text_to_image",
    inputs: {},
    params: { prompt: "…", negativePrompt: "", steps: 20 },
  });
});
