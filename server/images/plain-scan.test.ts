import { addUser } from "@atelier/testing/pictures";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { ne } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { schema } from "../db/index.ts";
import { newId } from "../platform/index.ts";
import { listImages, searchImages } from "./index.ts";
import { encodeCursor } from "./place.ts";
import { type ListOrder, listOrders } from "./query.ts";
import { fillSearchTexts, searchForm, searchKey, textForm } from "./search-text.ts";
import { findSome } from "./some.ts";

let opened: TestServices;
let ownerId: string;
let pictures: readonly Picture[];

/** A row with what else a search asks of it. */
type Picture = Pick<
  typeof schema.images.$inferSelect,
  | "createdAt"
  | "deletedAt"
  | "id"
  | "rating"
  | "role"
  | "searchKey"
  | "sizeBytes"
  | "stackId"
  | "starred"
  | "toppedAt"
> & { readonly tag: string | null; readonly board: string | null };

/** The same numbers from 0 to 1 for the same seed. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
const random = createRandom(20_261_129);
const pick = <Item>(items: readonly Item[]): Item => {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new Error("nothing to pick from");
  return item;
};
const some = <Item>(most: number, items: readonly Item[]): Item[] =>
  Array.from({ length: 1 + Math.floor(random() * most) }, () => pick(items));

const vocabulary =
  "window dress rain train snow cat cathedral of qj qjx ыqj (qj) qj- x.qj a-b 4k Łódź роза море 灯塔 鲸 夕阳 かな 한국 ภาพ شمس שלום चित्र café ünlü 👩‍🎨 100%_ o’clock".split(
    " ",
  );
const names = ["alpha", "бета", "灯"];
const count = 150;

beforeAll(async () => {
  opened = await createTestServices();
  const { db } = opened.services;
  ownerId = await addUser(opened.services);
  const named = () => names.map((name) => ({ id: newId(), ownerId, name, key: searchForm(name) }));
  const [tags, boards] = [named(), named()];
  await db.insert(schema.tags).values(tags);
  await db.insert(schema.boards).values(boards);
  const facts = { mime: "image/webp", widthPx: 4, heightPx: 3, thumbhash: "", ownerId };
  const stacks = Array.from({ length: 12 }, () => newId());
  const rows = Array.from({ length: count }, () => {
    const id = newId();
    return {
      ...facts,
      id,
      storedSha256: id,
      storageKey: id,
      title: some(7, vocabulary).join(" "),
      role: pick<"mask" | "upload">(random() < 0.05 ? ["mask"] : ["upload"]),
      stackId: random() < 0.5 ? pick(stacks) : null,
      // Several are as large as others, and some larger than 4 GB.
      sizeBytes: Math.floor(random() * 30) * 200_000_000,
      // Several have the same time, on both sides of a month.
      createdAt: new Date(Date.UTC(2026, 0, 25) + Math.floor(random() * 20) * 86_400_000),
      deletedAt: random() < 0.15 ? new Date() : null,
      starred: random() < 0.3,
      // Several of a stack, also at the same time.
      toppedAt: random() < 0.2 ? new Date(Date.UTC(2026, 5, 1 + Math.floor(random() * 3))) : null,
      rating: Math.max(0, Math.floor(random() * 9) - 3),
    };
  });
  await db.insert(schema.images).values(rows);
  const placed = rows.map(({ id }) => ({ id, tag: pick([null, ...names]), board: pick([null, ...names]) }));
  const idOf = (list: readonly { readonly id: string; readonly name: string }[], name: string) =>
    list.filter((each) => each.name === name).map(({ id }) => id);
  const tagged = placed.flatMap(({ id: imageId, tag }) =>
    idOf(tags, tag ?? "").map((tagId) => ({ imageId, tagId })),
  );
  const boarded = placed.flatMap(({ id: imageId, board }) =>
    idOf(boards, board ?? "").map((boardId) => ({ imageId, boardId })),
  );
  await db.insert(schema.imageTags).values(tagged);
  await db.insert(schema.boardImages).values(boarded);
  await fillSearchTexts(db, ownerId);
  const stored = await db.select().from(schema.images);
  pictures = stored
    .map((row) => ({ tag: null, board: null, ...row, ...placed.find(({ id }) => id === row.id) }))
    .toSorted((one, other) => +other.createdAt - +one.createdAt || (one.id < other.id ? 1 : -1));
});
afterAll(() => opened.close());

type Term = readonly [text: string, holds: (picture: Picture) => boolean];

const has = ({ searchKey: key }: Picture, text: string) => key?.includes(searchKey(textForm(text))) === true;
const february = new Date("2026-02-01T00:00:00Z");

function makeTerm(): Term {
  const word = pick([...vocabulary, "in", "at", "n", "th", "qj", "qj", "zz", "4k", "nowhere"]);
  const pair = `${pick(vocabulary)} ${pick(vocabulary)}`;
  const name = pick(names);
  const term = pick<Term>([
    [word, (picture) => has(picture, word)],
    [word, (picture) => has(picture, word)],
    [word, (picture) => has(picture, word)],
    [`"${pair}"`, (picture) => has(picture, pair)],
    [`tag:${name}`, ({ tag }) => tag === name],
    ["tag:none", ({ tag }) => tag === null],
    [`board:${name}`, ({ board }) => board === name],
    ["rating:>=3", ({ rating }) => rating >= 3],
    ["rating:0", ({ rating }) => rating === 0],
    ["is:starred", ({ starred }) => starred],
    ["from:2026-02", ({ createdAt }) => createdAt >= february],
    ["to:2026-01", ({ createdAt }) => createdAt < february],
  ]);
  return random() < 0.2 ? [`-${term[0]}`, (picture) => !term[1](picture)] : term;
}

const isBefore = (one: Picture, other: Picture) => {
  const [at, otherAt] = [Number(one.toppedAt ?? 0), Number(other.toppedAt ?? 0)];
  return at > otherAt || (at === otherAt && one.id > other.id);
};

/** Of each stack the one chosen last of the pictures that are found, else the newest. */
const isTop = (found: readonly Picture[]) => (picture: Picture) =>
  found.every(
    (one) => (one.stackId ?? one.id) !== (picture.stackId ?? picture.id) || !isBefore(one, picture),
  );

const byId = (one: Picture, other: Picture) => (one.id < other.id ? 1 : -1);
const byTime = (one: Picture, other: Picture) => +other.createdAt - +one.createdAt || byId(one, other);
const orders: Readonly<Record<ListOrder, (one: Picture, other: Picture) => number>> = {
  made: byTime,
  oldest: (one, other) => byTime(other, one),
  added: byId,
  rated: (one, other) => other.rating - one.rating || byTime(one, other),
  largest: (one, other) => other.sizeBytes - one.sizeBytes || byId(one, other),
};

test("each order has all pictures once, forwards and back, by the search as by itself", async () => {
  const live = pictures.filter(({ deletedAt, role }) => deletedAt === null && role !== "mask");
  for (const order of listOrders) {
    const all = live.filter(isTop(live)).toSorted(orders[order]);
    const input = { ownerId, stacks: true, limit: 7 };
    const ids: string[] = [];
    let cursor: string | undefined;
    do {
      const by = ids.length % 2 === 0 ? { order } : { search: `order:${order}` };
      const page = await listImages(opened.services, { ...input, ...by, cursor });
      ids.push(...page.items.map(({ id }) => id));
      const here = page.items.length;
      const newer = encodeCursor(ids.at(-here) ?? "");
      const back = await listImages(opened.services, { ...input, order, cursor: newer, newer: true });
      const before = ids.slice(Math.max(0, ids.length - here - 7), ids.length - here);
      expect({ order, ids: back.items.map(({ id }) => id) }).toEqual({ order, ids: before });
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
    expect({ order, ids }).toEqual({ order, ids: all.map(({ id }) => id) });
  }
});

test("lists have what a plain scan has, in its order, for searches of every kind", async () => {
  for (let round = 0; round < 50; round += 1) {
    const terms = Array.from({ length: 1 + Math.floor(random() * 3) }, makeTerm);
    const [isTrash, stacks] = [random() < 0.15, random() < 0.5];
    const order = pick(listOrders);
    const search = [
      `order:${order}`,
      ...terms.map(([text]) => text),
      ...(isTrash ? ["is:trashed"] : []),
    ].join(" ");
    const all = pictures.filter(
      (picture) =>
        picture.role !== "mask" &&
        (picture.deletedAt !== null) === isTrash &&
        terms.every(([, holds]) => holds(picture)),
    );
    const shown = stacks && !isTrash ? all.filter(isTop(all)) : all;
    const expected = shown.toSorted(orders[order]);
    const ids: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await listImages(opened.services, { ownerId, search, stacks, cursor, limit: 40 });
      ids.push(...page.items.map(({ id }) => id));
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
    expect({ search, stacks, ids }).toEqual({ search, stacks, ids: expected.map(({ id }) => id) });
  }
});

test("pictures with some of the words come as a plain scan orders them, however few are counted first", async () => {
  const live = pictures.filter(({ deletedAt, role }) => deletedAt === null && role !== "mask");
  for (let round = 0; round < 30; round += 1) {
    const words = [...new Set(some(12, [...vocabulary, "nowhere", "in"]).map(textForm))];
    if (words.length < 2) continue;
    const counted = live.map((picture) => ({
      picture,
      n: words.filter((word) => has(picture, word)).length,
    }));
    const ordered = counted.filter(({ n }) => n > 0).toSorted((one, other) => other.n - one.n);
    const ids = ordered.map(({ picture }) => picture.id);
    const all = ordered.filter(({ n }) => n === words.length).length;
    const limit = 1 + Math.floor(random() * 20);
    const found = await findSome(opened.services.db, {
      ownerId,
      words,
      limit,
      walked: pick([1, 10, 40, 2_000]),
      filters: ({ role }) => [ne(role, "mask")],
    });
    expect({ words, found }).toEqual({ words, found: ids.slice(all, all + limit) });
    const searched = await searchImages(opened.services, { ownerId, words, limit });
    expect({ words, searched: searched.map(({ id }) => id) }).toEqual({
      words,
      searched: ids.slice(0, limit),
    });
  }
});
