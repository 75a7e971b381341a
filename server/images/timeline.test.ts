import { and, eq, isNotNull, sql } from "drizzle-orm";
import { addUser } from "@atelier/testing/pictures";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { schema } from "../db/index.ts";
import { isAppError, newId } from "../platform/index.ts";
import { encodeCursor } from "./place.ts";
import {
  changeImage,
  chooseTop,
  countMonths,
  countNoted,
  listImages,
  type ListImagesInput,
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

interface Facts {
  readonly role?: "upload" | "mask";
  readonly stackId?: string;
  readonly title?: string;
  readonly owner?: string;
}

async function addPicture(
  createdAt: string,
  { role = "upload", stackId, title = "", owner = ownerId }: Facts = {},
) {
  const id = newId();
  const facts = { mime: "image/webp", widthPx: 4, heightPx: 3, sizeBytes: 1, thumbhash: "" };
  const names = { storedSha256: id, storageKey: id, title, stackId: stackId ?? null };
  await opened.services.db
    .insert(schema.images)
    .values({ ...facts, ...names, id, ownerId: owner, role, createdAt: new Date(createdAt) });
  return id;
}

const dayOf = (month: number) => `2026-${String(month).padStart(2, "0")}-10T00:00:00Z`;

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

const choose = (id: string, onTop = true) => chooseTop(opened.services, { ownerId, id, onTop });
const topsOf = async (search?: string) => idsOf(await page({ search, limit: 100 }));

test("a chosen picture shows its stack, where it stands itself, until another one is chosen, or it is deleted", async () => {
  const { services } = opened;
  const other = await addPicture("2026-02-10T00:00:00Z");
  const first = await addPicture("2026-01-10T00:00:00Z", { title: "window" });
  const second = await addPicture("2026-03-10T00:00:00Z", { stackId: first, title: "window" });
  const newest = await addPicture("2026-04-10T00:00:00Z", { stackId: first });
  expect(await topsOf()).toEqual([newest, other]);
  expect(await countMonths(services, { ownerId })).toEqual(await monthsOfList());
  expect(await choose(first)).toEqual({ beforeId: null });
  expect(await topsOf()).toEqual([other, first]);
  expect((await page({ limit: 100 })).items.map(({ stackSize }) => stackSize)).toEqual([1, 3]);
  expect(await countMonths(services, { ownerId })).toEqual([
    { month: "2026-02", pictures: 1 },
    { month: "2026-01", pictures: 1 },
  ]);
  // What comes onto the stack does not take its place.
  const later = await addPicture("2026-05-10T00:00:00Z", { stackId: first });
  expect(await topsOf()).toEqual([other, first]);
  // A search shows the stack by the chosen one if it finds it, else by the newest that it finds.
  expect(await topsOf("window")).toEqual([first]);
  expect(await topsOf("-window")).toEqual([later, other]);
  for (const search of ["window", "-window"])
    expect(await countMonths(services, { ownerId, search })).toEqual(await monthsOfList(search));
  expect(await choose(second)).toEqual({ beforeId: first });
  expect(await topsOf()).toEqual([second, other]);
  await removeImages(services, { ownerId, ids: [second] });
  expect(await topsOf()).toEqual([later, other]);
  expect(await countMonths(services, { ownerId })).toEqual(await monthsOfList());
  await restoreImages(services, { ownerId, ids: [second] });
  expect(await topsOf()).toEqual([second, other]);
  // One that comes back is no longer chosen over the one that was chosen since.
  await removeImages(services, { ownerId, ids: [second] });
  expect(await choose(newest)).toEqual({ beforeId: null });
  await restoreImages(services, { ownerId, ids: [second] });
  expect(await topsOf()).toEqual([newest, other]);
  // "false" leaves none: neither that one nor any of before.
  expect(await choose(newest, false)).toEqual({ beforeId: newest });
  expect(await topsOf()).toEqual([later, other]);
  expect(await countMonths(services, { ownerId })).toEqual(await monthsOfList());
});

test("a change of a picture says that it shows its stack, and only its owner's picture in no trash can", async () => {
  const { services } = opened;
  const first = await addPicture(dayOf(1));
  const second = await addPicture(dayOf(2), { stackId: first });
  const changed = await changeImage(services, { ownerId, id: first, onTop: true, rating: 3 });
  expect(changed).toMatchObject({ rating: 3, toppedAt: expect.any(String) });
  expect(await topsOf()).toEqual([first]);
  expect(await changeImage(services, { ownerId, id: second, starred: true })).toMatchObject({
    toppedAt: null,
  });
  expect(await topsOf()).toEqual([first]);
  expect((await changeImage(services, { ownerId, id: first, onTop: false })).toppedAt).toBeNull();
  expect(await topsOf()).toEqual([second]);
  const mask = await addPicture(dayOf(3), { stackId: first, role: "mask" });
  await removeImages(services, { ownerId, ids: [second] });
  const foreign = await addUser(services);
  const wrong = [
    { ownerId, id: mask },
    { ownerId, id: second },
    { ownerId, id: newId() },
    { ownerId, id: "none" },
    { ownerId: foreign, id: first },
  ];
  for (const input of wrong)
    await expect(chooseTop(services, { ...input, onTop: true })).rejects.toMatchObject({ code: "not_found" });
  expect(await topsOf()).toEqual([first]);
});

test("pages have every stack once, wherever its chosen picture stands", async () => {
  const roots = await Promise.all([1, 2, 3, 4, 5, 6].map((month) => addPicture(dayOf(month))));
  const tops: string[] = [];
  for (const [at, root] of roots.entries()) {
    const versions = [root];
    for (const month of [7, 8, 9])
      versions.push(await addPicture(dayOf(month + (at % 3)), { stackId: root }));
    const top = versions[at % 4] ?? root;
    if (at % 4 < 3) await choose(top);
    tops.push(top);
  }
  const expected = await topsOf();
  expect(expected.toSorted()).toEqual(tops.toSorted());
  for (const limit of [1, 2, 4]) {
    const ids: string[] = [];
    let cursor: string | undefined;
    do {
      const read = await page({ cursor, limit });
      ids.push(...idsOf(read));
      cursor = read.nextCursor ?? undefined;
    } while (cursor !== undefined);
    expect(ids).toEqual(expected);
    const back = await page({ cursor: encodeCursor(String(ids.at(-1))), newer: true, limit: 100 });
    expect(idsOf(back)).toEqual(expected.slice(0, -1));
  }
  expect(await countMonths(opened.services, { ownerId })).toEqual(await monthsOfList());
});

test("of choices at the same moment one holds", async () => {
  const first = await addPicture(dayOf(1));
  const ids = [first];
  for (const month of [2, 3, 4, 5]) ids.push(await addPicture(dayOf(month), { stackId: first }));
  await Promise.all([...ids, ...ids].map((id) => choose(id)));
  const { db } = opened.services;
  const chosen = await db
    .select({ id: schema.images.id })
    .from(schema.images)
    .where(and(eq(schema.images.ownerId, ownerId), isNotNull(schema.images.toppedAt)));
  expect(chosen).toHaveLength(1);
  expect(await topsOf()).toEqual(chosen.map(({ id }) => id));
});

/** Months as all pictures have them, without what is kept. */
async function monthsOfPictures(owner: string) {
  const months = await opened.services.db.execute<{ month: string; pictures: number }>(sql`
    select to_char(created_at at time zone 'UTC', 'YYYY-MM') as month, count(*)::int as pictures from (
      select distinct on (coalesce(stack_id, id)) created_at from images
      where owner_id = ${owner} and deleted_at is null and role <> 'mask' order by coalesce(stack_id, id), topped_at desc nulls last, id desc) tops
    group by 1 order by 1 desc`);
  return [...months];
}

test("a picture that becomes visible after its months were counted is counted, and one of two on a stack once", async () => {
  const { db } = opened.services;
  const count = () => countMonths(opened.services, { ownerId });
  const first = await addPicture(dayOf(1));
  const onStack = (month: number) => sql`
    insert into images (id, owner_id, role, storage_key, stored_sha256, mime, width_px, height_px, size_bytes, thumbhash, stack_id, created_at)
    values (${newId()}, ${ownerId}, 'result', ${newId()}, '', 'image/webp', 4, 3, 1, '', ${first}, ${dayOf(month)})`;
  expect(await count()).toEqual([{ month: "2026-01", pictures: 1 }]);
  await db.transaction(async (one) => {
    await one.execute(onStack(2));
    await db.transaction(async (two) => {
      await two.execute(onStack(3));
      // Neither is visible to it, and it takes all notes that are.
      expect(await count()).toEqual([{ month: "2026-01", pictures: 1 }]);
    });
    expect(await count()).toEqual([{ month: "2026-03", pictures: 1 }]);
  });
  expect(await count()).toEqual(await monthsOfPictures(ownerId));
});

test("counts are those of the pictures after inserts, removals, restores, moves and readers at once", async () => {
  const { services } = opened;
  const { db } = services;
  const account = await addUser(services);
  const roots = await Promise.all([1, 2, 3].map((month) => addPicture(dayOf(month))));
  const pick = <Item>(items: readonly Item[], at: number) => items[at % items.length];
  const ids = [...roots];
  /** The second is known to no other writer: whatever their order, it ends with the other owner. */
  const moved = (...each: readonly string[]) =>
    sql`update images set owner_id = ${account} where id in ${each}`;
  const topIfThere = (input: Parameters<typeof chooseTop>[1]) =>
    chooseTop(services, input).catch((error: unknown) => {
      // Another writer has removed it, or made it a mask.
      if (!isAppError(error) || error.code !== "not_found") throw error;
    });
  const writer = async (own: number) => {
    for (let at = own; at < own + 12; at += 1) {
      ids.push(await addPicture(dayOf((at % 12) + 1), { stackId: pick(roots, at) ?? "" }));
      await removeImages(services, { ownerId, ids: [pick(ids, at * 7) ?? "", pick(ids, at * 5) ?? ""] });
      await restoreImages(services, { ownerId, ids: [pick(ids, at * 7) ?? ""] });
      const id = pick(ids, at * 3) ?? "";
      if (at % 6 === 0) await db.execute(moved(id, await addPicture(dayOf((at % 12) + 1))));
      if (at % 6 === 1) await db.execute(sql`update images set stack_id = null where id = ${id}`);
      if (at % 6 === 2) await db.execute(sql`delete from images where id = ${id}`);
      if (at % 6 === 4) await topIfThere({ id, ownerId, onTop: at % 12 === 4 });
      if (at % 6 === 3) await db.execute(sql`update images set role = 'mask' where id = ${id}`);
    }
  };
  let isDone = false;
  const reader = async (owner: string) => {
    while (!isDone) {
      const months = await countMonths(services, { ownerId: owner });
      expect(months?.every(({ pictures }) => pictures > 0)).toBe(true);
    }
  };
  const readers = [ownerId, ownerId, account].map(reader);
  try {
    await Promise.all([0, 1, 2, 3, 4].map((own) => writer(own * 5)));
  } finally {
    isDone = true;
  }
  await Promise.all(readers);
  const ofAccount = await monthsOfPictures(account);
  expect(ofAccount.length).toBeGreaterThan(0);
  expect(await countMonths(services, { ownerId: account })).toEqual(ofAccount);
  expect(await countMonths(services, { ownerId })).toEqual(await monthsOfPictures(ownerId));
});

const waitingForMonths = sql<number>`
  select count(*)::int as waiting from pg_locks where locktype = 'advisory' and not granted and classid::bigint =
    (hashtext('months')::bigint & 4294967295) and database = (select oid from pg_database where datname = current_database())`;

test("readers who look at once wait without a connection, and an owner without pictures is counted once", async () => {
  const { services } = opened;
  const { counts } = await services.db.transaction(async (tx) => {
    await tx.execute(sql`select pg_advisory_xact_lock(hashtext('months'), hashtext(${ownerId}))`);
    const counts = Promise.all([1, 2, 3, 4].map(() => countMonths(services, { ownerId })));
    const read = async () => (await tx.execute<{ waiting: number }>(waitingForMonths))[0]?.waiting;
    await vi.waitUntil(async () => (await read()) === 1, { timeout: 5_000, interval: 10 });
    // Would wait for a connection of the pool, of which there are five.
    for (let call = 0; call < 5; call += 1) await services.db.$count(schema.users);
    expect(await read()).toBe(1);
    return { counts };
  });
  expect(await counts).toEqual([[], [], [], []]);
  const kept = await services.db
    .select()
    .from(schema.monthCounts)
    .where(eq(schema.monthCounts.ownerId, ownerId));
  expect(kept.map(({ pictures }) => pictures)).toEqual([0]);
  await addPicture(dayOf(1));
  expect(await countMonths(services, { ownerId })).toEqual([{ month: "2026-01", pictures: 1 }]);
});

test("an owner who is deleted while the months are counted stops neither", async () => {
  const { db } = opened.services;
  const id = await addPicture(dayOf(1));
  const counted = await db.transaction(async (tx) => {
    await tx.execute(sql`select from users where id = ${ownerId} for update`);
    const months = countMonths(opened.services, { ownerId }).catch((error: unknown) => error);
    const isWaiting = sql<number>`select count(*)::int as waiting from pg_locks
      where not granted and locktype = 'transactionid' and pg_backend_pid() = any(pg_blocking_pids(pid))`;
    await vi.waitUntil(async () => (await tx.execute<{ waiting: number }>(isWaiting))[0]?.waiting === 1, {
      timeout: 5_000,
      interval: 10,
    });
    await tx.execute(sql`delete from images where id = ${id}`);
    await tx.execute(sql`delete from stack_changes where owner_id = ${ownerId}`);
    await tx.execute(sql`delete from users where id = ${ownerId}`);
    return { months };
  });
  expect(await counted.months).toEqual([]);
});

test("the duty takes the notes of owners who do not look, and one who fails holds up no other", async () => {
  const { services } = opened;
  const { db } = services;
  const failing = await addUser(services);
  // A sum that has no room.
  await db
    .insert(schema.monthCounts)
    .values({ ownerId: failing, month: "2026-01-01", pictures: 2 ** 31 - 1 });
  await addPicture(dayOf(1), { owner: failing });
  await addPicture(dayOf(1));
  await countNoted(opened.services);
  const owners = await db.selectDistinct({ id: schema.stackChanges.ownerId }).from(schema.stackChanges);
  expect(owners).toEqual([{ id: failing }]);
  expect(await db.$count(schema.monthCounts, sql`owner_id = ${ownerId} and pictures > 0`)).toBe(1);
  await db.delete(schema.stackChanges);
});
