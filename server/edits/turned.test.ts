import { addUser } from "@atelier/testing/pictures";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { addToBoard, getSharedBoard, listSharedPictures, takeFromBoard } from "../boards/index.ts";
import { schema } from "../db/index.ts";
import { getImage, purgeImages, removeImages, restoreImages } from "../images/index.ts";
import { createLink, createLinkSchema, getLink } from "../links/index.ts";
import { newId } from "../platform/index.ts";

const { boardImages, boardMembers, boards, images, jobs, users } = schema;

let opened: TestServices;
let ownerId: string;
let source: string;
let tagId: string;

beforeAll(async () => {
  opened = await createTestServices();
});
beforeEach(async () => {
  const { db } = opened.services;
  ownerId = await addUser(opened.services);
  tagId = newId();
  source = await addPicture({
    title: "Lake",
    rating: 4,
    starred: true,
    createdAt: new Date("2016-07-02T10:00:00Z"),
  });
  await db.insert(schema.tags).values({ id: tagId, ownerId, name: "lake", key: "lake" });
  await db.insert(schema.imageTags).values({ tagId, imageId: source });
});
afterAll(() => opened.close());

async function addPicture(facts: Partial<typeof images.$inferInsert> = {}): Promise<string> {
  const id = newId();
  const file = { mime: "image/png", widthPx: 1, heightPx: 1, sizeBytes: 1, thumbhash: "" };
  await opened.services.db
    .insert(images)
    .values({ id, ownerId, role: "upload", storageKey: id, storedSha256: id, ...file, ...facts });
  return id;
}

/** A board of another person, or of the picture's owner, with the picture on it. */
async function addBoard(of: string, right?: "add" | "see"): Promise<string> {
  const { db } = opened.services;
  const id = newId();
  await db.insert(boards).values({ id, ownerId: of, name: id, key: id });
  await db.insert(boardImages).values({ boardId: id, imageId: source });
  if (right) await db.insert(boardMembers).values({ boardId: id, userId: ownerId, right });
  return id;
}

async function turn(facts: Partial<typeof jobs.$inferInsert> = {}) {
  const { services } = opened;
  const { db } = services;
  const jobId = newId();
  const place = { tier: 1, queue: "cpu-light", engine: "local", need: "local/crop" } as const;
  await db.insert(jobs).values({
    id: jobId,
    ownerId,
    kind: "crop",
    status: "completed",
    params: { turns: 1 },
    ...place,
    ...facts,
  });
  await db.insert(schema.jobInputs).values({ jobId, role: "image", imageId: source });
  const id = await addPicture({ role: "result", jobId });
  const on = await db
    .select({ id: boardImages.boardId })
    .from(boardImages)
    .where(eq(boardImages.imageId, id));
  return { id, jobId, on: on.map((board) => board.id), view: await getImage(services, { ownerId, id }) };
}

test("a turned picture comes onto those boards alone that its owner may put pictures on", async () => {
  const { db } = opened.services;
  const [other, suspended] = [await addUser(opened.services), await addUser(opened.services)];
  const allowed = [await addBoard(ownerId), await addBoard(other, "add")];
  const removed = await addBoard(other, "add");
  await addBoard(other, "see");
  await addBoard(other);
  await addBoard(suspended, "add");
  await db
    .update(boards)
    .set({ removedAt: sql`now()` })
    .where(eq(boards.id, removed));
  await db.update(users).set({ banned: true }).where(eq(users.id, suspended));
  expect((await turn()).on.toSorted()).toEqual(allowed.toSorted());
  const yesterday = sql`now() - interval '1 day'`;
  await db.update(users).set({ banExpires: yesterday }).where(eq(users.id, suspended));
  expect((await turn()).on).toHaveLength(3);
});

test("others see a turned picture in place of the one it was, and it is taken off a board with that", async () => {
  const { services } = opened;
  const other = await addUser(services);
  const id = await addBoard(other, "add");
  const own = await addBoard(ownerId);
  const board = { userId: other, id };
  const shown = async () =>
    (await listSharedPictures(services, { ...board, limit: 9 })).items.map((item) => item.id);
  const link = await createLink(services, { ...createLinkSchema.parse({ boardId: own }), ownerId });
  const linked = async () => (await getLink(services, { ownerId, id: link.id })).pictures;
  expect([await shown(), await linked()]).toEqual([[source], 1]);
  const once = await turn();
  expect([await shown(), await linked()]).toEqual([[once.id], 1]);
  // Undo, and back again.
  await removeImages(services, { ownerId, ids: [once.id] });
  expect([await shown(), await linked()]).toEqual([[source], 1]);
  await restoreImages(services, { ownerId, ids: [once.id] });
  const before = source;
  source = once.id;
  const twice = await turn();
  expect(await shown()).toEqual([twice.id]);
  expect(await getSharedBoard(services, board)).toMatchObject({ pictures: 1, coverIds: [twice.id] });
  const member = { userId: ownerId, id };
  const taken = await takeFromBoard(services, { ...member, imageIds: [twice.id] });
  expect(taken.toSorted()).toEqual([before, once.id, twice.id].toSorted());
  expect(await shown()).toEqual([]);
  await addToBoard(services, { ...member, imageIds: taken });
  expect(await shown()).toEqual([twice.id]);
  // One that was put there by itself stands beside, and goes alone.
  await takeFromBoard(services, { ...member, imageIds: taken });
  await addToBoard(services, { ...member, imageIds: [before] });
  await addToBoard(services, { ...member, imageIds: [once.id] });
  expect(await shown()).toEqual([once.id, before]);
  expect(await takeFromBoard(services, { ...member, imageIds: [once.id] })).toEqual([once.id]);
  expect([await shown(), await linked()]).toEqual([[before], 1]);
});

test("what an ephemeral turn makes has nothing that keeps it when its job goes", async () => {
  const { services } = opened;
  await addBoard(ownerId);
  const { id, jobId, on, view } = await turn({ retention: "ephemeral" });
  expect(view).toMatchObject({ title: "", rating: 0, starred: false, tags: [] });
  expect(on).toEqual([]);
  await services.db.delete(jobs).where(eq(jobs.id, jobId));
  expect(await purgeImages(services, [id])).toBe(1);
  expect(await services.db.$count(images, eq(images.id, source))).toBe(1);
});

test("a picture that was deleted while it was turned gives neither its marks nor its places to the result", async () => {
  const { db } = opened.services;
  await addBoard(ownerId);
  await db
    .update(images)
    .set({ deletedAt: sql`now()` })
    .where(eq(images.id, source));
  const { on, view } = await turn();
  expect(view).toMatchObject({ title: "", rating: 0, starred: false, tags: [], stackId: source });
  expect(Date.parse(view.createdAt)).toBeGreaterThan(Date.now() - 60_000);
  expect(on).toEqual([]);
});
