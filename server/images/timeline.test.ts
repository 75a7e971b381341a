import { addUser } from "@atelier/testing/pictures";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { schema } from "../db/index.ts";
import { newId } from "../platform/index.ts";
import { countMonths, listImages, type ListImagesInput, removeImages, restoreImages } from "./index.ts";

let opened: TestServices;
let ownerId: string;

beforeAll(async () => {
  opened = await createTestServices();
});
beforeEach(async () => {
  ownerId = await addUser(opened.services);
});
afterAll(() => opened.close());

interface Facts {
  readonly role?: "upload" | "mask";
  readonly stackId?: string;
  readonly title?: string;
}

async function addPicture(createdAt: string, { role = "upload", stackId, title = "" }: Facts = {}) {
  const id = newId();
  const facts = { mime: "image/webp", widthPx: 4, heightPx: 3, sizeBytes: 1, thumbhash: "" };
  const names = { storedSha256: id, storageKey: id, title, stackId: stackId ?? null };
  await opened.services.db
    .insert(schema.images)
    .values({ ...facts, ...names, id, ownerId, role, createdAt: new Date(createdAt) });
  return id;
}

const page = async (input: Omit<ListImagesInput, "ownerId">) =>
  listImages(opened.services, { stacks: true, ...input, ownerId });
const idsOf = ({ items }: Awaited<ReturnType<typeof listImages>>) => items.map(({ id }) => id);

/** Months as the list itself has them. */
async function monthsOfList(search?: string) {
  const { items } = await page({ search, limit: 100 });
  const months = [...new Set(items.map(({ createdAt }) => createdAt.slice(0, 7)))];
  return months.map((month) => ({
    month,
    pictures: items.filter(({ createdAt }) => createdAt.startsWith(month)).length,
  }));
}

test("months count what the list shows: each stack once, by its newest picture, without masks and the trash", async () => {
  const first = await addPicture("2026-01-31T23:59:59Z");
  await addPicture("2026-02-01T00:00:00Z", { title: "window" });
  await addPicture("2026-02-11T00:00:00Z", { role: "mask" });
  const top = await addPicture("2026-03-05T00:00:00Z", { stackId: first, title: "window" });
  const gone = await addPicture("2026-04-05T00:00:00Z");
  await removeImages(opened.services, { ownerId, ids: [gone] });
  const count = (search?: string) => countMonths(opened.services, { ownerId, search });
  expect(await count()).toEqual([
    { month: "2026-03", pictures: 1 },
    { month: "2026-02", pictures: 1 },
  ]);
  expect(await count()).toEqual(await monthsOfList());
  await removeImages(opened.services, { ownerId, ids: [top] });
  expect(await count()).toEqual(await monthsOfList());
  expect((await count())?.at(-1)).toEqual({ month: "2026-01", pictures: 1 });
  await restoreImages(opened.services, { ownerId, ids: [top, gone] });
  expect(await count()).toEqual(await monthsOfList());
  expect(await count("window")).toEqual(await monthsOfList("window"));
  expect(await count("-window")).toEqual(await monthsOfList("-window"));
  expect(await count("is:trashed")).toBeNull();
  await expect(count("rating:many")).rejects.toMatchObject({ code: "bad_request" });
});

test("a list is read from a moment on in both directions, and a jump changes no stack", async () => {
  const days = Array.from({ length: 9 }, (_, day) => `2026-05-0${9 - day}T12:00:00Z`);
  const ids: string[] = [];
  for (const day of days) ids.push(await addPicture(day));
  // On the stack of the oldest: the list shows it, and not the oldest.
  ids.unshift(await addPicture("2026-06-01T00:00:00Z", { stackId: String(ids.pop()) }));
  const jump = { from: new Date("2026-05-01"), before: new Date("2026-05-06"), skip: 0 };
  const landed = await page({ jump, limit: 2 });
  expect(idsOf(landed)).toEqual(ids.slice(5, 7));
  const older = await page({ cursor: String(landed.nextCursor), limit: 100 });
  expect(idsOf(older)).toEqual(ids.slice(7));
  expect(older.nextCursor).toBeNull();
  const newer = await page({ cursor: String(landed.previousCursor), newer: true, limit: 2 });
  expect(idsOf(newer)).toEqual(ids.slice(3, 5));
  expect(idsOf(await page({ cursor: String(newer.nextCursor), limit: 2 }))).toEqual(ids.slice(5, 7));
  const newest = await page({ cursor: String(newer.previousCursor), newer: true, limit: 100 });
  expect(idsOf(newest)).toEqual(ids.slice(0, 3));
  expect(newest.previousCursor).toBeNull();
  expect((await page({ limit: 100 })).previousCursor).toBeNull();
  expect(idsOf(await page({ jump: { ...jump, skip: 3 }, limit: 100 }))).toEqual(ids.slice(8));
  expect(idsOf(await page({ jump: { ...jump, skip: 99 }, limit: 100 }))).toEqual([]);
});
