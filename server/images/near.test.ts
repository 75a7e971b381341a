import { addUser } from "@atelier/testing/pictures";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { addTinyTextModel } from "@atelier/testing/text-model";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { schema } from "../db/index.ts";
import { firstIdAt, newId } from "../platform/index.ts";
import { changeImage, embedPictures, listImages, searchImages } from "./index.ts";

const { images, recallVectors } = schema;

let opened: TestServices;
let ownerId: string;

beforeAll(async () => {
  opened = await createTestServices();
  await addTinyTextModel(opened.services.env);
});
beforeEach(async () => {
  ownerId = await addUser(opened.services);
});
afterAll(() => opened.close());

const signal = new AbortController().signal;
const embed = () => embedPictures(opened.services, { signal, isRecent: false });

async function addPicture(title: string, owner = ownerId, id = newId()): Promise<string> {
  const facts = { mime: "image/webp", widthPx: 64, heightPx: 64, sizeBytes: 1, thumbhash: "" };
  await opened.services.db
    .insert(images)
    .values({ ...facts, id, ownerId: owner, role: "upload", title, storedSha256: id, storageKey: id });
  return id;
}

const list = async (search: string, more: object = {}) =>
  (await listImages(opened.services, { ownerId, search, ...more })).items.map(({ id }) => id);

/** Letters are all that the tiny model knows: the same ones in another order mean the like. */
const couch = "aabbccdd".repeat(8);
const likeCouch = "dcbaabcd".repeat(8);

test("similar: lists a picture and then what is nearest to it in meaning, as the other filters let through", async () => {
  const first = await addPicture(couch);
  const like = await addPicture(likeCouch);
  await addPicture("zzzz".repeat(16));
  await embed();
  expect(await list(`similar:${first}`)).toEqual([first, like]);
  await changeImage(opened.services, { id: like, ownerId, starred: true });
  expect(await list(`similar:${first} is:starred`)).toEqual([like]);
});

test("a round of what is recent makes vectors of the last hour's pictures alone", async () => {
  const old = await addPicture(likeCouch, ownerId, firstIdAt(Date.now() - 2 * 3_600_000));
  const fresh = await addPicture(couch);
  const embedded = async () =>
    (
      await opened.services.db
        .select({ id: recallVectors.id })
        .from(recallVectors)
        .where(eq(recallVectors.ownerId, ownerId))
    ).map(({ id }) => id);
  await embedPictures(opened.services, { signal, isRecent: true });
  expect(await embedded()).toEqual([fresh]);
  await embed();
  expect((await embedded()).toSorted()).toEqual([old, fresh]);
});

test("near: finds by meaning what has none of the words, page by page, and the assistant's search, too", async () => {
  const couchId = await addPicture(couch);
  for (const letters of ["zx", "wv", "kj"]) await addPicture(letters.repeat(32));
  await embed();
  expect((await list(`near:${likeCouch}`))[0]).toBe(couchId);
  const first = await listImages(opened.services, { ownerId, search: `near:${likeCouch}`, limit: 1 });
  expect(first.items.map(({ id }) => id)).toEqual([couchId]);
  const cursor = first.nextCursor ?? "";
  expect(cursor).not.toBe("");
  expect(await list(`near:${likeCouch}`, { cursor })).not.toContain(couchId);
  const [found] = await searchImages(opened.services, { ownerId, words: [likeCouch], limit: 5 });
  expect(found?.id).toBe(couchId);
});

/** Eight letters of each script that the tiny model knows. */
const scripts = {
  Latin: "abcdefgh",
  Cyrillic: "абвгдежз",
  Chinese: "红沙发猫狗鸟鱼马",
  Japanese: "あいうえおかきく",
  Korean: "가나다라마바사아",
  Arabic: "ابتثجحخد",
  Hebrew: "אבגדהוזח",
  Devanagari: "कगचजखघछझ",
  Thai: "กขคงจฉชซ",
  Greek: "αβγδεζηθ",
};

test("near: finds by meaning in every script", async () => {
  const ids = new Map<string, string>();
  for (const [script, letters] of Object.entries(scripts))
    for (const half of [letters.slice(0, 4), letters.slice(4)])
      ids.set(`${script} ${half}`, await addPicture(half.repeat(12)));
  await embed();
  const missed: string[] = [];
  for (const [name, id] of ids) {
    const [, half = ""] = name.split(" ");
    const turned = Array.from(half).toReversed().join("").repeat(12);
    if ((await list(`near:${turned}`))[0] !== id) missed.push(name);
  }
  expect(missed).toEqual([]);
});

test("nothing of another user is near, nor what was deleted", async () => {
  const other = await addUser(opened.services);
  const foreign = await addPicture(couch, other);
  const [own, gone] = [await addPicture(couch), await addPicture(couch)];
  await embed();
  await opened.services.db.delete(images).where(eq(images.id, gone));
  expect(await list(`near:${couch}`)).toEqual([own]);
  expect(await list(`similar:${foreign}`)).toEqual([]);
  await embed();
  expect(await opened.services.db.select().from(recallVectors).where(eq(recallVectors.id, gone))).toEqual([]);
});

test("vectors are made once, of pictures without one, and again after a change of the title", async () => {
  const id = await addPicture(couch);
  await addPicture("zx".repeat(32));
  expect(await embed()).toBe(2);
  expect(await embed()).toBe(0);
  await changeImage(opened.services, { id, ownerId, title: likeCouch });
  expect(await embed()).toBe(1);
  expect((await list(`near:${likeCouch}`))[0]).toBe(id);
  const stopped = AbortSignal.abort();
  await addPicture("oooo");
  await embedPictures(opened.services, { signal: stopped, isRecent: false }).catch(() => undefined);
  expect(await embed()).toBe(1);
});

test("a picture is near by what its description says, and its vector is made again after a change of it", async () => {
  const id = await addPicture("IMG_0001");
  await addPicture("zx".repeat(32));
  expect(await embed()).toBe(2);
  await changeImage(opened.services, { id, ownerId, description: likeCouch });
  expect(await embed()).toBe(1);
  expect((await list(`near:${likeCouch}`))[0]).toBe(id);
  await changeImage(opened.services, { id, ownerId, description: likeCouch, title: "IMG_0001" });
  expect(await embed()).toBe(0);
});

test("without a text model a search by meaning says so, and words alone find", async () => {
  const bare = await createTestServices();
  try {
    const owner = await addUser(bare.services);
    const search = listImages(bare.services, { ownerId: owner, search: "near:couch" });
    await expect(search).rejects.toMatchObject({ code: "bad_request" });
    expect(await embedPictures(bare.services, { signal, isRecent: false })).toBeNull();
    expect(await searchImages(bare.services, { ownerId: owner, words: ["couch"], limit: 5 })).toEqual([]);
  } finally {
    await bare.close();
  }
});
