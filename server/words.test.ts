import { expect, test } from "vitest";
import { locales } from "./locales.ts";
import { loadMessages, sentenceOf, wordsIn } from "./words.ts";

function keysOf(part: object): string[] {
  return Object.entries(part).flatMap(([key, value]) =>
    typeof value === "string" ? [key] : keysOf(value).map((inner) => `${key}.${inner}`),
  );
}

test("every language has every text: what its catalogue lacks is English, and never a key", async () => {
  const source = await loadMessages("en");
  for (const locale of locales) expect(keysOf(await loadMessages(locale))).toEqual(keysOf(source));
});

test("counts, prices and names of jobs are those of the language", async () => {
  const { t, format } = await wordsIn("ru");
  expect([1, 2, 5].map((count) => t("bot.cancelled", { count }))).toHaveLength(3);
  expect(format.number(1_234.5)).toBe("1\u00a0234,5");
  const german = await wordsIn("de");
  expect(german.t("jobs.kinds.upscale")).not.toBe("");
  expect(german.locale).toBe("de");
});

test("a failure is the thrower's sentence in English, and the text of its code in another language", async () => {
  const failure = { code: "queue_full", message: "The line is full at the moment." };
  expect(sentenceOf(await wordsIn("en"), failure)).toBe(failure.message);
  const { t } = await wordsIn("de");
  expect(sentenceOf(await wordsIn("de"), failure)).toContain(t("errors.queue_full.title"));
  const unknown = { code: "of_a_later_version", message: "New." };
  expect(sentenceOf(await wordsIn("de"), unknown)).toBe("New.");
});
