import { addUser } from "@atelier/testing/pictures";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { schema } from "../db/index.ts";
import { newId } from "../platform/index.ts";
import {
  changeImage,
  getImage,
  listImages,
  listTags,
  markImages,
  removeImages,
  removeTag,
  renameTag,
  tagImages,
  untagImages,
} from "./index.ts";

let opened: TestServices;
let ownerId: string;
let other: string;

beforeAll(async () => {
  opened = await createTestServices();
});
beforeEach(async () => {
  ownerId = await addUser(opened.services);
  other = await addUser(opened.services);
});
afterAll(() => opened.close());

async function addPicture(owner = ownerId): Promise<string> {
  const id = newId();
  const facts = { mime: "image/png", widthPx: 1, heightPx: 1, sizeBytes: 1, thumbhash: "", storedSha256: id };
  await opened.services.db
    .insert(schema.images)
    .values({ ...facts, id, ownerId: owner, role: "upload", storageKey: id });
  return id;
}

const tag = (name: string, ids: string[]) => tagImages(opened.services, { ownerId, ids, name });
const tagsOf = async (id: string) => (await getImage(opened.services, { ownerId, id })).tags;
const named = async () =>
  (await listTags(opened.services, ownerId)).map(({ name, pictures }) => [name, pictures]);
const found = async (search: string) =>
  (await listImages(opened.services, { ownerId, search })).items.map(({ id }) => id);

test("pictures are tagged once, whatever the case and accents, and say which did not have the tag", async () => {
  const [first, second] = [await addPicture(), await addPicture()];
  expect(await tag("Café", [first])).toEqual([first]);
  expect(await tag("cafe", [first, second])).toEqual([second]);
  expect(await tagsOf(second)).toEqual(["Café"]);
  expect(await named()).toEqual([["Café", 2]]);
  expect(await found("tag:café")).toEqual([second, first]);
});

test("a tag is one whatever the kind of its apostrophes, when it is given, taken, set, renamed and found", async () => {
  const [first, second] = [await addPicture(), await addPicture()];
  expect(await tag("Mum’s", [first])).toEqual([first]);
  expect(await tag("mum's", [first, second])).toEqual([second]);
  expect(await named()).toEqual([["Mum’s", 2]]);
  for (const name of ["mum's", "mum’s", "mumʼs"]) expect(await found(`tag:${name}`)).toEqual([second, first]);
  await changeImage(opened.services, { ownerId, id: first, tags: ["MUM‘S", "mum's"] });
  expect(await tagsOf(first)).toEqual(["Mum’s"]);
  expect(await untagImages(opened.services, { ownerId, ids: [first], name: "mum's" })).toEqual([first]);
  await tag("Dad's", [first]);
  const dad = (await listTags(opened.services, ownerId)).find(({ name }) => name === "Dad's");
  await renameTag(opened.services, { ownerId, id: dad?.id ?? "", name: "Mum's" });
  expect(await named()).toEqual([["Mum's", 2]]);
});

test("of two tags that an older studio has for one name each is still taken from pictures, and renaming makes them one", async () => {
  const id = await addPicture();
  const { db } = opened.services;
  const rows = ["joe's", "joe’s"].map((key) => ({ id: newId(), ownerId, name: key, key }));
  await db.insert(schema.tags).values(rows);
  await tag("joe’s", [id]);
  expect(await tagsOf(id)).toEqual(["joe’s"]);
  await tag("joe's", [id]);
  expect(await tagsOf(id)).toHaveLength(2);
  await renameTag(opened.services, { ownerId, id: rows[1]?.id ?? "", name: "Joe’s" });
  expect(await tagsOf(id)).toEqual(["Joe’s"]);
  await tag("joe’s", [id]);
  expect(await untagImages(opened.services, { ownerId, ids: [id], name: "joe's" })).toEqual([id]);
  expect(await tagsOf(id)).toEqual([]);
});

test("S1 pictures of others are not tagged, rated, starred or untagged, and a tag of nothing is not made", async () => {
  const foreign = await addPicture(other);
  expect(await tag("mine", [foreign])).toEqual([]);
  expect(await markImages(opened.services, { ownerId, ids: [foreign], rating: 5 })).toEqual([]);
  expect(await markImages(opened.services, { ownerId, ids: [foreign], starred: true })).toEqual([]);
  expect(await opened.services.db.$count(schema.tags, eq(schema.tags.ownerId, ownerId))).toBe(0);
  await tagImages(opened.services, { ownerId: other, ids: [foreign], name: "theirs" });
  expect(await untagImages(opened.services, { ownerId, ids: [foreign], name: "theirs" })).toEqual([]);
  expect(await getImage(opened.services, { ownerId: other, id: foreign })).toMatchObject({
    tags: ["theirs"],
    rating: 0,
  });
});

test("a tag that no picture has any more is not listed, and takes the spelling of its next use", async () => {
  const id = await addPicture();
  await tag("beach", [id]);
  expect(await untagImages(opened.services, { ownerId, ids: [id], name: "BEACH" })).toEqual([id]);
  expect(await named()).toEqual([]);
  await tag("Beach", [id]);
  expect(await named()).toEqual([["Beach", 1]]);
});

test("deleted pictures are not counted, and a tag of deleted ones alone is not listed", async () => {
  const [kept, gone] = [await addPicture(), await addPicture()];
  await tag("both", [kept, gone]);
  await tag("one", [gone]);
  await removeImages(opened.services, { ownerId, ids: [gone] });
  expect(await named()).toEqual([["both", 1]]);
});

test.each([
  ["", "no letters"],
  ['" "', "no letters"],
  ["none", "stands for nothing"],
  ["x".repeat(41), "more than 40 characters"],
])("the tag %j is refused: %s", async (name, reason) => {
  const id = await addPicture();
  await expect(tag(name, [id])).rejects.toMatchObject({
    code: "bad_request",
    message: expect.stringContaining(reason),
  });
});

test("a name with quotes is cleaned so that the search finds it", async () => {
  const id = await addPicture();
  await tag(' the  "big"\none ', [id]);
  expect(await tagsOf(id)).toEqual(["the big one"]);
  expect(await found('tag:"the big one"')).toEqual([id]);
});

test("a picture takes 30 tags and no more", async () => {
  const id = await addPicture();
  const names = Array.from({ length: 30 }, (_, at) => `tag ${at}`);
  await changeImage(opened.services, { ownerId, id, tags: names });
  await expect(tag("one more", [id])).rejects.toMatchObject({ code: "bad_request" });
  expect(await tagsOf(id)).toHaveLength(30);
});

test("a tag gets the name of another one: the two become one", async () => {
  const [first, second] = [await addPicture(), await addPicture()];
  await tag("sea", [first, second]);
  await tag("ocean", [first]);
  const sea = (await listTags(opened.services, ownerId)).find(({ name }) => name === "sea");
  await renameTag(opened.services, { ownerId, id: sea?.id ?? "", name: "Ocean" });
  expect(await named()).toEqual([["Ocean", 2]]);
  await removeTag(opened.services, { ownerId, id: sea?.id ?? "" });
  expect(await tagsOf(first)).toEqual([]);
});

test("one change sets title, star, rating and all tags, and leaves what it does not name", async () => {
  const id = await addPicture();
  await tag("old", [id]);
  await tag("kept", [id]);
  expect(
    await changeImage(opened.services, { ownerId, id, rating: 4, tags: ["Kept", "new"], title: "Sea" }),
  ).toMatchObject({ rating: 4, tags: ["kept", "new"], title: "Sea", starred: false });
  expect(await changeImage(opened.services, { ownerId, id, starred: true })).toMatchObject({
    rating: 4,
    tags: ["kept", "new"],
    starred: true,
  });
  expect(await changeImage(opened.services, { ownerId, id, tags: [] })).toMatchObject({ tags: [] });
});

test("many pictures are rated and starred, and what was marked is found and taken away", async () => {
  const ids = [await addPicture(), await addPicture()];
  expect((await markImages(opened.services, { ownerId, ids, rating: 3 })).toSorted()).toEqual(ids.toSorted());
  expect(await found("rating:>=3")).toHaveLength(2);
  await markImages(opened.services, { ownerId, ids: ids.slice(1), rating: 0 });
  expect(await found("rating:0")).toEqual(ids.slice(1));
  expect((await markImages(opened.services, { ownerId, ids, starred: true })).toSorted()).toEqual(
    ids.toSorted(),
  );
  expect(await found("is:starred rating:3")).toEqual(ids.slice(0, 1));
  await markImages(opened.services, { ownerId, ids: ids.slice(1), starred: false });
  expect(await found("is:starred")).toEqual(ids.slice(0, 1));
});

test("of many tags at once a picture gets as many as it may have", async () => {
  const id = await addPicture();
  const ends = await Promise.allSettled(Array.from({ length: 40 }, (_, at) => tag(`many ${at}`, [id])));
  expect(ends.filter(({ status }) => status === "fulfilled")).toHaveLength(30);
  expect(await tagsOf(id)).toHaveLength(30);
});

test("tags that get one name at once become one, also where a picture gets it", async () => {
  const ids: string[] = [];
  for (let at = 0; at < 8; at += 1) ids.push(await addPicture());
  for (const [at, id] of ids.entries()) await tag(`before ${at}`, [id]);
  const late = await addPicture();
  const before = await listTags(opened.services, ownerId);
  const ends = await Promise.allSettled([
    ...before.map(({ id }) => renameTag(opened.services, { ownerId, id, name: "After" })),
    tag("after", [late]),
  ]);
  expect(await named()).toMatchObject([[expect.stringMatching(/^after$/i), 9]]);
  const failed = ends.flatMap((end) => (end.status === "rejected" ? [end.reason] : []));
  // One that became another before its turn is gone.
  for (const reason of failed) expect(reason).toMatchObject({ code: "not_found" });
});
