import { addUser } from "@atelier/testing/pictures";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { schema } from "../db/index.ts";
import { newId } from "../platform/index.ts";
import {
  deleteForGood,
  emptyTrash,
  listImages,
  purgeDeleted,
  readUsage,
  removeImages,
  restoreImages,
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

async function addDeleted(ago: string, owner = ownerId): Promise<string> {
  const id = newId();
  const facts = { mime: "image/png", widthPx: 1, heightPx: 1, sizeBytes: 1, thumbhash: "", storedSha256: id };
  const { db } = opened.services;
  await db.insert(schema.images).values({ ...facts, id, ownerId: owner, role: "upload", storageKey: id });
  await removeImages(opened.services, { ownerId: owner, ids: [id] });
  await db
    .update(schema.images)
    .set({ deletedAt: sql`now() - ${ago}::interval` })
    .where(eq(schema.images.id, id));
  return id;
}

const trash = async () =>
  (await listImages(opened.services, { ownerId, search: "is:trashed", stacks: true })).items;
const exists = async (id: string) =>
  (await opened.services.db.$count(schema.images, eq(schema.images.id, id))) > 0;

test("a deleted picture of an account waits for 30 days, uses space and says when it goes", async () => {
  const [kept, over] = [await addDeleted("29 days"), await addDeleted("31 days")];
  expect(await readUsage(opened.services, ownerId)).toMatchObject({ usedBytes: 1 });
  await purgeDeleted(opened.services);
  expect([await exists(kept), await exists(over)]).toEqual([true, false]);
  const [listed] = await trash();
  const days = (Date.parse(listed?.trashedUntil ?? "") - Date.now()) / 86_400_000;
  expect([listed?.id, Math.round(days)]).toEqual([kept, 1]);
  expect(await restoreImages(opened.services, { ownerId, ids: [kept, over] })).toEqual([kept]);
  expect(await trash()).toEqual([]);
});

test("a deleted picture of a guest goes after half an hour", async () => {
  const { db } = opened.services;
  await db.update(schema.users).set({ isAnonymous: true }).where(eq(schema.users.id, ownerId));
  const [kept, over] = [await addDeleted("29 minutes"), await addDeleted("31 minutes")];
  expect(await readUsage(opened.services, ownerId)).toMatchObject({ usedBytes: 1 });
  expect(await restoreImages(opened.services, { ownerId, ids: [over] })).toEqual([]);
  await purgeDeleted(opened.services);
  expect([await exists(kept), await exists(over)]).toEqual([true, false]);
});

test("what is deleted for good uses no space, is in no list, is not restored, and goes with the next purge", async () => {
  const [first, second, third] = [
    await addDeleted("1 day"),
    await addDeleted("1 day"),
    await addDeleted("1 day"),
  ];
  expect(await deleteForGood(opened.services, { ownerId, ids: [first, newId()] })).toEqual([first]);
  expect(await restoreImages(opened.services, { ownerId, ids: [first] })).toEqual([]);
  expect((await trash()).map(({ id }) => id).toSorted()).toEqual([second, third].toSorted());
  expect(await emptyTrash(opened.services, ownerId)).toBe(2);
  expect(await trash()).toEqual([]);
  expect(await readUsage(opened.services, ownerId)).toMatchObject({ usedBytes: 0 });
  await purgeDeleted(opened.services);
  expect([await exists(first), await exists(second)]).toEqual([false, false]);
});

test("S1 the trash of others stays as it is, and a picture that is not in the trash is not deleted for good", async () => {
  const other = await addUser(opened.services);
  const theirs = await addDeleted("1 day", other);
  const live = await addDeleted("1 day");
  await restoreImages(opened.services, { ownerId, ids: [live] });
  expect(await deleteForGood(opened.services, { ownerId, ids: [theirs, live] })).toEqual([]);
  expect(await emptyTrash(opened.services, ownerId)).toBe(0);
  await purgeDeleted(opened.services);
  expect([await exists(theirs), await exists(live)]).toEqual([true, true]);
});
