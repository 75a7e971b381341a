import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { locales } from "./locales.ts";
import { shippedLists, shippedStyles } from "./presets/shipped.ts";
import { loadMessages, retell, retellAll, sentenceOf, wordsIn } from "./words.ts";

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

const root = path.resolve(import.meta.dirname, "..");
const thrown =
  /(?:new AppError|refuseGarment|refusePerson|conflict)\(\s*(?:"\w+",\s*)?("(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`)/g;
/** Codes whose sentences no page shows, and sentences for programs alone. */
const notShown =
  /^(?:AUTH_SECRET|A job of an order|A proposal was stored|An account is deleted|The cursor |There is no job |The password is wrong)/;

/** The English sentences that the files throw, with "7" where a value stands. */
function sentencesOf(...patterns: string[]): string[] {
  const files = patterns
    .flatMap((pattern) => globSync(pattern, { cwd: root }))
    .filter((file) => !file.includes(".test."));
  const found = files.flatMap((file) => [...readFileSync(path.join(root, file), "utf8").matchAll(thrown)]);
  const texts = found.map(([, written = ""]) =>
    written
      .slice(1, -1)
      .replaceAll(/\$\{[^}]*\}/g, "7")
      .replaceAll('\\"', '"'),
  );
  return texts.filter((text) => /^[A-Z].* /.test(text) && !notShown.test(text));
}

test("what pages show of a refusal is in the catalogue of every language", async () => {
  const told = sentencesOf(
    "server/{boards,links,presets,users,wardrobe}/*.ts",
    "server/images/{tags,quota,near,conditions}.ts",
    "server/jobs/{submit-many,reorder,retry}.ts",
    "server/accounts/{credentials,passkeys}.ts",
    "server/telegram/links.ts",
    "server/deliveries/{endpoints,notifications}.ts",
    "server/nodes/admin-requests.ts",
    "server/assistant/{ask,proposals}.ts",
    "worker/engines/local/{garment,people}/*.ts",
  );
  expect(told.length).toBeGreaterThan(60);
  for (const locale of locales) {
    const words = await wordsIn(locale);
    const unknown = told.filter((text) => retell(text, words) === null);
    expect(unknown).toEqual([]);
    // English is the key of a sentence, so it comes out as it went in.
    const same = told.filter((text) => retell(text, words) === text);
    expect(same).toEqual(locale === "en" ? told : []);
  }
});

test("an answer for pages has the sentences of the server in the reader's language, and all else as it was", async () => {
  const at = new Date();
  const answer = {
    node: {
      lastError: "The server cannot be reached.",
      problems: [{ what: "Disk space", reason: "of a later version" }],
    },
    jobs: [
      {
        error: {
          code: "person_unsuitable",
          message: "The person is seen from behind. Use a photo from the front.",
        },
      },
    ],
    question: "The server cannot be reached.",
    at,
    names: new Set(["Disk space"]),
  };
  expect(retellAll(answer, await wordsIn("en"))).toBe(answer);
  expect(retellAll(answer, await wordsIn("de"))).toEqual({
    ...answer,
    node: {
      lastError: "Der Server ist nicht erreichbar.",
      problems: [{ what: "Speicherplatz", reason: "of a later version" }],
    },
    jobs: [
      {
        error: {
          code: "person_unsuitable",
          message: "Die Person ist von hinten zu sehen. Nehmen Sie ein Foto von vorn.",
        },
      },
    ],
  });
  expect(retell("You can have 7 tags. Remove some that you do not need.", await wordsIn("ru"))).toContain(
    "7",
  );
});

test("every shipped style and list has a title", async () => {
  const messages = await loadMessages("en");
  const keyOf = (name: string) => name.toLowerCase().replaceAll(" ", "_");
  expect(Object.keys(messages.shippedStyles)).toEqual(Object.keys(shippedStyles).map(keyOf));
  expect(Object.keys(messages.shippedLists)).toEqual(Object.keys(shippedLists).map(keyOf));
});
