import { addUser } from "@atelier/testing/pictures";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { and, eq, inArray, sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { addToBoard, createBoard } from "../boards/index.ts";
import { schema } from "../db/index.ts";
import {
  changeImage,
  chooseTop,
  getImage,
  listImages,
  removeImages,
  restoreImages,
} from "../images/index.ts";
import { newId } from "../platform/index.ts";
import {
  dismissDuplicates,
  listDuplicates,
  mergeAllDuplicates,
  mergeDuplicates,
  undoMerge,
  undoMerges,
  undoMergeSchema,
} from "./index.ts";

const { boardImages, boardMembers, boards, duplicatePairs, images, wardrobeItems } = schema;

let opened: TestServices;
let ownerId: string;

beforeAll(async () => {
  opened = await createTestServices();
});
beforeEach(async () => {
  ownerId = await addUser(opened.services);
});
afterAll(() => opened.close());

async function add(role: "upload" | "mask" = "upload"): Promise<string> {
  const id = newId();
  const facts = { mime: "image/png", widthPx: 1, heightPx: 1, sizeBytes: 1, thumbhash: "", storedSha256: id };
  await opened.services.db.insert(images).values({ ...facts, id, ownerId, role, storageKey: id });
  return id;
}

async function pair(one: string, other: string): Promise<void> {
  const [imageId = "", twinId = ""] = [one, other].toSorted();
  await opened.services.db.insert(duplicatePairs).values({ imageId, twinId, ownerId });
}

async function addPair(): Promise<[string, string]> {
  const [one, other] = [await add(), await add()];
  await pair(one, other);
  return [one, other];
}

async function groups(): Promise<string[][]> {
  const { groups: found } = await listDuplicates(opened.services, { ownerId });
  return found.map(({ pictures }) => pictures.map(({ id }) => id).toSorted());
}

const read = (id: string) => getImage(opened.services, { ownerId, id });

test("a group that cannot be merged stops no other, and what was merged can be taken back", async () => {
  const first = await addPair();
  await pair(await add(), await add("mask"));
  const last = await addPair();
  const { merges, left } = await mergeAllDuplicates(opened.services, { ownerId, keepIds: [] });
  expect(left).toBe(0);
  expect(merges.map(({ keepId, removedIds }) => [keepId, ...removedIds].toSorted())).toEqual([last, first]);
});

test("many merges are taken back in one call, and one that cannot be stops no other", async () => {
  await addPair();
  await addPair();
  await addPair();
  const { merges } = await mergeAllDuplicates(opened.services, { ownerId, keepIds: [] });
  const [, gone] = merges;
  const { db } = opened.services;
  await db.delete(images).where(inArray(images.id, gone?.removedIds ?? []));
  const { ids, failed } = await undoMerges(opened.services, { ownerId, merges });
  expect(failed).toEqual([1]);
  expect(ids).toEqual([merges[0]?.removedIds, merges[2]?.removedIds].flat());
});

test("pictures that are no duplicates do not come into one group through a third one", async () => {
  const [a, b] = await addPair();
  await dismissDuplicates(opened.services, { ownerId, imageIds: [a, b], dismissed: true });
  const c = await add();
  await pair(a, c);
  await pair(b, c);
  expect(await groups()).toEqual([[a, c]]);
  const d = await add();
  await pair(b, d);
  await pair(c, d);
  expect((await groups()).some((ids) => ids.includes(a) && ids.includes(b))).toBe(false);
  const { merges } = await mergeAllDuplicates(opened.services, { ownerId, keepIds: [] });
  for (const { keepId, removedIds } of merges)
    expect([keepId, ...removedIds]).not.toEqual(expect.arrayContaining([a, b]));
});

test("the kept picture loses what it got only once all pictures are back, also those restored by hand", async () => {
  const { services } = opened;
  const [keepId, one, two] = [await add(), await add(), await add()];
  await changeImage(services, { ownerId, id: one, tags: ["cafe"], rating: 4 });
  const board = await createBoard(services, { ownerId, name: "Drinks", imageIds: [one] });
  const merge = await mergeDuplicates(services, { ownerId, keepId, removeIds: [one, two] });
  expect(merge.boardIds).toEqual([board.id]);
  await services.db
    .update(images)
    .set({ deletedAt: sql`now() - interval '10 years'` })
    .where(eq(images.id, one));
  expect(await undoMerge(services, { ownerId, ...merge })).toEqual([two]);
  expect(await read(keepId)).toMatchObject({ rating: 4, tags: ["cafe"] });
  await services.db
    .update(images)
    .set({ deletedAt: sql`now()` })
    .where(eq(images.id, one));
  await restoreImages(services, { ownerId, ids: [one] });
  expect((await undoMerge(services, { ownerId, ...merge })).toSorted()).toEqual([one, two]);
  expect(await read(keepId)).toMatchObject({ rating: 0, tags: [] });
  expect(await read(one)).toMatchObject({ rating: 4, tags: ["cafe"] });
});

test("the kept picture gets a description when it has none, with whose it is, and loses it again unless it was changed", async () => {
  const { services } = opened;
  const { db } = services;
  const [keepId, one] = await addPair();
  await db.update(images).set({ description: "A harbour", describedBy: "file" }).where(eq(images.id, one));
  const described = async () => {
    const [row] = await db.select().from(images).where(eq(images.id, keepId));
    return [row?.description, row?.describedBy];
  };
  const merge = await mergeDuplicates(services, { ownerId, keepId, removeIds: [one] });
  expect(await described()).toEqual(["A harbour", "file"]);
  await undoMerge(services, { ownerId, ...merge });
  expect(await described()).toEqual(["", null]);
  const again = await mergeDuplicates(services, { ownerId, keepId, removeIds: [one] });
  await changeImage(services, { ownerId, id: keepId, description: "Mine" });
  await undoMerge(services, { ownerId, ...again });
  expect(await described()).toEqual(["Mine", "owner"]);
  const own = await mergeDuplicates(services, { ownerId, keepId, removeIds: [one] });
  expect(await described()).toEqual(["Mine", "owner"]);
  // As a page of the version before notes it.
  const { description: _, describedBy: __, ...before } = own.before;
  const { description: ___, describedBy: ____, ...after } = own.after;
  await undoMerge(services, { ownerId, ...own, before, after });
  expect(await described()).toEqual(["Mine", "owner"]);
});

test("the kept picture shows its stack where a removed one did, until that is back", async () => {
  const { services } = opened;
  const [keepId, one] = await addPair();
  const [newer, apart] = [await add(), await add()];
  await services.db
    .update(images)
    .set({ stackId: newId() })
    .where(inArray(images.id, [keepId, one, newer]));
  const choose = (id: string) => chooseTop(services, { ownerId, id, onTop: true });
  const shown = async () => {
    const { items } = await listImages(services, { ownerId, limit: 50, stacks: true });
    return items.map(({ id }) => id).filter((id) => [keepId, one, newer].includes(id));
  };
  await choose(one);
  await choose(apart);
  const merge = await mergeDuplicates(services, { ownerId, keepId, removeIds: [one, apart] });
  expect(await shown()).toEqual([keepId]);
  await undoMerge(services, { ownerId, ...merge });
  expect(await shown()).toEqual([one]);
  const again = await mergeDuplicates(services, { ownerId, keepId, removeIds: [one] });
  await choose(newer);
  await undoMerge(services, { ownerId, ...again });
  expect(await shown()).toEqual([newer]);
  await choose(keepId);
  await undoMerge(services, {
    ownerId,
    ...(await mergeDuplicates(services, { ownerId, keepId, removeIds: [one] })),
  });
  expect(await shown()).toEqual([keepId]);
  const alone = await mergeDuplicates(services, { ownerId, keepId: one, removeIds: [apart] });
  expect(alone.after.toppedAt).toBeNull();
});

test("a description that the owner emptied stays empty", async () => {
  const { db } = opened.services;
  const [keepId, one] = await addPair();
  await db
    .update(images)
    .set({ description: "A harbour", describedBy: "file" })
    .where(eq(images.ownerId, ownerId));
  await changeImage(opened.services, { ownerId, id: keepId, description: "" });
  const merge = await mergeDuplicates(opened.services, { ownerId, keepId, removeIds: [one] });
  expect(merge.after).toMatchObject({ description: "", describedBy: "owner" });
});

test("a merge puts nothing on a board whose sharing ends meanwhile", async () => {
  const { db } = opened.services;
  const boardOwner = await addUser(opened.services);
  const board = await createBoard(opened.services, { ownerId: boardOwner, name: "Ours" });
  const address = { boardId: board.id, userId: ownerId };
  await db.insert(boardMembers).values({ ...address, right: "add" });
  const [keepId, other] = await addPair();
  await addToBoard(opened.services, { userId: ownerId, id: board.id, imageIds: [other] });
  const merging = await db.transaction(async (tx) => {
    await tx.select().from(boards).where(eq(boards.id, board.id)).for("update");
    await tx
      .delete(boardMembers)
      .where(and(eq(boardMembers.boardId, board.id), eq(boardMembers.userId, ownerId)));
    await tx.delete(boardImages).where(eq(boardImages.boardId, board.id));
    const merge = mergeDuplicates(opened.services, { ownerId, keepId, removeIds: [other] });
    await vi.waitFor(async () => {
      const waiting = await db.execute(sql`select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`);
      expect(waiting).toHaveLength(1);
    });
    return { merge };
  });
  expect((await merging.merge).boardIds).toEqual([]);
  expect(await db.$count(boardImages, eq(boardImages.boardId, board.id))).toBe(0);
});

test("a merge gives no more tags than a picture can have", async () => {
  const { services } = opened;
  const [keepId, other] = await addPair();
  const names = Array.from({ length: 20 }, (_, index) => `tag ${index}`);
  await changeImage(services, { ownerId, id: keepId, tags: names });
  await changeImage(services, {
    ownerId,
    id: other,
    tags: [...names.slice(0, 5), ...names.map((name) => `${name} too`)],
  });
  const { tagIds } = await mergeDuplicates(services, { ownerId, keepId, removeIds: [other] });
  expect(tagIds).toHaveLength(10);
  expect((await read(keepId)).tags).toHaveLength(30);
});

test("an undo names no more places than a merge moves, and a title becomes one line of printable text", async () => {
  const [keepId, other] = await addPair();
  const merge = await mergeDuplicates(opened.services, { ownerId, keepId, removeIds: [other] });
  const place = { of: "link", id: newId(), position: 0, imageId: other };
  const withPlaces = (length: number) =>
    undoMergeSchema.safeParse({ ...merge, places: Array.from({ length }, () => place) }).success;
  expect([withPlaces(201), withPlaces(202)]).toEqual([true, false]);
  const before = { ...merge.before, title: `a\n\u202Eb${"x".repeat(200)}` };
  await undoMerge(opened.services, { ownerId, ...merge, before });
  expect((await read(keepId)).title).toBe(`ab${"x".repeat(118)}`);
});

test("the wardrobe keeps its item when the kept picture was taken out of it before", async () => {
  const { db } = opened.services;
  const [keepId, other] = await addPair();
  const facts = { ownerId, what: "person" as const, tags: [] };
  await db.insert(wardrobeItems).values({ ...facts, id: newId(), imageId: keepId, removedAt: new Date() });
  const id = newId();
  await db.insert(wardrobeItems).values({ ...facts, id, imageId: other });
  const merge = await mergeDuplicates(opened.services, { ownerId, keepId, removeIds: [other] });
  expect(await db.select().from(wardrobeItems).where(eq(wardrobeItems.ownerId, ownerId))).toMatchObject([
    { id, imageId: keepId, removedAt: null },
  ]);
  await undoMerge(opened.services, { ownerId, ...merge });
  const [item] = await db.select().from(wardrobeItems).where(eq(wardrobeItems.id, id));
  expect(item?.imageId).toBe(other);
});

test("a picture that went to the trash by itself is not merged", async () => {
  const [keepId, other] = await addPair();
  await removeImages(opened.services, { ownerId, ids: [other] });
  await expect(
    mergeDuplicates(opened.services, { ownerId, keepId, removeIds: [other] }),
  ).rejects.toMatchObject({ code: "not_found" });
});
