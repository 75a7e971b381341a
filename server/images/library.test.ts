import { addUser } from "@atelier/testing/pictures";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { eq, sql } from "drizzle-orm";
import sharp from "sharp";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { schema } from "../db/index.ts";
import type { JobKind } from "../engines.ts";
import { newId } from "../platform/index.ts";
import {
  getImage,
  getImages,
  ingest,
  listImages,
  removeImages,
  restoreImages,
  changeImage,
  type ListImagesInput,
} from "./index.ts";

let opened: TestServices;
let ownerId: string;
let other: string;

beforeAll(async () => {
  opened = await createTestServices({ config: { retention: { trashMs: 60_000, undoDeleteMs: 60_000 } } });
});
beforeEach(async () => {
  ownerId = await addUser(opened.services);
  other = await addUser(opened.services);
});
afterAll(() => opened.close());

interface RowFacts {
  readonly title?: string;
  readonly kind?: JobKind;
  readonly createdAt?: Date;
  readonly role?: "upload" | "result" | "mask";
  readonly stackId?: string;
}

/** A row without objects, which lists never touch. */
async function addRow(
  { title = "", kind, createdAt, role, stackId }: RowFacts = {},
  owner = ownerId,
): Promise<string> {
  const id = newId();
  const jobId = kind ? await addJob(kind, owner) : null;
  const facts = { mime: "image/png", widthPx: 1, heightPx: 1, sizeBytes: 1, thumbhash: "", storedSha256: id };
  await opened.services.db.insert(schema.images).values({
    ...facts,
    id,
    title,
    jobId,
    ownerId: owner,
    role: role ?? (kind ? "result" : "upload"),
    storageKey: id,
    stackId: stackId ?? null,
    ...(createdAt ? { createdAt } : {}),
  });
  return id;
}

async function addJob(kind: JobKind, owner: string): Promise<string> {
  const id = newId();
  await opened.services.db.insert(schema.jobs).values({
    id,
    kind,
    ownerId: owner,
    status: "completed",
    tier: 1,
    params: {},
    queue: "cpu-light",
    engine: "local",
    need: "local/upscale",
  });
  return id;
}

const idsOf = async (input: Omit<ListImagesInput, "ownerId"> = {}) =>
  (await listImages(opened.services, { ownerId, ...input })).items.map(({ id }) => id);

test("A15 a list is newest first and its pages join without gap or repeat, also while pictures come in", async () => {
  const ids: string[] = [];
  for (let at = 0; at < 25; at += 1) ids.unshift(await addRow());
  await addRow({}, other);
  const seen: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await listImages(opened.services, { ownerId, limit: 7, cursor });
    seen.push(...page.items.map(({ id }) => id));
    await addRow();
    cursor = page.nextCursor ?? undefined;
  } while (cursor);
  expect(seen).toEqual(ids);
});

test("a page that is just full says that it is the last", async () => {
  await addRow();
  await addRow();
  expect((await listImages(opened.services, { ownerId, limit: 2 })).nextCursor).toBeNull();
  expect((await listImages(opened.services, { ownerId, limit: 1 })).nextCursor).not.toBeNull();
});

test.each(["x", "bm90IGFuIGlk", "'; drop table images; --"])("the cursor %j is refused", async (cursor) => {
  await expect(idsOf({ cursor })).rejects.toMatchObject({ code: "bad_request" });
});

test("of a stack the newest picture that the filters let through is listed, with the number of all", async () => {
  const base = await addRow();
  const alone = await addRow();
  const made = await addRow({ kind: "upscale", stackId: base });
  const newest = await addRow({ kind: "edit", stackId: base });
  const page = async (input: Omit<ListImagesInput, "ownerId">) =>
    (await listImages(opened.services, { ownerId, stacks: true, ...input })).items.map(
      ({ id, stackSize }) => [id, stackSize],
    );
  expect(await page({})).toEqual([
    [newest, 3],
    [alone, 1],
  ]);
  expect(await page({ kind: "upscale" })).toEqual([[made, 3]]);
  expect(await page({ role: "upload" })).toEqual([
    [alone, 1],
    [base, 3],
  ]);
  expect(await idsOf({ stackId: base })).toEqual([newest, made, base]);
  await removeImages(opened.services, { ownerId, ids: [newest] });
  expect(await page({})).toEqual([
    [made, 2],
    [alone, 1],
  ]);
  const first = await listImages(opened.services, { ownerId, stacks: true, limit: 1 });
  expect(await page({ cursor: first.nextCursor ?? "" })).toEqual([[alone, 1]]);
});

test("filters narrow a list by role, kind, star and time", async () => {
  const old = await addRow({ createdAt: new Date("2026-01-05T12:00:00Z") });
  const upload = await addRow();
  const result = await addRow({ kind: "upscale" });
  await addRow({ role: "mask" });
  await changeImage(opened.services, { ownerId, id: upload, starred: true });
  expect(await idsOf()).toEqual([result, upload, old]);
  expect(await idsOf({ role: "result" })).toEqual([result]);
  expect(await idsOf({ role: "upload" })).toEqual([upload, old]);
  expect(await idsOf({ kind: "upscale" })).toEqual([result]);
  expect(await idsOf({ kind: "inpaint" })).toEqual([]);
  expect(await idsOf({ starred: true })).toEqual([upload]);
  expect(await idsOf({ starred: false })).toEqual([result, old]);
  expect(await idsOf({ to: new Date("2026-01-06T00:00:00Z") })).toEqual([old]);
  expect(await idsOf({ from: new Date("2026-01-06T00:00:00Z") })).toEqual([result, upload]);
});

test("search finds parts of titles and kinds; its signs mean themselves", async () => {
  const dress = await addRow({ title: "Summer Dress" });
  const percent = await addRow({ title: "100% wool_x" });
  const outfit = await addRow({ kind: "outfit_change" });
  expect(await idsOf({ search: "dress" })).toEqual([dress]);
  expect(await idsOf({ search: "%" })).toEqual([percent]);
  expect(await idsOf({ search: "l_x" })).toEqual([percent]);
  expect(await idsOf({ search: "m_D" })).toEqual([]);
  expect(await idsOf({ search: "outfit ch" })).toEqual([outfit]);
  expect(await idsOf({ search: "\\" })).toEqual([]);
  expect(await idsOf({ search: "a\0b\uD800" })).toEqual([]);
});

test("a result names its job and that job's kind", async () => {
  const id = await addRow({ kind: "inpaint" });
  const view = await getImage(opened.services, { ownerId, id });
  expect(view).toMatchObject({ kind: "inpaint", jobId: expect.any(String), role: "result" });
});

test("titles are cleaned when a picture is renamed", async () => {
  const id = await addRow();
  expect(await changeImage(opened.services, { ownerId, id, title: " a\u202Eb\0\n c " })).toMatchObject({
    title: "ab c",
  });
});

test("a description is its owner's once they change it, also an empty one; the same words change nothing", async () => {
  const { db } = opened.services;
  const id = await addRow();
  const who = async () => {
    const rows = await db.select().from(schema.images).where(eq(schema.images.id, id));
    return rows.map(({ description, describedBy }) => [description, describedBy])[0];
  };
  expect(await who()).toEqual(["", null]);
  await changeImage(opened.services, { ownerId, id, description: " \n" });
  expect(await who()).toEqual(["", null]);
  await db.update(schema.images).set({ description: "of the file", describedBy: "file" });
  await changeImage(opened.services, { ownerId, id, description: "of the file", rating: 2 });
  expect(await who()).toEqual(["of the file", "file"]);
  const changed = await changeImage(opened.services, { ownerId, id, description: "Mine,\ntwo lines" });
  expect(changed).toMatchObject({ description: "Mine,\ntwo lines", rating: 2 });
  expect(await who()).toEqual(["Mine,\ntwo lines", "owner"]);
  await changeImage(opened.services, { ownerId, id, description: "" });
  expect(await who()).toEqual(["", "owner"]);
});

test("several pictures are read in the order that is asked for, and none where one is missing", async () => {
  const ids = [await addRow({ title: "a" }), await addRow({ title: "b" }), await addRow({ title: "c" })];
  const [a = "", b = "", c = ""] = ids;
  const read = (...asked: string[]) => getImages(opened.services, { ownerId, ids: asked });
  expect((await read(c, a.toUpperCase(), b)).map(({ title }) => title)).toEqual(["c", "a", "b"]);
  expect(await read(b)).toEqual([await getImage(opened.services, { ownerId, id: b })]);
  expect(await read()).toEqual([]);
  await removeImages(opened.services, { ownerId, ids: [c] });
  for (const missing of [c, newId(), "none", await addRow({}, other)])
    await expect(read(a, missing)).rejects.toMatchObject({ code: "not_found" });
});

test("S1 another's, a deleted and an unknown picture answer alike to every verb", async () => {
  const foreign = await addRow({}, other);
  const gone = await addRow();
  await removeImages(opened.services, { ownerId, ids: [gone] });
  for (const id of [foreign, gone, newId(), "no-id", "' or true --"]) {
    const own = { ownerId, id };
    await expect(getImage(opened.services, own)).rejects.toMatchObject({ code: "not_found" });
    await expect(changeImage(opened.services, { ...own, starred: true })).rejects.toMatchObject({
      code: "not_found",
    });
    for (const change of [{ title: "x" }, { description: "x" }])
      await expect(changeImage(opened.services, { ...own, ...change })).rejects.toMatchObject({
        code: "not_found",
      });
    expect(await removeImages(opened.services, { ownerId, ids: [id] })).toEqual([]);
  }
  expect(await getImage(opened.services, { ownerId: other, id: foreign })).toMatchObject({
    starred: false,
    title: "",
    description: "",
  });
});

test("many pictures are removed and restored at once, only own ones", async () => {
  const own = [await addRow(), await addRow(), await addRow()];
  const foreign = await addRow({}, other);
  expect((await removeImages(opened.services, { ownerId, ids: [...own, foreign] })).sort()).toEqual(
    [...own].sort(),
  );
  expect(await idsOf()).toEqual([]);
  expect(await restoreImages(opened.services, { ownerId: other, ids: own })).toEqual([]);
  expect(
    await restoreImages(opened.services, { ownerId, ids: [own[0] ?? "", own[2] ?? "", foreign] }),
  ).toEqual([own[0], own[2]]);
  expect(await idsOf()).toEqual([own[2], own[0]]);
});

test("a deletion can be taken back within its time only", async () => {
  const id = await addRow();
  await removeImages(opened.services, { ownerId, ids: [id] });
  const { images } = schema;
  await opened.services.db
    .update(images)
    .set({ deletedAt: sql`now() - interval '61 seconds'` })
    .where(eq(images.id, id));
  expect(await restoreImages(opened.services, { ownerId, ids: [id] })).toEqual([]);
});

test("of the same bytes deleted and uploaded anew one stays: the older is not restored beside it", async () => {
  const bytes = await sharp({ create: { width: 9, height: 9, channels: 3, background: "red" } })
    .png()
    .toBuffer();
  const send = async () => (await ingest(opened.services, { ownerId, role: "upload", bytes })).id;
  const first = await send();
  await removeImages(opened.services, { ownerId, ids: [first] });
  const second = await send();
  expect(second).not.toBe(first);
  expect(await restoreImages(opened.services, { ownerId, ids: [first] })).toEqual([]);
  await removeImages(opened.services, { ownerId, ids: [second] });
  expect(await restoreImages(opened.services, { ownerId, ids: [second, first] })).toEqual([second]);
  expect(await idsOf()).toEqual([second]);
});
