import { addUser } from "@atelier/testing/pictures";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { schema } from "../db/index.ts";
import { newId } from "../platform/index.ts";
import { changeImage, dropOldSearchTexts, listImages, searchImages } from "./index.ts";
import { cleanDescription, cleanTitle } from "./title.ts";
import { searchForm, searchKey, textForm } from "./search-text.ts";

let opened: TestServices;
let ownerId: string;

beforeAll(async () => {
  opened = await createTestServices();
});
beforeEach(async () => {
  ownerId = await addUser(opened.services);
});
afterAll(() => opened.close());

async function addPicture(title: string, params?: Record<string, unknown>): Promise<string> {
  const { db } = opened.services;
  const [id, jobId] = [newId(), params ? newId() : null];
  if (jobId && params) {
    const place = { queue: "gpu-high", engine: "comfyui", need: "comfyui/flux" } as const;
    const facts = { status: "completed", tier: 1, workflow: "flux-dev", model: "nano-banana" } as const;
    const ended = { endedAt: new Date(), startedAt: new Date() };
    await db
      .insert(schema.jobs)
      .values({ id: jobId, ownerId, kind: "text_to_image", params, ...place, ...facts, ...ended });
  }
  const facts = { mime: "image/webp", widthPx: 1_024, heightPx: 768, sizeBytes: 1, thumbhash: "" };
  const role = jobId ? "result" : "upload";
  const createdAt = new Date("2026-03-07T12:00:00Z");
  await db
    .insert(schema.images)
    .values({ ...facts, id, ownerId, role, jobId, title, createdAt, storedSha256: id, storageKey: id });
  return id;
}

/** By the list of the gallery and by the search of the assistant, which must agree. */
async function find(search: string): Promise<string[]> {
  const { items } = await listImages(opened.services, { ownerId, search });
  const words = search.split(" ");
  const found = await searchImages(opened.services, { ownerId, words, limit: 20 });
  expect(found.map(({ id }) => id)).toEqual(expect.arrayContaining(items.map(({ id }) => id)));
  return items.map(({ id }) => id);
}

test("a result is found by everything that is shown of it", async () => {
  const settings = { seed: 424_242, steps: 28, guidance: 3.5, width: 1_024 };
  const prompt = "A lighthouse at dusk, oil on canvas";
  const id = await addPicture("Evening", { prompt, negativePrompt: "blurry hands", ...settings });
  await addPicture("Other", { prompt: "a cat" });
  for (const search of [
    "lighthouse",
    "canvas dusk",
    "BLURRY",
    "negative prompt hands",
    "424242",
    "steps 28",
    "evening flux-dev",
    "lighthouse nano-banana",
    "evening text to image",
    "lighthouse comfyui",
    "lighthouse 2026-03-07",
    "7 March 2026 lighthouse",
    "Mar 7, 2026 evening",
    "evening 1024 × 768",
    "evening result webp",
  ])
    expect({ search, found: await find(search) }).toEqual({ search, found: [id] });
});

test.each([
  ["composed letters by decomposed ones", "Café Ünlü".normalize("NFC"), "café ünlü".normalize("NFD")],
  ["decomposed letters by composed ones", "Nguyễn Đào".normalize("NFD"), "nguyễn".normalize("NFC")],
  ["accents by plain letters", "Crème brûlée", "creme brulee"],
  ["plain letters by accents", "Zurich", "Zürich"],
  ["upper case of other scripts", "Красная ПЛОЩАДЬ", "красная площадь"],
  ["Greek", "ΟΔΥΣΣΕΥΣ", "οδυσσεύς"],
  ["German ß", "Straße", "STRASSE"],
  ["full width", "ＡＢＣ　１２３", "abc 123"],
  ["half width", "ｶﾞﾗｽ", "ガラス"],
  ["Chinese within a sentence", "夕阳下的海边灯塔", "灯塔"],
  ["Thai", "ภาพถ่ายวัดอรุณ", "วัดอรุณ"],
  ["Hangul in jamo", "한국 사진".normalize("NFD"), "한국"],
  ["Hebrew", "תמונה יפה", "יפה"],
  ["Hindi", "सुंदर चित्र", "चित्र"],
  ["Turkish", "İstanbul", "istanbul"],
  ["joined emoji", "team 👩‍🎨🏳️‍🌈", "👩‍🎨"],
  ["an emoji without its variant", "love ❤️", "❤"],
  ["Persian with a joiner", "می‌خواهم", "می‌خواهم"],
  ["a phone's apostrophe by a keyboard's", "Mother’s garden", "mother's garden"],
  ["a keyboard's apostrophe by a phone's", "Mother's garden", "mother’s"],
  ["Polish, by plain letters", "Łódź nocą", "lodz"],
  ["Vietnamese, by plain letters", "Đường phố", "duong pho"],
  ["Danish, by plain letters", "Smørrebrød", "smorrebrod"],
  ["French, by two letters", "cœur et œuvre", "coeur"],
  ["Turkish without dots", "Kırmızı IŞIK", "kirmizi isik"],
  ["Arabic with its vowels", "مُحَمَّد", "محمد"],
  ["Arabic without hamza", "أزهار", "ازهار"],
  ["Arabic made longer", "زهـــور", "زهور"],
  ["Hebrew with its points", "שָׁלוֹם", "שלום"],
  ["an apostrophe that is a letter", "пʼять котів", "п’ять"],
  ["the name of a file", "IMG_0001", "IMG_0001.HEIC"],
])("%s are found", async (_name, title, search) => {
  const id = await addPicture(title);
  await addPicture("something else");
  expect(await find(search)).toEqual([id]);
});

test("a new title, also of an older process, is found at once and the old one is not", async () => {
  const id = await addPicture("first");
  expect(await find("first")).toEqual([id]);
  await changeImage(opened.services, { ownerId, id, title: "second" });
  expect([await find("first"), await find("second")]).toEqual([[], [id]]);
  await opened.services.db.update(schema.images).set({ title: "third" }).where(eq(schema.images.id, id));
  expect([await find("second"), await find("third")]).toEqual([[], [id]]);
});

test("a picture is found by its description, and by a new one at once and no more by the old one", async () => {
  const id = await addPicture("IMG_0001");
  await addPicture("IMG_0002");
  expect(await find("harbour")).toEqual([]);
  await changeImage(opened.services, { ownerId, id, description: "A harbour\nin the fog" });
  expect([await find("harbour fog"), await find("img_0001")]).toEqual([[id], [id]]);
  expect(await find('"harbour in the"')).toEqual([id]);
  expect(await searchImages(opened.services, { ownerId, words: ["fog"], limit: 5 })).toMatchObject([{ id }]);
  await changeImage(opened.services, { ownerId, id, description: "Сельдь" });
  expect([await find("harbour"), await find("сельдь")]).toEqual([[], [id]]);
  await changeImage(opened.services, { ownerId, id, description: "" });
  expect([await find("сельдь"), await find("img_0001")]).toEqual([[], [id]]);
});

test("what an older process filled without the description is filled again by the duty", async () => {
  const { db } = opened.services;
  const [id, plain] = [await addPicture("one"), await addPicture("two")];
  await changeImage(opened.services, { ownerId, id, description: "harbour" });
  await db.update(schema.images).set({ searchKey: "one" }).where(eq(schema.images.id, id));
  await find("two");
  await db.update(schema.images).set({ searchKey: "kept two" }).where(eq(schema.images.id, plain));
  expect(await find("harbour")).toEqual([]);
  await dropOldSearchTexts(db);
  expect([await find("harbour"), await find("kept")]).toEqual([[id], [plain]]);
});

test("descriptions keep their lines, joiners and emoji, and are cut between signs to what the database takes", () => {
  expect(cleanDescription(" a\u202Eb\0\r\n\n\n\n c  d\t\uD800\u2028e ")).toBe("ab\n\nc d \uFFFD\ne");
  expect(cleanDescription("👩‍🎨\n \u200D \nمی‌خواهم")).toBe("👩‍🎨\n\nمی‌خواهم");
  const long = cleanDescription(`${"x".repeat(1_998)}👩‍🎨`);
  expect(long).toBe("x".repeat(1_998));
  expect(Array.from(cleanDescription("𝒳".repeat(9_000)))).toHaveLength(2_000);
});

test("more pictures without a search text than one batch are all found", async () => {
  await opened.services.db.execute(sql`
    insert into images (id, owner_id, role, storage_key, stored_sha256, mime, width_px, height_px, size_bytes, thumbhash, title)
    select gen_random_uuid(), ${ownerId}, 'upload', gen_random_uuid(), '', 'image/png', 1, 1, 1, '', 'number ' || n
    from generate_series(1, 2300) n`);
  expect(await find("number 2211")).toHaveLength(1);
});

test("texts of marks and joiners alone are cleaned and folded at once", () => {
  const marks = "\u0344".repeat(4_000) + "\u0316".repeat(4_000);
  const joiners = `a${"\u200C".repeat(7_990)}b`;
  const before = process.cpuUsage();
  for (const text of [marks, joiners, "\u0640".repeat(9).concat("\u064B".repeat(9)).repeat(400)]) {
    cleanDescription(text);
    cleanTitle(text);
    textForm(text);
  }
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1_000).toBeLessThan(500);
});

test("titles keep joined emoji, joiners and flags, and are cut between signs", () => {
  expect(cleanTitle("👩‍🎨 می‌خواهم 🏴󠁧󠁢󠁳󠁣󠁴󠁿")).toBe("👩‍🎨 می‌خواهم 🏴󠁧󠁢󠁳󠁣󠁴󠁿");
  expect(cleanTitle("\u200D a\u200C \u200B\u202Eb")).toBe("a b");
  expect(cleanTitle("cafe\u0301")).toBe("caf\u00E9");
  expect(cleanTitle(`${"x".repeat(118)}👩‍🎨`)).toBe("x".repeat(118));
});

test("a text without words searches nothing, and signs mean themselves", async () => {
  const id = await addPicture("100% wool_x");
  expect(await find('  "" , ')).toEqual([id]);
  expect([await find("0% w"), await find("l_x"), await find("m_x")]).toEqual([[id], [id], []]);
  expect(searchForm("a\0b \uD800")).toBe("a b \uFFFD");
});

interface Facts {
  readonly params?: Record<string, unknown>;
  readonly picture?: Partial<typeof schema.images.$inferInsert>;
}

/** A picture whose row says something else than those of `addPicture`. */
async function addWith(title: string, { params, picture = {} }: Facts): Promise<string> {
  const id = await addPicture(title, params);
  await opened.services.db
    .update(schema.images)
    .set({ title, ...picture })
    .where(eq(schema.images.id, id));
  return id;
}

async function list(search: string): Promise<string[]> {
  const { items } = await listImages(opened.services, { ownerId, search });
  return items.map(({ title }) => title).toSorted();
}

test("filters, words and what must not be there hold together", async () => {
  const { db } = opened.services;
  const plain = await addWith("plain", { picture: { createdAt: new Date("2024-02-29T23:59:00Z") } });
  await addWith("starred", { picture: { starred: true, rating: 5 } });
  const rated = await addWith("rated", {
    picture: { rating: 3, widthPx: 4_096, createdAt: new Date("2024-03-01T00:00:00Z") },
  });
  const made = await addWith("made", {
    params: { prompt: "a red kite", seed: 77, checkpoint: "XL/Painted_World.ckpt" },
  });
  await addWith("seed 77 in its title", { params: { prompt: "a kite", seed: 770 } });
  await addPicture("upload of seed 77");
  const [tagId, boardId] = [newId(), newId()];
  await db.insert(schema.tags).values({ id: tagId, ownerId, name: "Две думи", key: searchForm("Две думи") });
  await db.insert(schema.imageTags).values({ tagId, imageId: plain });
  const phoneTagId = newId();
  await db.insert(schema.tags).values({ id: phoneTagId, ownerId, name: "Mum’s", key: searchForm("Mum’s") });
  await db.insert(schema.imageTags).values({ tagId: phoneTagId, imageId: rated });
  await db.insert(schema.boards).values({ id: boardId, ownerId, name: "Kites", key: "kites" });
  await db.insert(schema.boardImages).values({ boardId, imageId: made });
  for (const name of ["‘90s", "Rock ’n' roll"]) {
    const ownId = newId();
    await db.insert(schema.boards).values({ id: ownId, ownerId, name, key: searchForm(name) });
    await db.insert(schema.boardImages).values({ boardId: ownId, imageId: made });
  }
  const all = ["made", "plain", "rated", "seed 77 in its title", "starred", "upload of seed 77"];
  const others = (...titles: string[]) => all.filter((title) => !titles.includes(title));
  for (const [search, titles] of [
    ["is:starred", ["starred"]],
    ["-is:starred", others("starred")],
    ["is:result", ["made", "seed 77 in its title"]],
    ["is:upload", ["plain", "rated", "starred", "upload of seed 77"]],
    ["rating:>=3", ["rated", "starred"]],
    ["rating:0", others("starred", "rated")],
    ["size:>2000", ["rated"]],
    ["size:4096x768", ["rated"]],
    ["from:2024-02 to:2024-02", ["plain"]],
    ["to:2024-03-01", ["plain", "rated"]],
    ["from:2024-03 to:2025", ["rated"]],
    ["seed:77", ["made"]],
    ["-seed:77", others("made")],
    ["kind:text-to-image", ["made", "seed 77 in its title"]],
    ["kind:upscale", []],
    ["-kind:text-to-image", others("made", "seed 77 in its title")],
    ["model:banana", ["made", "seed 77 in its title"]],
    ["model:painted_world", ["made"]],
    ["-model:flux", others("made", "seed 77 in its title")],
    ["kite -red", ["seed 77 in its title"]],
    ['"red kite"', ["made"]],
    ['"kite red"', []],
    ["tag:“ДВЕ думи”", ["plain"]],
    ["tag:none", others("plain", "rated")],
    ["-tag:nowhere", all],
    ["board:KITES kite", ["made"]],
    ["board:none is:result", ["seed 77 in its title"]],
    ["is:shared", []],
    ["is:trashed", []],
    ["100%_", []],
    ["tag:«две думи»", ["plain"]],
    ["tag:mum’s", ["rated"]],
    ["tag:mum's", ["rated"]],
    ["board:“rock ’n' roll”", ["made"]],
    ["board:‘90s", ["made"]],
    ["board:'90s", ["made"]],
    ["rating:>9999999", []],
    ["rating:0..9999999", all],
    ["from:9999y to:9999", all],
    ["from:0000 to:9999-12-31", all],
  ] as const)
    expect({ search, titles: await list(search) }).toEqual({ search, titles });
});

test("an operator with a value that it does not take is refused by name, and finds nothing by chance", async () => {
  await addPicture("rating:good");
  await expect(list("rating:good")).rejects.toThrow('The search cannot be read at "rating:good".');
});

test("the trash has what was removed, and no other list has it", async () => {
  await addWith("gone", { picture: { deletedAt: new Date() } });
  await addPicture("here");
  expect([await list("is:trashed"), await list("gone"), await list("-is:trashed")]).toEqual([
    ["gone"],
    [],
    ["here"],
  ]);
});

test("another owner's tags and boards of the same name find nothing of theirs", async () => {
  const { db } = opened.services;
  const [mine, other] = [await addPicture("mine"), await addUser(opened.services)];
  const tagId = newId();
  await db.insert(schema.tags).values({ id: tagId, ownerId: other, name: "x", key: "x" });
  await db.insert(schema.imageTags).values({ tagId, imageId: mine });
  expect(await list("tag:x")).toEqual([]);
});

test("pages go by the time of the pictures, whether they are found near the newest or far from them", async () => {
  await opened.services.db.execute(sql`
    insert into images (id, owner_id, role, storage_key, stored_sha256, mime, width_px, height_px, size_bytes, thumbhash, title, created_at)
    select gen_random_uuid(), ${ownerId}, 'upload', gen_random_uuid(), '', 'image/png', 1, 1, 1, '',
      case when n % 1000 = 7 then 'seldom ' else 'often ' end || n, timestamptz '2026-01-01' + n * interval '1 minute'
    from generate_series(1, 4200) n`);
  const titles: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await listImages(opened.services, {
      ownerId,
      search: "seldom",
      limit: 2,
      cursor,
      stacks: true,
    });
    titles.push(...page.items.map(({ title }) => title));
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  expect(titles).toEqual([4_007, 3_007, 2_007, 1_007, 7].map((n) => `seldom ${n}`));
  const { items } = await listImages(opened.services, { ownerId, search: "often", limit: 2 });
  expect(items.map(({ title }) => title)).toEqual(["often 4200", "often 4199"]);
});

test("what an assistant looks for may hold filters, and those hold for every picture", async () => {
  const red = await addWith("red kite", { picture: { starred: true } });
  await addWith("red kite too", {});
  const half = await addWith("a kite", { picture: { starred: true } });
  const found = await searchImages(opened.services, {
    ownerId,
    words: ["red kite", "is:starred", "rating:x"],
    limit: 9,
  });
  expect(found.map(({ id }) => id)).toEqual([red, half]);
  const words = ["kite", "-red"];
  expect(await searchImages(opened.services, { ownerId, words, limit: 9 })).toMatchObject([{ id: half }]);
});

test("what an earlier version stored in its own form is found again after the duty, and what is well stays", async () => {
  const { db } = opened.services;
  const titles = ["Łódź nocą", "Mother’s garden", "Smørrebrød", "Kırmızı", "مُحَمَّد", "أزهار", "שָׁלוֹם"];
  const old = await Promise.all(titles.map((title) => addPicture(title)));
  for (const [at, id] of old.entries())
    await db
      .update(schema.images)
      .set({ searchKey: searchKey(searchForm(titles[at] ?? "")) })
      .where(eq(schema.images.id, id));
  const well = await addPicture("Żółw красный 東京");
  await find("anything");
  const stored = () =>
    db.select({ key: schema.images.searchKey }).from(schema.images).where(eq(schema.images.id, well));
  const before = await stored();
  expect(await find("lodz")).toEqual([]);
  await dropOldSearchTexts(db);
  expect(await stored()).toEqual(before);
  for (const [at, title] of titles.entries()) expect(await find(title)).toEqual([old[at]]);
  expect(await find("lodz")).toEqual([old[0]]);
});
