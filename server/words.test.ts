import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { locales } from "./locales.ts";
import { pictureLimits } from "./platform/index.ts";
import { sentenceOfRefusal } from "./queue/index.ts";
import { shippedLists, shippedStyles } from "./presets/shipped.ts";
import { loadMessages, retell, retellAll, retellFinding, sentenceOf, wordsIn } from "./words.ts";

function textsIn(part: object): [key: string, text: string][] {
  return Object.entries(part).flatMap(([key, value]) =>
    typeof value === "string"
      ? [[key, value]]
      : textsIn(value).map(([inner, text]): [string, string] => [`${key}.${inner}`, text]),
  );
}

const keysOf = (part: object): string[] => textsIn(part).map(([key]) => key);

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
  /(?:new AppError|refuseGarment|refusePerson|refused|conflict)\(\s*(?:"\w+",\s*)?("(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`)/g;
/** Codes whose sentences no page shows, and sentences for programs alone. */
const notShown =
  /^(?:AUTH_SECRET|A job of an order|A proposal was stored|An account is deleted|The cursor |There is no job |The password is wrong)/;

/** The English texts that the files have in such a place, with "7" where a value stands. */
function textsOf(place: RegExp, ...patterns: string[]): string[] {
  const files = patterns
    .flatMap((pattern) => globSync(pattern, { cwd: root }))
    .filter((file) => !file.includes(".test."));
  const comments = /\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/ .*$/gm;
  const found = files.flatMap((file) => [
    ...readFileSync(path.join(root, file), "utf8").replaceAll(comments, "").matchAll(place),
  ]);
  return found.map(([, written = ""]) =>
    written
      .slice(1, -1)
      .replaceAll(/\$\{[^}]*\}/g, "7")
      .replaceAll('\\"', '"'),
  );
}

/** The English sentences that the files throw. */
function sentencesOf(...patterns: string[]): string[] {
  return textsOf(thrown, ...patterns).filter((text) => /^[A-Z].* /.test(text) && !notShown.test(text));
}

const anyText = /("(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`)/g;
/** What the doctor asks of others, headers, and names with their version. */
const notSaid =
  /^(?:SELECT|CREATE|GRANT|Answer with|A test$|a test$|Atelier: a test|This is a test|application\/|Bearer|LISTEN|Amazon, |not tried|7\. It says|Redis 7$|PostgreSQL 7$|pgvector 7$| and )/;

/** All that the doctor's files write of several words. */
function findingsOf(): string[] {
  const said = textsOf(anyText, "server/doctor/*.ts").filter(
    (text) => /[a-z]{2}/.test(text) && /\S \S/.test(text) && !notSaid.test(text),
  );
  const ofRedis = textsOf(anyText, "server/queue/redis-faults.ts").filter((text) =>
    /^(?:is|has) /.test(text),
  );
  return [...said, ...ofRedis, ...sentencesOf("server/provenance/{certificate,signing-key}.ts")];
}

test("what the doctor finds is in the catalogue of every language", async () => {
  const told = findingsOf();
  expect(told.length).toBeGreaterThan(200);
  for (const locale of locales) {
    const words = await wordsIn(locale);
    const retold = (text: string) => retellFinding(text, words);
    expect(told.filter((text) => retold(text) === null)).toEqual([]);
    const ofScripts = sentenceOfRefusal(new Error("ERR Script tried accessing undeclared key")) ?? "";
    expect(retold(ofScripts)).toContain("--default_lua_flags=allow-undeclared-keys");
    // Names as of a worker are spelled alike in several languages.
    const same = told.filter((text) => text.split(" ").length > 3 && retold(text) === text);
    expect(same.length > 0).toBe(locale === "en");
  }
});

test("a finding is retold with the findings that it is made of, and its names and figures stay", async () => {
  const words = await wordsIn("de");
  const told = (text: string) => retellFinding(text, words);
  expect(told("Worker gpu-1, Disk space")).toBe("Worker gpu-1, Speicherplatz");
  expect(told("refuses (HTTP 401); correct LLM_API_KEY. It says: “Invalid key”")).toBe(
    "lehnt ab (HTTP 401); korrigieren Sie LLM_API_KEY. Die Antwort: „Invalid key“",
  );
  expect(
    told("mail:25 cannot be used; correct the host, port and scheme of SMTP_URL (nothing listens there: E)"),
  ).toBe(
    "mail:25 kann nicht verwendet werden; korrigieren Sie Host, Port und Schema von SMTP_URL (dort lauscht nichts: E)",
  );
  expect(told("answers within 0.5 s; streaming, tools, JSON work; context of 4096 tokens")).toBe(
    "antwortet innerhalb von 0.5 s; funktionieren: Streaming, Werkzeuge, JSON; Kontext von 4096 Tokens",
  );
  expect(
    told(
      "this machine's clock is 40 s behind the database, 31 s ahead of b; set the clocks by NTP: signatures and sessions need them",
    ),
  ).toContain("ist 40 s hinter der Datenbank, 31 s vor b;");
  expect(told("a fault of a later version (why)")).toBeNull();
  // Far too deep to be one of ours.
  expect(told("x" + ": (a)".repeat(100))).toBeNull();
});

/** The numbers of a text, each once; Chinese counts pixels by ten thousands and hundred millions. */
function numbersOf(text: string): number[] {
  const found = text
    .replaceAll(/\{\w+(?:, number)?\}/g, "")
    .matchAll(/(\d{1,3}(?:[,.\u00a0]\d{3})+|\d+(?:\.\d+)?) ?([万亿]?)/g);
  const millions: Readonly<Record<string, number>> = { 万: 0.01, 亿: 100 };
  const numbers = [...found].map(([, digits = "", unit = ""]) =>
    unit === ""
      ? Number(digits.replaceAll(/[,.\u00a0]/g, ""))
      : Math.round(Number(digits) * (millions[unit] ?? 1)),
  );
  return [...new Set(numbers)];
}

test("a text that names a limit of pictures names that of the checks, in every language", async () => {
  const limits = pictureLimits;
  const expected: Readonly<Record<string, readonly number[]>> = {
    "errors.upload_too_large.title": [limits.uploadMib],
    "errors.upload_too_large.advice": [limits.scalableMib],
    "errors.upload_too_many.title": [limits.uploadFiles],
    "errors.upload_too_many_pixels.title": [limits.uploadMegapixels],
    "errors.upload_too_many_pixels.advice": [limits.scalableMegapixels],
    "errors.upload_bad_shape.advice": [
      limits.uploadSidePx,
      limits.uploadRatioFreeMegapixels,
      limits.uploadRatio,
    ],
    "errors.output_too_large.advice": [limits.outputMegapixels],
    "create.problems.tooMany": [limits.batchPictures],
  };
  for (const locale of locales) {
    const messages = new Map(textsIn(await loadMessages(locale)));
    const named = Object.keys(expected).map((key) => [key, numbersOf(messages.get(key) ?? "")]);
    expect({ locale, ...Object.fromEntries(named) }).toEqual({ locale, ...expected });
  }
});

test("what pages show of a refusal is in the catalogue of every language", async () => {
  const told = sentencesOf(
    "server/{boards,links,presets,users,wardrobe}/*.ts",
    "server/images/{tags,quota,near,conditions,dates}.ts",
    "server/jobs/{draft,submit-many,reorder,retry}.ts",
    "server/accounts/{credentials,passkeys}.ts",
    "server/telegram/links.ts",
    "server/deliveries/{endpoints,notifications}.ts",
    "server/nodes/admin-requests.ts",
    "server/assistant/{ask,proposals,talks}.ts",
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

test("every act of an admin has words in the audit log", async () => {
  const named = (await loadMessages("en")).admin.audit.kinds.admin;
  const known = new Set(Object.values(named).flatMap((acts) => Object.keys(acts)));
  const acts = globSync("server/api/trpc/*.ts", { cwd: root }).flatMap((file) =>
    [
      ...readFileSync(path.join(root, file), "utf8").matchAll(
        /(\w+): (?:adminAction|recordedAdminAction)\b/g,
      ),
    ].map(([, act = ""]) => act),
  );
  expect(acts.length).toBeGreaterThan(20);
  expect(acts.filter((act) => !known.has(act))).toEqual([]);
});

test("every recurring work has a name on the admin's page", async () => {
  const { names } = (await loadMessages("en")).admin.duties;
  const written = textsOf(
    /name: ("[^"]+"),\s+everyMs/g,
    "server/*/*.ts",
    "server/assistant/stages/*.ts",
    "worker/*.ts",
  );
  expect(written.length).toBeGreaterThan(25);
  expect(written.filter((name) => !Object.values(names).includes(name))).toEqual([]);
});

test("every shipped style and list has a title", async () => {
  const messages = await loadMessages("en");
  const keyOf = (name: string) => name.toLowerCase().replaceAll(" ", "_");
  expect(Object.keys(messages.shippedStyles)).toEqual(Object.keys(shippedStyles).map(keyOf));
  expect(Object.keys(messages.shippedLists)).toEqual(Object.keys(shippedLists).map(keyOf));
});
