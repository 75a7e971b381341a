import { addUser } from "@atelier/testing/pictures";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { schema } from "../db/index.ts";
import { newId } from "../platform/index.ts";
import { listImages, renameImage, searchImages } from "./index.ts";
import { cleanTitle } from "./ingest.ts";
import { searchForm } from "./search.ts";

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
  ["the name of a file", "IMG_0001", "IMG_0001.HEIC"],
])("%s are found", async (_name, title, search) => {
  const id = await addPicture(title);
  await addPicture("something else");
  expect(await find(search)).toEqual([id]);
});

test("a new title, also of an older process, is found at once and the old one is not", async () => {
  const id = await addPicture("first");
  expect(await find("first")).toEqual([id]);
  await renameImage(opened.services, { ownerId, id, title: "second" });
  expect([await find("first"), await find("second")]).toEqual([[], [id]]);
  await opened.services.db.update(schema.images).set({ title: "third" }).where(eq(schema.images.id, id));
  expect([await find("second"), await find("third")]).toEqual([[], [id]]);
});

test("more pictures without a search text than one batch are all found", async () => {
  await opened.services.db.execute(sql`
    insert into images (id, owner_id, role, storage_key, stored_sha256, mime, width_px, height_px, size_bytes, thumbhash, title)
    select gen_random_uuid(), ${ownerId}, 'upload', gen_random_uuid(), '', 'image/png', 1, 1, 1, '', 'number ' || n
    from generate_series(1, 2300) n`);
  expect(await find("number 2211")).toHaveLength(1);
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
