import { type SQL, sql } from "drizzle-orm";
import type { AnyPgColumn } from "drizzle-orm/pg-core";
import { schema } from "../db/index.ts";
import { AppError, isId } from "../platform/index.ts";
import type { ListOrder } from "./query.ts";

const { images } = schema;

/** Where a picture stood when its page was read: by now it may be rated anew or purged. Cursors of the version before have the id alone. */
interface Standing {
  readonly id: string;
  /** Since 1970. */
  readonly micros?: string | undefined;
  readonly rating?: string | undefined;
  readonly bytes?: string | undefined;
}

/** A place in a list, next to a picture or a moment, and which side of it is asked for. */
export interface Place {
  readonly at: Standing | Date;
  readonly side: "older" | "newer";
}

/** By what a list is ordered, also to go on from a picture of it: an index has each of them. An id is given when its picture comes. */
const orderedBy: Readonly<Record<ListOrder, readonly AnyPgColumn[]>> = {
  made: [images.createdAt, images.id],
  oldest: [images.createdAt, images.id],
  added: [images.id],
  rated: [images.rating, images.createdAt, images.id],
  largest: [images.sizeBytes, images.id],
};

/** SQL column: what `encodeCursor` takes. It has what any order asks for. */
export const standing = sql<string>`concat_ws('_', ${images.id}, (extract(epoch from ${images.createdAt}) * 1000000)::bigint, ${images.rating}, ${images.sizeBytes})`;

// Of what PostgreSQL can read as a moment and a size.
const standingText = /^(?<id>[^_]+)(?:_(?<micros>\d{1,18}|-\d{1,17})_(?<rating>[0-5])_(?<bytes>\d{1,16}))?$/u;

/** The cursor of what lies beyond a picture, by its id or its `standing`. Opaque to clients. */
export function encodeCursor(text: string): string {
  return Buffer.from(text).toString("base64url");
}

/** Throws `bad_request` for anything that `encodeCursor` did not make. */
export function decodeCursor(cursor: string): Standing {
  const { id = "", ...values } = standingText.exec(Buffer.from(cursor, "base64url").toString())?.groups ?? {};
  if (!isId(id)) throw new AppError("bad_request", "The cursor is not one of ours.");
  return { id, ...values };
}

/** Only the oldest come from below. */
const rises = (order: ListOrder, side: Place["side"]) => (order === "oldest") === (side === "older");

export function orderBy(order: ListOrder, side: Place["side"]): SQL {
  const way = sql.raw(rises(order, side) ? "asc" : "desc");
  const columns = orderedBy[order].map((column) => sql`${column} ${way}`);
  return sql`order by ${sql.join(columns, sql`, `)}`;
}

export function beyondPlace({ at, side }: Place, order: ListOrder): SQL {
  const bound =
    at instanceof Date ? sql`(${at.toISOString()}::timestamptz, ${firstId}::uuid)` : boundOf(at, order);
  const columns = at instanceof Date ? orderedBy.made : orderedBy[order];
  return sql`(${sql.join([...columns], sql`, `)}) ${rises(order, side) ? sql`>` : sql`<`} ${bound}`;
}

const firstId = "00000000-0000-0000-0000-000000000000";

function boundOf({ id, micros, rating, bytes }: Standing, order: ListOrder): SQL {
  const at =
    micros === undefined ? null : sql`timestamptz 'epoch' + ${micros}::bigint * interval '1 microsecond'`;
  const valueOf = new Map<AnyPgColumn, SQL | null>([
    [images.createdAt, at],
    [images.rating, rating === undefined ? null : sql`${rating}::smallint`],
    [images.sizeBytes, bytes === undefined ? null : sql`${bytes}::bigint`],
    [images.id, sql`${id}::uuid`],
  ]);
  const values = orderedBy[order].map((column) => valueOf.get(column) ?? standingNow(id, column));
  return sql`(${sql.join(values, sql`, `)})`;
}

/** A picture that is gone stands where its id was made, without a rating and with an empty file. */
function standingNow(id: string, column: AnyPgColumn): SQL {
  const madeMs = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
  const ofGone = column === images.createdAt ? sql`to_timestamp(${madeMs / 1_000}::float8)` : sql`0`;
  return sql`coalesce((select "at".${sql.identifier(column.name)} from ${images} as "at" where "at".id = ${id}), ${ofGone})`;
}
