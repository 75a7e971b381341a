import { addUser } from "@atelier/testing/pictures";
import { createTestServices, emptyEditState, type TestServices } from "@atelier/testing/services";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { schema } from "../db/index.ts";
import type { InputRole } from "../engines.ts";
import { getImage, purgeDeleted, removeImages } from "../images/index.ts";
import { newId } from "../platform/index.ts";
import { type EditState, getEdit, listEdits, removeEdit, saveEdit, saveEditSchema } from "./index.ts";
import { editLimits } from "./state.ts";

const { images } = schema;

let opened: TestServices;
let ownerId: string;
let imageId: string;

beforeAll(async () => {
  opened = await createTestServices({
    config: { retention: { undoDeleteMs: 3_600_000, orphanObjectMs: 7_200_000 } },
  });
});
beforeEach(async () => {
  ownerId = await addUser(opened.services);
  imageId = await addPicture();
});
afterAll(() => opened.close());

async function addPicture(facts: Partial<typeof images.$inferInsert> = {}): Promise<string> {
  const id = newId();
  await opened.services.db.insert(images).values({
    id,
    ownerId,
    role: "upload",
    storageKey: id,
    storedSha256: id,
    mime: "image/png",
    widthPx: 1,
    heightPx: 1,
    sizeBytes: 1,
    thumbhash: "",
    ...facts,
  });
  return id;
}

interface Saving {
  readonly revision: number;
  readonly writer?: string;
  readonly state?: Partial<EditState>;
}

const save = ({ revision, writer = "page one", state = {} }: Saving) =>
  saveEdit(opened.services, {
    ownerId,
    imageId,
    revision,
    writer,
    state: { ...emptyEditState(imageId), ...state },
  });
const read = (id = imageId) => getEdit(opened.services, { ownerId, imageId: id });

const stroke = { mode: "paint", sizePx: 40, points: "8,8,4,4" };

test("an edit is read as it was saved, with kinds of marks and members that this version does not know", async () => {
  const later = { mode: "of a later version", form: { corners: [1, 2] } };
  const state = {
    marks: { [imageId]: [stroke, later] },
    mode: "remove",
    settings: { remove: { grow: 4 } },
    extra: 1,
  };
  const parsed = saveEditSchema.parse({
    imageId,
    revision: 0,
    writer: "page one",
    state: { ...emptyEditState(imageId), ...state },
  });
  expect(await read()).toBeNull();
  await saveEdit(opened.services, { ...parsed, ownerId });
  expect(await read()).toMatchObject({ imageId, revision: 1, state });
});

test("of two writers of one revision the later is told by name, and nothing of the first is lost", async () => {
  await save({ revision: 0 });
  const outcomes = await Promise.allSettled([
    save({ revision: 1, state: { mode: "first" } }),
    save({ revision: 1, writer: "page two", state: { mode: "second" } }),
  ]);
  const refused = outcomes.find(({ status }) => status === "rejected");
  expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  expect(refused).toMatchObject({ reason: { code: "conflict", details: { revision: 2 } } });
  const stored = await read();
  expect(stored?.state.mode).toBe(outcomes[0].status === "fulfilled" ? "first" : "second");
});

test("a save whose answer was lost is no conflict with itself, and is one with another page", async () => {
  await save({ revision: 0 });
  await save({ revision: 1 });
  expect(await save({ revision: 1, state: { mode: "newer" } })).toMatchObject({ revision: 3 });
  await save({ revision: 3, writer: "page two" });
  await expect(save({ revision: 3 })).rejects.toMatchObject({ code: "conflict" });
});

test("a save that was made from a revision of an edit that is removed stores nothing", async () => {
  const { id } = await save({ revision: 0 });
  await save({ revision: 1 });
  await removeEdit(opened.services, { ownerId, id });
  for (const revision of [1, 2])
    await expect(save({ revision })).rejects.toMatchObject({ code: "conflict", details: { revision: 0 } });
  expect(await read()).toBeNull();
  expect(await save({ revision: 0 })).toMatchObject({ revision: 1 });
});

test("an edit is found by each of its versions, and by its first picture before all", async () => {
  const versionId = await addPicture();
  const versions = [
    { imageId, parentId: null },
    { imageId: versionId, parentId: imageId },
  ];
  await save({ revision: 0, state: { versions, currentId: versionId } });
  expect((await read(versionId))?.imageId).toBe(imageId);
  const state = emptyEditState(versionId);
  await saveEdit(opened.services, { ownerId, imageId: versionId, revision: 0, writer: "page one", state });
  expect((await read(versionId))?.imageId).toBe(versionId);
  expect(
    (await listEdits(opened.services, { ownerId, limit: 50 })).items.map((item) => item.versions),
  ).toEqual([1, 2]);
  const first = await listEdits(opened.services, { ownerId, limit: 1 });
  const rest = await listEdits(opened.services, { ownerId, limit: 1, cursor: first.nextCursor ?? "" });
  expect([...first.items, ...rest.items].map((item) => item.imageId)).toEqual([versionId, imageId]);
  expect(rest.nextCursor).toBeNull();
});

test("another's, a deleted and an unknown picture have no edit, and a state that is too large says by how much", async () => {
  const own = { revision: 0, writer: "page one", state: emptyEditState(imageId) };
  const stranger = await addUser(opened.services);
  const foreign = saveEdit(opened.services, { ...own, imageId, ownerId: stranger });
  await expect(foreign).rejects.toMatchObject({ code: "not_found" });
  await save({ revision: 0 });
  expect(await getEdit(opened.services, { ownerId: stranger, imageId })).toBeNull();
  const marks = { [imageId]: [{ ...stroke, points: "1".repeat(editLimits.stateBytes) }] };
  await expect(save({ revision: 1, state: { marks } })).rejects.toMatchObject({
    code: "request_too_large",
    details: { limitBytes: editLimits.stateBytes },
  });
  await removeImages(opened.services, { ownerId, ids: [imageId] });
  await expect(save({ revision: 1 })).rejects.toMatchObject({ code: "not_found" });
});

test.each([
  [
    "a child before its parent",
    (id: string, other: string) => [
      [other, id],
      [id, null],
    ],
  ],
  [
    "two roots",
    (id: string, other: string) => [
      [id, null],
      [other, null],
    ],
  ],
  [
    "one picture twice",
    (id: string) => [
      [id, null],
      [id, id],
    ],
  ],
])("versions that are no tree are refused: %s", (_name, make) => {
  const versions = make(imageId, newId()).map(([version, parentId]) => ({ imageId: version, parentId }));
  const state = { ...emptyEditState(imageId), versions };
  expect(saveEditSchema.safeParse({ imageId, revision: 0, writer: "page one", state }).success).toBe(false);
});

test("a mask that an edit names is kept until the edit is gone or names it no more", async () => {
  const createdAt = new Date(0);
  const [named, dropped] = [
    await addPicture({ role: "mask", createdAt }),
    await addPicture({ role: "mask", createdAt }),
  ];
  const { id } = await save({ revision: 0, state: { maskIds: [named, dropped] } });
  await save({ revision: 1, state: { maskIds: [named] } });
  await purgeDeleted(opened.services);
  const left = async () =>
    (await opened.services.db.select({ id: images.id }).from(images).where(eq(images.role, "mask"))).map(
      (mask) => mask.id,
    );
  expect(await left()).toEqual([named]);
  await removeEdit(opened.services, { ownerId, id });
  await purgeDeleted(opened.services);
  expect(await left()).toEqual([]);
});

test("a result is on the stack of the first picture that it was made of, else on that of its batch", async () => {
  const { services } = opened;
  const base = await addPicture();
  const resultOf = async (inputs: readonly [InputRole, string][], batchId?: string) => {
    const jobId = newId();
    await services.db.insert(schema.jobs).values({
      id: jobId,
      ownerId,
      kind: "edit",
      status: "completed",
      tier: 1,
      params: {},
      queue: "cpu-light",
      engine: "local",
      need: "local/upscale",
    });
    const links = inputs.map(([role, input]) => ({ jobId, role, imageId: input }));
    await services.db.insert(schema.jobInputs).values(links);
    if (batchId !== undefined)
      await services.db.insert(schema.batchJobs).values({ batchId, jobId, position: 0 });
    return addPicture({ role: "result", jobId });
  };
  const stackOf = async (id: string) => (await getImage(services, { ownerId, id })).stackId;
  const second = await resultOf([["image", base]]);
  const third = await resultOf([
    ["image", second],
    ["mask", imageId],
  ]);
  expect(await Promise.all([base, second, third].map(stackOf))).toEqual([base, base, base]);
  const batchId = newId();
  await services.db.insert(schema.batches).values({ id: batchId, ownerId, size: 1 });
  const cell = await resultOf([["person", base]], batchId);
  expect(await stackOf(cell)).toBe(batchId);
  expect(await stackOf(await resultOf([["image", cell]]))).toBe(batchId);
});

test("a picture that was only turned stands where it stood, with its marks, tags and boards; a part of it does not", async () => {
  const { services } = opened;
  const { db } = services;
  const createdAt = new Date("2016-07-02T10:00:00Z");
  const marks = {
    title: "Lake",
    description: "A lake",
    describedBy: "owner",
    rating: 4,
    starred: true,
    toppedAt: new Date("2026-01-01T00:00:00Z"),
  } as const;
  const source = await addPicture({ ...marks, createdAt });
  const [tagId, boardId] = [newId(), newId()];
  await db.insert(schema.tags).values({ id: tagId, ownerId, name: "lake", key: "lake" });
  await db.insert(schema.imageTags).values({ tagId, imageId: source });
  await db.insert(schema.boards).values({ id: boardId, ownerId, name: "Trip", key: "trip" });
  const addedAt = new Date("2026-02-02T00:00:00Z");
  await db.insert(schema.boardImages).values({ boardId, imageId: source, addedAt });
  const cropOf = async (params: Record<string, unknown>) => {
    const jobId = newId();
    await db.insert(schema.jobs).values({
      id: jobId,
      ownerId,
      kind: "crop",
      status: "completed",
      tier: 1,
      params,
      queue: "cpu-light",
      engine: "local",
      need: "local/crop",
    });
    await db.insert(schema.jobInputs).values({ jobId, role: "image", imageId: source });
    const id = await addPicture({ role: "result", jobId });
    const [row] = await db.select().from(images).where(eq(images.id, id));
    const onBoards = await db
      .select({ boardId: schema.boardImages.boardId, addedAt: schema.boardImages.addedAt })
      .from(schema.boardImages)
      .where(eq(schema.boardImages.imageId, id));
    return { row, onBoards, view: await getImage(services, { ownerId, id }) };
  };
  const { title, description, describedBy, rating, starred } = marks;
  const kept = { title, description, describedBy, rating, starred };
  for (const params of [
    { turns: 1, mirror: false, angle: 0 },
    { turns: 3 },
    { turns: 0, mirror: true, angle: 0 },
  ]) {
    const { row, onBoards, view } = await cropOf(params);
    expect(row).toMatchObject({ ...kept, createdAt, stackId: source });
    expect(Number(row?.toppedAt)).toBeGreaterThan(Number(marks.toppedAt));
    expect(Date.parse(view.addedAt)).toBeGreaterThan(Date.now() - 60_000);
    expect(view.tags).toEqual(["lake"]);
    expect(onBoards).toEqual([{ boardId, addedAt }]);
  }
  for (const params of [
    { turns: 1, rect: { left: 0, top: 0, width: 1, height: 1 } },
    { turns: 1, shape: "4:5" },
    { turns: 1, angle: 2 },
  ]) {
    const { row, onBoards, view } = await cropOf(params);
    expect(row).toMatchObject({ title: "", rating: 0, starred: false, toppedAt: null, stackId: source });
    expect(row?.createdAt.getTime()).toBeGreaterThan(Date.now() - 60_000);
    expect(view.tags).toEqual([]);
    expect(onBoards).toEqual([]);
  }
});
