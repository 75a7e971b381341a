import { addUser } from "@atelier/testing/pictures";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { schema } from "../db/index.ts";
import { listImages, removeImages, restoreImages } from "../images/index.ts";
import { newId } from "../platform/index.ts";
import {
  addToBoard,
  changeBoard,
  countSaved,
  createBoard,
  getBoard,
  listBoards,
  orderBoards,
  purgeBoards,
  removeBoard,
  restoreBoard,
  takeFromBoard,
} from "./index.ts";

let opened: TestServices;
let ownerId: string;
let other: string;

beforeAll(async () => {
  opened = await createTestServices({ config: { retention: { undoDeleteMs: 60_000 } } });
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

const make = (name: string, more: { imageIds?: string[]; search?: string } = {}) =>
  createBoard(opened.services, { ownerId, name, ...more });
const found = async (search: string) =>
  (await listImages(opened.services, { ownerId, search })).items.map(({ id }) => id);

test("a name is taken whichever apostrophe it is written with, and a board may change its own", async () => {
  const { id } = await make("Mum’s");
  for (const name of ["mum's", "Mum‘s", "Mumʼs"])
    await expect(make(name)).rejects.toMatchObject({ code: "conflict" });
  await make("Mum's", { search: "is:upload" });
  expect(await changeBoard(opened.services, { ownerId, id, name: "Mum's" })).toMatchObject({ name: "Mum's" });
});

test("boards stand as their owner ordered them, new ones behind by the alphabet, and nobody else's are touched", async () => {
  const [a, b, c] = [await make("A"), await make("B"), await make("C")];
  const foreign = await createBoard(opened.services, { ownerId: other, name: "Z" });
  const names = async () => (await listBoards(opened.services, { ownerId })).map(({ name }) => name).join("");
  const order = (...boards: { id: string }[]) =>
    orderBoards(opened.services, { ownerId, ids: boards.map(({ id }) => id) });
  expect(await names()).toBe("ABC");
  await order(c, foreign, a, a, b);
  expect(await names()).toBe("CAB");
  await make("0");
  expect(await names()).toBe("CAB0");
  await changeBoard(opened.services, { ownerId, id: c.id, name: "Y" });
  expect(await names()).toBe("YAB0");
  await removeBoard(opened.services, { ownerId, id: a.id });
  await order(b, c);
  expect(await names()).toBe("BY0");
  const [row] = await opened.services.db.select().from(schema.boards).where(eq(schema.boards.id, foreign.id));
  expect(row?.place).toBeNull();
});

test("saved searches say what they find as the gallery shows it, at most 100, and boards do not", async () => {
  const { db } = opened.services;
  const ids = [await addPicture(), await addPicture(), await addPicture()];
  await db
    .update(schema.images)
    .set({ stackId: ids[0] })
    .where(eq(schema.images.id, ids[1] ?? ""));
  await db
    .update(schema.images)
    .set({ createdAt: new Date("2020-01-31T23:00:00Z") })
    .where(eq(schema.images.id, ids[2] ?? ""));
  await make("Board", { imageIds: ids });
  const all = await make("All", { search: "is:upload" });
  const day = await make("Day", { search: "from:2020-02-01 to:2020-02-01" });
  await make("Near", { search: "near:rain" });
  const old = await make("Old", { search: "is:upload" });
  await db.update(schema.boards).set({ search: "is:unknown" }).where(eq(schema.boards.id, old.id));
  const gone = await make("Gone", { search: "is:upload" });
  await removeBoard(opened.services, { ownerId, id: gone.id });
  const count = (timezone?: string) => countSaved(opened.services, { ownerId, timezone });
  const found = (inDay: number, inAll = 2) => [
    { id: all.id, pictures: inAll },
    { id: day.id, pictures: inDay },
  ];
  expect(await count()).toEqual(found(0));
  expect(await count("Europe/Sofia")).toEqual(found(1));
  for (let at = 0; at < 102; at += 1) await addPicture();
  expect(await count()).toEqual(found(0, 100));
  expect(await countSaved(opened.services, { ownerId: other })).toEqual([]);
  expect(await countSaved(opened.services, { ownerId, signal: AbortSignal.abort() })).toEqual([]);
});

test("a saved search that fails leaves out its own count alone", async () => {
  const { services } = opened;
  await addPicture();
  await make("First", { search: "is:upload" });
  const second = await make("Second", { search: "is:upload" });
  let calls = 0;
  const db = new Proxy(services.db, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key);
      if (key !== "execute" || typeof value !== "function") return value;
      return (...input: unknown[]) => {
        calls += 1;
        return calls === 1 ? Promise.reject(new Error("canceling statement")) : value.apply(target, input);
      };
    },
  });
  expect(await countSaved({ ...services, db }, { ownerId })).toEqual([{ id: second.id, pictures: 1 }]);
});

test("a board has the pictures that are put on it once, with at most four covers, and says which came and went", async () => {
  const ids = [];
  for (let at = 0; at < 5; at += 1) ids.push(await addPicture());
  const [first = "", ...rest] = ids;
  const { id } = await make("Summer 2026", { imageIds: [first, await addPicture(other)] });
  const own = { ownerId, userId: ownerId, id };
  expect(await addToBoard(opened.services, { ...own, imageIds: ids })).toHaveLength(4);
  expect(await getBoard(opened.services, own)).toMatchObject({
    name: "Summer 2026",
    pictures: 5,
    search: null,
  });
  expect((await getBoard(opened.services, own)).coverIds).toHaveLength(4);
  expect(await found('board:"summer 2026"')).toHaveLength(5);
  expect(await takeFromBoard(opened.services, { ...own, imageIds: [...rest, newId()] })).toHaveLength(4);
  expect(await found('board:"summer 2026"')).toEqual([first]);
  const [listed] = await listBoards(opened.services, { ownerId, imageIds: ids });
  expect(listed).toMatchObject({ pictures: 1, held: 1, coverIds: [first] });
});

test("a deleted picture is not on its boards until it is restored", async () => {
  const picture = await addPicture();
  const { id } = await make("Autumn", { imageIds: [picture] });
  await removeImages(opened.services, { ownerId, ids: [picture] });
  expect(await getBoard(opened.services, { ownerId, id })).toMatchObject({ pictures: 0, coverIds: [] });
  await restoreImages(opened.services, { ownerId, ids: [picture] });
  expect(await getBoard(opened.services, { ownerId, id })).toMatchObject({ pictures: 1 });
});

test("a removed board comes back with its pictures for a while, and then is gone", async () => {
  const picture = await addPicture();
  const { id } = await make("Autumn", { imageIds: [picture] });
  await removeBoard(opened.services, { ownerId, id });
  expect(await listBoards(opened.services, { ownerId })).toEqual([]);
  expect(await found("board:autumn")).toEqual([]);
  await expect(
    addToBoard(opened.services, { userId: ownerId, id, imageIds: [picture] }),
  ).rejects.toMatchObject({
    code: "not_found",
  });
  expect(await restoreBoard(opened.services, { ownerId, id })).toMatchObject({ pictures: 1 });
  await removeBoard(opened.services, { ownerId, id });
  await opened.services.db
    .update(schema.boards)
    .set({ removedAt: sql`now() - interval '2 minutes'` })
    .where(eq(schema.boards.id, id));
  await expect(restoreBoard(opened.services, { ownerId, id })).rejects.toMatchObject({ code: "not_found" });
  expect(await purgeBoards(opened.services)).toBeGreaterThan(0);
  expect(await found("board:none")).toEqual([picture]);
});

test("of many calls at once that give a board one name, one does", async () => {
  const { id } = await make("Winter");
  const made = await Promise.allSettled([
    ...Array.from({ length: 8 }, () => make("Autumn")),
    changeBoard(opened.services, { ownerId, id, name: "autumn" }),
  ]);
  expect(made.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  const names = (await listBoards(opened.services, { ownerId })).map(({ name }) => name.toLowerCase());
  expect(names.filter((name) => name === "autumn")).toEqual(["autumn"]);
});

test.each([
  ["Autumn", "Autumn 2", "Autumn 2 2"],
  ["🍁".repeat(60), `${"🍁".repeat(58)} 2`, `${"🍁".repeat(58)} 3`],
])("a board that comes back when its name is taken gets a number: %s", async (name, second, third) => {
  const gone = [await make(name), await make(second, { imageIds: [await addPicture()] })];
  for (const { id } of gone) await removeBoard(opened.services, { ownerId, id });
  await make(name);
  await make(name, { search: "is:upload" });
  const restored = [];
  for (const { id } of gone) restored.push(await restoreBoard(opened.services, { ownerId, id }));
  expect(restored).toMatchObject([
    { name: second, pictures: 0 },
    { name: third, pictures: 1 },
  ]);
});

test("a saved search keeps its search, takes no pictures, and gets another one", async () => {
  const picture = await addPicture();
  const { id } = await make("Best", { search: "rating:>=4 dress" });
  expect(await getBoard(opened.services, { ownerId, id })).toMatchObject({
    search: "rating:>=4 dress",
    pictures: null,
  });
  await expect(
    addToBoard(opened.services, { userId: ownerId, id, imageIds: [picture] }),
  ).rejects.toMatchObject({
    code: "bad_request",
  });
  expect(await changeBoard(opened.services, { ownerId, id, search: "is:starred" })).toMatchObject({
    name: "Best",
    search: "is:starred",
  });
});

test("what a board cannot be is refused with the reason", async () => {
  await make("Autumn");
  const board = await make("Winter");
  for (const refused of [
    () => make("none"),
    () => make(" "),
    () => make("x".repeat(61)),
    () => make("Best", { search: "rating:lots" }),
    () => make("Best", { search: "dress", imageIds: [newId()] }),
    () => changeBoard(opened.services, { ownerId, id: board.id, search: "dress" }),
  ])
    await expect(refused()).rejects.toMatchObject({ code: "bad_request" });
  for (const taken of [
    () => make("AUTUMN"),
    () => changeBoard(opened.services, { ownerId, id: board.id, name: "autumn" }),
  ])
    await expect(taken()).rejects.toMatchObject({ code: "conflict" });
  expect(await make("Autumn", { search: "dress" })).toMatchObject({ name: "Autumn" });
  expect(await changeBoard(opened.services, { ownerId, id: board.id, name: "winter" })).toMatchObject({
    name: "winter",
  });
});

test("S1 the boards of others are unknown", async () => {
  const { id } = await make("Autumn");
  const theirs = { ownerId: other, userId: other, id };
  const imageIds = [await addPicture(other)];
  for (const refused of [
    () => getBoard(opened.services, theirs),
    () => changeBoard(opened.services, { ...theirs, name: "Stolen" }),
    () => removeBoard(opened.services, theirs),
    () => restoreBoard(opened.services, theirs),
    () => addToBoard(opened.services, { ...theirs, imageIds }),
    () => takeFromBoard(opened.services, { ...theirs, imageIds }),
  ])
    await expect(refused()).rejects.toMatchObject({ code: "not_found" });
  expect(await listBoards(opened.services, { ownerId: other })).toEqual([]);
});

test("a removed board comes back only while there is room for it", async () => {
  const first = await make("First");
  await removeBoard(opened.services, { ownerId, id: first.id });
  const rows = Array.from({ length: 200 }, (_, at) => ({
    id: newId(),
    ownerId,
    name: `b${at}`,
    key: `b${at}`,
  }));
  await opened.services.db.insert(schema.boards).values(rows);
  const again = () => restoreBoard(opened.services, { ownerId, id: first.id });
  await expect(again()).rejects.toMatchObject({ code: "bad_request" });
  await removeBoard(opened.services, { ownerId, id: rows[0]?.id ?? "" });
  expect(await again()).toMatchObject({ name: "First" });
});
