import { readFile } from "node:fs/promises";
import path from "node:path";
import { forCasesInTurn } from "@atelier/testing/cases";
import { addUser } from "@atelier/testing/pictures";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { and, eq, inArray, sql } from "drizzle-orm";
import sharp from "sharp";
import type { Sharp } from "sharp";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { mergeGuest } from "../accounts/index.ts";
import { addToBoard, createBoard, getBoard } from "../boards/index.ts";
import { schema } from "../db/index.ts";
import { changeImage, getImage, ingest, removeImages } from "../images/index.ts";
import { newId } from "../platform/index.ts";
import { addItem, listItems } from "../wardrobe/index.ts";
import { readIds } from "./groups.ts";
import {
  comparePictures,
  dismissDuplicates,
  listDuplicates,
  mergeAllDuplicates,
  mergeDuplicates,
  undoMerge,
} from "./index.ts";

let opened: TestServices;
let ownerId: string;

beforeAll(async () => {
  opened = await createTestServices();
});
beforeEach(async () => {
  ownerId = await addUser(opened.services);
});
afterAll(() => opened.close());

const sample = (file: string) => readFile(path.join(import.meta.dirname, "../../public/samples", file));

async function add(bytes: Buffer, owner = ownerId): Promise<string> {
  const { id } = await ingest(opened.services, { ownerId: owner, role: "upload", bytes });
  return id;
}

const png = (picture: Sharp) => picture.png({ compressionLevel: 1 }).toBuffer();

async function groups(owner = ownerId): Promise<string[][]> {
  await comparePictures(opened.services, { ownerId: owner, most: 1_000 });
  const { groups: found } = await listDuplicates(opened.services, { ownerId: owner });
  return found.map(({ pictures }) => pictures.map(({ id }) => id));
}

/** The middle of a picture, smaller by this part of each side. */
async function cropped(bytes: Buffer, part: number): Promise<Buffer> {
  const { width, height } = await sharp(bytes).metadata();
  const [left, top] = [Math.round((width * part) / 2), Math.round((height * part) / 2)];
  return png(sharp(bytes).extract({ left, top, width: width - 2 * left, height: height - 2 * top }));
}

/** The picture with a box of a part of its side painted over. */
async function painted(bytes: Buffer, part: number): Promise<Buffer> {
  const { width, height } = await sharp(bytes).metadata();
  const box = { width: Math.round(width * part), height: Math.round(height * part) };
  const input = await png(sharp({ create: { ...box, channels: 3, background: "#777" } }));
  const [left, top] = [Math.round(width * 0.45), Math.round(height * 0.3)];
  return png(sharp(bytes).composite([{ input, left, top }]));
}

const copies: Readonly<Record<string, (bytes: Buffer) => Promise<Buffer>>> = {
  "JPEG with quality 60": (bytes) => sharp(bytes).jpeg({ quality: 60 }).toBuffer(),
  WebP: (bytes) => sharp(bytes).webp({ quality: 75 }).toBuffer(),
  "half the size": async (bytes) =>
    png(sharp(bytes).resize(Math.round((await sharp(bytes).metadata()).width / 2))),
  "cropped by 2 %": (bytes) => cropped(bytes, 0.02),
  lighter: (bytes) => png(sharp(bytes).modulate({ brightness: 1.12 })),
  darker: (bytes) => png(sharp(bytes).modulate({ brightness: 0.88 })),
  "other metadata": (bytes) => png(sharp(bytes).withExif({ IFD0: { Copyright: "nobody" } })),
};

forCasesInTurn(
  "copies of %s in another encoding, size, crop and light are one group",
  { usual: ["astronaut.png"], others: ["coffee.png", "garment_dress.jpg", "rocket.jpg"] },
  async (file) => {
    const first = await png(sharp(await sample(file)).removeAlpha());
    const ids = [await add(first)];
    for (const [name, copy] of Object.entries(copies)) {
      const { data } = { data: await copy(first) };
      const id = await add(data);
      ids.push(id);
      expect([name, (await groups())[0]?.includes(id)]).toEqual([name, true]);
    }
    const found = await groups();
    expect(found).toHaveLength(1);
    expect(found[0]?.toSorted()).toEqual([...new Set(ids)].toSorted());
  },
);

test("different photos, and photos in which something was changed, are no duplicates", async () => {
  const first = await sample("coffee.png");
  for (const file of [
    "coffee.png",
    "astronaut.png",
    "garment_tee.jpg",
    "garment_hoodie.jpg",
    "rocket.jpg",
    "chelsea.png",
  ])
    await add(await sample(file));
  await add(await painted(first, 0.15));
  await add(await painted(first, 0.08));
  await add(await cropped(first, 0.2));
  await add(await png(sharp(first).modulate({ hue: 60 })));
  await add(await png(sharp(first).greyscale()));
  await add(await png(sharp(first).flop()));
  expect(await groups()).toEqual([]);
});

test("plain pictures of different colours are no duplicates, and two of one colour are", async () => {
  const plain = (background: string, size: number) =>
    png(sharp({ create: { width: size, height: size, channels: 3, background } }));
  for (const background of ["#000", "#fff", "#888", "#c22", "#22c"]) await add(await plain(background, 400));
  expect(await groups()).toEqual([]);
  const small = await add(await plain("#888", 300));
  expect((await groups()).map((ids) => ids[1])).toEqual([small]);
});

test("versions of one stack and pictures of others are never proposed", async () => {
  const { db } = opened.services;
  const first = await add(await sample("coffee.png"));
  const version = await add(
    await sharp(await sample("coffee.png"))
      .jpeg({ quality: 70 })
      .toBuffer(),
  );
  await db.update(schema.images).set({ stackId: first }).where(eq(schema.images.id, version));
  await add(
    await sharp(await sample("coffee.png"))
      .jpeg({ quality: 60 })
      .toBuffer(),
    await addUser(opened.services),
  );
  expect(await groups()).toEqual([]);
});

test("the largest picture is proposed, then the larger file, then the oldest, with the reason", async () => {
  const bytes = await sample("coffee.png");
  const half = await add(await sharp(bytes).resize(300).png().toBuffer());
  const poor = await add(await sharp(bytes).jpeg({ quality: 50 }).toBuffer());
  const whole = await add(bytes);
  const [group] = (await listDuplicates(opened.services, { ownerId })).groups;
  expect(group).toMatchObject({ keepId: whole, reason: "bytes" });
  expect(group?.pictures.map(({ id }) => id)).toEqual([whole, half, poor]);
  await removeImages(opened.services, { ownerId, ids: [poor] });
  const [pair] = (await listDuplicates(opened.services, { ownerId })).groups;
  expect(pair).toMatchObject({ keepId: whole, reason: "pixels" });
});

async function addPair(): Promise<[string, string]> {
  const bytes = await sample("coffee.png");
  const kept = await add(bytes);
  const other = await add(await sharp(bytes).resize(300).png().toBuffer());
  expect(await groups()).toEqual([[kept, other]]);
  return [kept, other];
}

test("a merge gives boards, tags, rating, star, title and the place in the wardrobe to the kept picture, and undo takes all of it back", async () => {
  const { services } = opened;
  const [keepId, other] = await addPair();
  await changeImage(services, { ownerId, id: keepId, tags: ["cup"], rating: 2, title: "" });
  await changeImage(services, {
    ownerId,
    id: other,
    tags: ["cup", "cafe"],
    rating: 4,
    starred: true,
    title: "Mocha",
  });
  const board = await createBoard(services, { ownerId, name: "Drinks", imageIds: [other] });
  const item = await addItem(services, {
    ownerId,
    imageId: other,
    what: "garment",
    category: "top",
    name: "",
    tags: [],
    cutOutJobId: null,
  });
  const merge = await mergeDuplicates(services, { ownerId, keepId, removeIds: [other] });
  expect(await getImage(services, { ownerId, id: keepId })).toMatchObject({
    rating: 4,
    starred: true,
    title: "Mocha",
    tags: ["cafe", "cup"],
  });
  await expect(getImage(services, { ownerId, id: other })).rejects.toMatchObject({ code: "not_found" });
  expect(await getBoard(services, { ownerId, id: board.id })).toMatchObject({
    coverIds: [keepId],
    pictures: 1,
  });
  expect(JSON.stringify(await listItems(services, { ownerId }))).toContain(keepId);
  expect(await groups()).toEqual([]);
  expect(await undoMerge(services, { ownerId, ...merge })).toEqual([other]);
  expect(await getImage(services, { ownerId, id: keepId })).toMatchObject({
    rating: 2,
    starred: false,
    title: "",
    tags: ["cup"],
  });
  expect(await getImage(services, { ownerId, id: other })).toMatchObject({
    rating: 4,
    starred: true,
    title: "Mocha",
  });
  expect(await getBoard(services, { ownerId, id: board.id })).toMatchObject({
    coverIds: [other],
    pictures: 1,
  });
  expect(JSON.stringify(await listItems(services, { ownerId }))).toContain(other);
  expect(item).toBeDefined();
  expect(await groups()).toEqual([[keepId, other]]);
});

test("undo leaves what was changed after the merge", async () => {
  const { services } = opened;
  const [keepId, other] = await addPair();
  await changeImage(services, { ownerId, id: other, rating: 4 });
  const merge = await mergeDuplicates(services, { ownerId, keepId, removeIds: [other] });
  await changeImage(services, { ownerId, id: keepId, rating: 5 });
  await undoMerge(services, { ownerId, ...merge });
  expect(await getImage(services, { ownerId, id: keepId })).toMatchObject({ rating: 5 });
});

test("nobody merges, dismisses or takes back what belongs to others", async () => {
  const { services } = opened;
  const [keepId, other] = await addPair();
  const stranger = await addUser(services);
  const own = await add(await sample("rocket.jpg"), stranger);
  const board = await createBoard(services, { ownerId, name: "Mine", imageIds: [other] });
  for (const kept of [keepId, own])
    await expect(
      mergeDuplicates(services, { ownerId: stranger, keepId: kept, removeIds: [other] }),
    ).rejects.toMatchObject({ code: "not_found" });
  const dismissal = { ownerId: stranger, imageIds: [keepId, other], dismissed: true };
  await expect(dismissDuplicates(services, dismissal)).rejects.toMatchObject({ code: "not_found" });
  const merge = await mergeDuplicates(services, { ownerId, keepId, removeIds: [other] });
  expect(await undoMerge(services, { ownerId: stranger, ...merge })).toEqual([]);
  expect(await getBoard(services, { ownerId, id: board.id })).toMatchObject({ coverIds: [keepId] });
  await expect(
    addToBoard(services, { userId: stranger, id: board.id, imageIds: [own] }),
  ).rejects.toMatchObject({ code: "not_found" });
});

test("a dismissed group stays away until it is taken back", async () => {
  const [keepId, other] = await addPair();
  const group = { ownerId, imageIds: [keepId, other] };
  await dismissDuplicates(opened.services, { ...group, dismissed: true });
  expect(await groups()).toEqual([]);
  await dismissDuplicates(opened.services, { ...group, dismissed: false });
  expect(await groups()).toEqual([[keepId, other]]);
});

test("pictures of a dismissed group that were no pair do not meet again through a third one", async () => {
  const { services } = opened;
  const pair = (one: string, other: string) => {
    const [imageId = "", twinId = ""] = [one, other].toSorted();
    return { imageId, twinId, ownerId };
  };
  const [a, b, c, third] = [newId(), newId(), newId(), newId()] as const;
  const facts = {
    ownerId,
    role: "upload",
    mime: "image/png",
    widthPx: 4,
    heightPx: 3,
    sizeBytes: 1,
  } as const;
  for (const id of [a, b, c, third])
    await services.db
      .insert(schema.images)
      .values({ ...facts, id, storageKey: id, storedSha256: id, thumbhash: "" });
  await services.db.update(schema.likenesses).set({ comparedAt: new Date() });
  await services.db.insert(schema.duplicatePairs).values([pair(a, b), pair(b, c)]);
  const group = { ownerId, imageIds: [a, b, c] };
  await dismissDuplicates(services, { ...group, dismissed: true });
  await services.db.insert(schema.duplicatePairs).values([pair(a, third), pair(c, third)]);
  const [met] = await groups();
  expect([met?.length, met?.includes(a) && met.includes(c)]).toEqual([2, false]);
  await dismissDuplicates(services, { ...group, dismissed: false });
  expect((await groups()).map((ids) => ids.toSorted())).toEqual([[a, b, c, third].toSorted()]);
  // Taken back, they are not made a pair of.
  await services.db.delete(schema.images).where(inArray(schema.images.id, [b, third]));
  expect(await groups()).toEqual([]);
});

test("a picture that is purged while its group is dismissed is left out", async () => {
  const { db } = opened.services;
  const [keepId, other] = await addPair();
  const third = await add(await sample("rocket.jpg"));
  const group = { ownerId, imageIds: [keepId, other, third], dismissed: true };
  const { dismissal } = await db.transaction(async (tx) => {
    await tx.execute(sql`delete from images where id = ${third}`);
    const dismissal = dismissDuplicates(opened.services, group).catch((error: unknown) => error);
    const waiting = sql`select count(*)::int as waiting from pg_locks
      where not granted and locktype = 'transactionid' and pg_backend_pid() = any(pg_blocking_pids(pid))`;
    await vi.waitUntil(async () => (await tx.execute(waiting))[0]?.["waiting"] === 1, { interval: 10 });
    return { dismissal };
  });
  expect(await dismissal).toBeUndefined();
});

test("all groups are merged at once, keeping what was chosen in place of what is proposed", async () => {
  const [keepId, other] = await addPair();
  const bytes = await sample("rocket.jpg");
  const rocket = await add(bytes);
  const small = await add(await sharp(bytes).resize(300).png().toBuffer());
  await groups();
  const input = { ownerId, keepIds: [small] };
  const { merges, left } = await mergeAllDuplicates(opened.services, input);
  expect(left).toBe(0);
  expect(merges.map((merge) => [merge.keepId, ...merge.removedIds])).toEqual([
    [small, rocket],
    [keepId, other],
  ]);
  for (const merge of merges) await undoMerge(opened.services, { ownerId, ...merge });
  expect(await groups()).toHaveLength(2);
});

test("a page ends at its limit, and the cursor goes on behind it", async () => {
  await addPair();
  const bytes = await sample("rocket.jpg");
  await add(bytes);
  await add(await sharp(bytes).resize(300).png().toBuffer());
  await groups();
  const first = await listDuplicates(opened.services, { ownerId, limit: 1 });
  expect(first).toMatchObject({ total: { groups: 2, pictures: 4 }, waiting: 0 });
  const cursor = first.nextCursor ?? "";
  const second = await listDuplicates(opened.services, { ownerId, limit: 1, cursor });
  expect(second.nextCursor).toBeNull();
  expect(new Set([...first.groups, ...second.groups].map(({ id }) => id)).size).toBe(2);
  await expect(listDuplicates(opened.services, { ownerId, cursor: "x" })).rejects.toMatchObject({
    code: "bad_request",
  });
});

test("the pictures of a guest are compared with those of the account into which they move", async () => {
  const guestId = await addUser(opened.services);
  const bytes = await sample("coffee.png");
  const kept = await add(bytes);
  const other = await add(await sharp(bytes).resize(300).png().toBuffer(), guestId);
  for (const owner of [ownerId, guestId]) expect(await groups(owner)).toEqual([]);
  await mergeGuest(opened.services.db, { guestId, accountId: ownerId, bytesPerUser: 1e9 });
  expect(await groups()).toEqual([[kept, other]]);
});

test("a picture whose thumbnail is missing is like no other and is not looked at again", async () => {
  const facts = { mime: "image/png", widthPx: 1, heightPx: 1, sizeBytes: 1, thumbhash: "" };
  const id = newId();
  await opened.services.db
    .insert(schema.images)
    .values({ ...facts, id, ownerId, role: "upload", storageKey: id, storedSha256: id });
  expect(await comparePictures(opened.services, { ownerId, most: 10 })).toBe(1);
  expect(await comparePictures(opened.services, { ownerId, most: 10 })).toBe(0);
});

test("of many lists at once one compares the new pictures", async () => {
  const bytes = await sample("coffee.png");
  await add(bytes);
  await add(await png(sharp(bytes).resize(200)));
  const { disk } = opened.services;
  const opens = vi.spyOn(disk, "open");
  const lists = await Promise.all(
    Array.from({ length: 20 }, () => listDuplicates(opened.services, { ownerId })),
  );
  expect(lists.map(({ groups: found }) => found.length)).toEqual(Array.from({ length: 20 }, () => 1));
  expect(opens).toHaveBeenCalledTimes(2);
});

/** A series of pictures, each like the eight after it. */
async function addSeries(length: number): Promise<string[]> {
  const { db } = opened.services;
  const ids = Array.from({ length }, () => newId()).toSorted();
  const facts = { mime: "image/png", widthPx: 1, heightPx: 1, sizeBytes: 1, thumbhash: "" };
  await db.insert(schema.images).values(
    ids.map((id) => ({
      ...facts,
      id,
      ownerId,
      role: "upload" as const,
      storageKey: id,
      storedSha256: id,
    })),
  );
  const line = sql`unnest(${sql.param(ids)}::uuid[]) with ordinality`;
  await db.execute(sql`insert into duplicate_pairs (image_id, twin_id, owner_id)
    select one.id, other.id, ${ownerId} from ${line} one (id, at) cross join generate_series(1, 8) step
    join ${line} other (id, at) on other.at = one.at + step`);
  // As the database does by itself after a while.
  await db.execute(sql`analyze images, duplicate_pairs`);
  return ids;
}

/** How often an entry of any map or set was written or looked for meanwhile. */
async function countEntries(work: () => Promise<unknown>): Promise<number> {
  let count = 0;
  const undo = [Map.prototype, Set.prototype].flatMap((kind) =>
    (["set", "add", "has", "get"] as const).flatMap((name) => {
      const own = Object.getOwnPropertyDescriptor(kind, name);
      if (!own) return [];
      const value = function counted(this: unknown, ...values: unknown[]) {
        count += 1;
        return own.value.apply(this, values);
      };
      Object.defineProperty(kind, name, { ...own, value });
      return [() => Object.defineProperty(kind, name, own)];
    }),
  );
  try {
    await work();
  } finally {
    for (const one of undo) one();
  }
  return count;
}

test.each([
  ["alike", false],
  ["whose halves are kept apart", true],
])("a series of thousands of pictures %s costs a few steps for each pair", async (_how, hasDismissed) => {
  const { db } = opened.services;
  const ids = await addSeries(2_500);
  // The first one is like none of every second picture, so that neither are those which are like it.
  const { imageId, twinId } = schema.duplicatePairs;
  const others = hasDismissed ? [1, 3, 5, 7].map((at) => ids[at] ?? "") : [];
  await db
    .update(schema.duplicatePairs)
    .set({ dismissedAt: sql`now()` })
    .where(and(eq(imageId, ids[0] ?? ""), inArray(twinId, others)));
  let found: string[][] = [];
  const count = await countEntries(async () => {
    found = await readIds(db, ownerId);
  });
  expect(found.map(({ length }) => length)).toEqual(hasDismissed ? [50, 50] : [50]);
  expect(found.flat()).toContain(ids.at(-1));
  expect(count).toBeLessThan(20 * 8 * ids.length);
});
