import { addUser } from "@atelier/testing/pictures";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { sql, type SQL } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Db } from "../db/index.ts";
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
    const at = first.at(-1) ?? "";
    for (const place of [undefined, { at, side: "older" }, { at, side: "newer" }] as const) {
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
