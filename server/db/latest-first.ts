import { type AnyColumn, desc, type SQL, sql } from "drizzle-orm";
import { AppError, isId } from "../platform/index.ts";

/**
 * Pages of a list whose rows come by a moment, the latest first, and at the same moment by their id (a UUID): each row is on
 * one page, also of many of one moment, and a page that is asked for again begins at the same place.
 */
export function latestFirst(at: AnyColumn, id: AnyColumn) {
  const micros = sql`(extract(epoch from ${at}) * 1000000)::bigint`;
  return {
    order: [desc(at), desc(id)],
    /** SQL column: the cursor of the page behind this row, opaque to clients. */
    cursor: sql<string>`${micros} || '_' || ${id}`,
    /** SQL condition: the row is behind the cursor. Throws `bad_request` for a text that is no cursor. */
    isBehind(cursor: string): SQL {
      const [, time = "", last = ""] = /^(-?\d{1,17})_(.*)$/.exec(cursor) ?? [];
      if (!isId(last)) throw new AppError("bad_request", "The cursor is not one of ours.");
      return sql`(${at}, ${id}) < (timestamptz 'epoch' + ${time}::bigint * interval '1 microsecond', ${last}::uuid)`;
    },
  };
}

/** One page of rows of which one more was read than it holds, and the cursor of the next page; null at the end. */
export function toPage<Row, Cursor extends keyof Row & ("cursor" | "id")>(
  rows: readonly (Row & Readonly<Record<Cursor, string>>)[],
  limit: number,
  cursor: Cursor,
) {
  const items = rows.slice(0, limit);
  return { items, nextCursor: rows.length > limit ? (items.at(-1)?.[cursor] ?? null) : null };
}
