import { describe, expect, test } from "vitest";
import { agreedTo, agreedToChoice, type Estimate, textWithoutPrompts } from "./submit.ts";

describe("text without words", () => {
  test("D8 an estimate is asked for without the words", () => {
    const text = textWithoutPrompts({
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
});

test("E8 a click agrees to what was shown: to nothing where no price was", () => {
  const agreed = { maxPriceUsd: 0.05, ownOnly: false, unknownPrice: false };
  const shown = (change: object) => ({ isPossible: true, agreed, ...change }) as unknown as Estimate;
  expect(agreedTo(shown({}))).toEqual(agreed);
  expect(agreedTo(shown({ agreed: null }))).toBeNull();
  expect(agreedTo(shown({ isPossible: false }))).toBeNull();
  expect(agreedTo(undefined)).toBeNull();
  const choice = (priceUsd: number | null) => ({ cloud: { model: "m", provider: "fal", priceUsd } });
  expect(agreedToChoice(choice(0.04))).toEqual({ maxPriceUsd: 0.04 });
  expect(agreedToChoice(choice(null))).toBeNull();
  expect(agreedToChoice({ cloud: null })).toBeNull();
  expect(agreedToChoice(null)).toBeNull();
});
