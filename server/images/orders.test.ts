import { addUser } from "@atelier/testing/pictures";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { eq, sql, type SQL } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Db, schema } from "../db/index.ts";
import { newId } from "../platform/index.ts";
import { listImages } from "./list.ts";
import { decodeCursor, encodeCursor } from "./place.ts";
import { type ListOrder, listOrders } from "./query.ts";
import { findIds } from "./search.ts";

let opened: TestServices;
let ownerId: string;
const pictures = 20_000;

beforeAll(async () => {
  opened = await createTestServices();
  const { db } = opened.services;
  ownerId = await addUser(opened.services);
  await db.transaction(async (tx) => {
    // Without the rows that triggers add, which no list reads.
    await tx.execute(sql`set local atelier.is_loading = 'on'`);
    await tx.execute(sql`
      insert into images (id, owner_id, role, storage_key, stored_sha256, mime, width_px, height_px, size_bytes, thumbhash, rating, created_at)
      select uuidv7(-n * interval '1 hour'), ${ownerId}, 'upload', 'many-' || n, n, 'image/png', 4, 3, 1000 + n * 7919 % 100003, '',
        greatest(0, n % 12 - 6), now() - n * 7919 % 50021 * interval '1 minute'
      from generate_series(1, ${pictures}) n`);
  });
  await db.execute(sql`analyze images`);
});
afterAll(() => opened.close());

const indexes: Readonly<Record<ListOrder, string>> = {
  made: "images_made",
  oldest: "images_made",
  added: "images_(?:gallery|pkey)",
  rated: "images_best",
  largest: "images_largest",
};

/** Runs each statement, and keeps how the database goes about it. */
function explaining(plans: string[]): Db {
  const { db } = opened.services;
  const execute = async (statement: SQL) => {
    const lines = await db.execute<{ readonly "QUERY PLAN": string }>(
      sql`explain (analyze, timing off) ${statement}`,
    );
    plans.push(lines.map((line) => line["QUERY PLAN"]).join("\n"));
    return db.execute(statement);
  };
  // Safe: a page of ids asks for nothing else.
  return { execute } as unknown as Db;
}

/** How many pictures a plan reads from the table. */
const rowsRead = (plan: string) =>
  [...plan.matchAll(/Scan[^\n]* on images\b[^\n]*actual rows=(?<rows>\d+)/gu)].reduce(
    (sum, { groups }) => sum + Number(groups?.["rows"]),
    0,
  );

test.each(listOrders)(
  "%s: each page is read from an index in its order, however many pictures there are",
  async (order) => {
    const conditions = () => [sql`true`];
    const query = { ownerId, conditions, order, limit: 101 } as const;
    const first = await findIds(opened.services.db, { ...query, limit: 5_000 });
    const { id = "", standing = "" } = first.at(-1) ?? {};
    const place = decodeCursor(encodeCursor(standing));
    const places = [{ id }, place].flatMap(
      (at) =>
        [
          { at, side: "older" },
          { at, side: "newer" },
        ] as const,
    );
    // Which are those before it, to the microsecond.
    expect(await findIds(opened.services.db, { ...query, place: { at: place, side: "newer" } })).toEqual(
      first.slice(-102, -1).toReversed(),
    );
    for (const place of [undefined, ...places]) {
      const plans: string[] = [];
      const ids = await findIds(explaining(plans), { ...query, place });
      expect(ids).toHaveLength(101);
      expect(plans).toHaveLength(1);
      expect(plans[0]).toMatch(
        new RegExp(`Index (?:Only )?Scan (?:Backward )?using ${indexes[order]} on images`, "u"),
      );
      expect(plans[0]).not.toContain("Seq Scan");
      expect(rowsRead(plans[0] ?? "")).toBeLessThanOrEqual(2_010);
    }
  },
);

const { images } = schema;

/** Ids of nine pictures, the first of an order first; they were added today, and made years ago, with a rating and a size that differ. */
async function addNine(of: string, order: ListOrder): Promise<string[]> {
  const file = { mime: "image/png", widthPx: 1, heightPx: 1, thumbhash: "" };
  const rows = Array.from({ length: 9 }, (_, n) => {
    const id = newId();
    const facts = {
      rating: n % 5,
      sizeBytes: 1_000 + ((n * 7) % 9),
      createdAt: new Date(Date.UTC(2001, (n * 5) % 9)),
    };
    return { id, ownerId: of, role: "upload" as const, storageKey: id, storedSha256: id, ...file, ...facts };
  });
  await opened.services.db.insert(images).values(rows);
  const { items } = await listImages(opened.services, { ownerId: of, order });
  return items.map(({ id }) => id);
}

const changes = {
  "has another rating": (id: string) =>
    opened.services.db.update(images).set({ rating: 0 }).where(eq(images.id, id)),
  "has the best rating": (id: string) =>
    opened.services.db.update(images).set({ rating: 5 }).where(eq(images.id, id)),
  "was made at another time": (id: string) =>
    opened.services.db
      .update(images)
      .set({ createdAt: new Date("2020-01-01T00:00:00Z") })
      .where(eq(images.id, id)),
  "is written anew": (id: string) =>
    opened.services.db.update(images).set({ sizeBytes: 1 }).where(eq(images.id, id)),
  "is purged": (id: string) => opened.services.db.delete(images).where(eq(images.id, id)),
};
const cases = listOrders.flatMap((order) =>
  Object.entries(changes).map(([name, change]) => ({ order, name, change })),
);

test.each(cases)(
  "$order: a list goes on where it was when the picture at its edge $name",
  async ({ order, change }) => {
    const { services } = opened;
    const of = await addUser(services);
    const all = await addNine(of, order);
    const read = (more: object) => listImages(services, { ownerId: of, order, limit: 3, ...more });
    const first = await read({});
    const second = await read({ cursor: first.nextCursor });
    const idsOf = ({ items }: typeof first) => items.map(({ id }) => id);
    expect([...idsOf(first), ...idsOf(second)]).toEqual(all.slice(0, 6));
    const [lastOfFirst = "", firstOfSecond = ""] = all.slice(2);
    await change(lastOfFirst);
    // What moved may come again at its new place; of the others each comes once.
    const others = idsOf(await read({ cursor: first.nextCursor, limit: 100 })).filter(
      (id) => id !== lastOfFirst,
    );
    expect(others).toEqual(all.slice(3));
    await change(firstOfSecond);
    const back = await read({ cursor: second.previousCursor, newer: true, limit: 100 });
    const moved = new Set([lastOfFirst, firstOfSecond]);
    expect(idsOf(back).filter((id) => !moved.has(id))).toEqual(all.slice(0, 2));
  },
);

test("a cursor that no page gave is refused, and one of the version before is taken", async () => {
  const { services } = opened;
  const of = await addUser(services);
  const [first = "", ...rest] = await addNine(of, "rated");
  const read = (text: string) =>
    listImages(services, { ownerId: of, order: "rated", cursor: Buffer.from(text).toString("base64url") });
  expect((await read(first)).items.map(({ id }) => id)).toEqual(rest);
  for (const wrong of [
    "first",
    `${first}_`,
    `${first}_1`,
    `${first}_1_1`,
    `${first}_1_6_1`,
    `${first}_1_-1_1`,
    `${first}_x_1_1`,
    `${first}_1_1_1_1`,
    `${first}_${"9".repeat(19)}_1_1`,
    `${first}_-${"9".repeat(18)}_1_1`,
    `${first}_1_1_${"9".repeat(17)}`,
    `${first.slice(1)}g_1_1_1`,
  ])
    await expect(read(wrong)).rejects.toMatchObject({ code: "bad_request" });
  for (const farthest of [`${"9".repeat(18)}_5_${"9".repeat(16)}`, `-${"9".repeat(17)}_0_0`])
    for (const order of listOrders)
      expect(
        (await listImages(services, { ownerId: of, order, cursor: encodeCursor(`${first}_${farthest}`) }))
          .items.length,
      ).toBeLessThanOrEqual(9);
});
