import { and, eq, isNull, sql } from "drizzle-orm";
import { schema } from "../db/index.ts";
import type { Services } from "../services.ts";
import { asksForTrash } from "./conditions.ts";
import { conditionsOfList, stackOf } from "./list.ts";
import { fillSearchTexts } from "./search-text.ts";

const { images } = schema;

/** How many pictures of a month a list of stacks shows. */
export interface MonthCount {
  /** Of UTC, as `2026-11`. */
  readonly month: string;
  readonly pictures: number;
}

interface CountInput {
  readonly ownerId: string;
  readonly search?: string | undefined;
}

/** Pictures that a search may find before its months are not counted any more. */
const mostFound = 25_000;

/**
 * The months of `listImages` with `stacks` and this search, the newest first, only those with pictures; null for the trash and
 * for a search that finds too much. Throws `bad_request` for a search that cannot be read.
 */
export async function countMonths(
  { db }: Pick<Services, "db">,
  { ownerId, search }: CountInput,
): Promise<MonthCount[] | null> {
  if (asksForTrash(search ?? "")) return null;
  if (search !== undefined) await fillSearchTexts(db, ownerId);
  const own = and(
    eq(images.ownerId, ownerId),
    isNull(images.deletedAt),
    ...conditionsOfList({ ownerId, search })(images),
  );
  const most = search === undefined ? sql`` : sql`limit ${mostFound + 1}`;
  const months = await db.execute<{ month: string; pictures: number; found: number }>(sql`
    with hits as materialized (
      select ${stackOf(images)} as stack, ${images.id}, ${images.createdAt} from ${images} where ${own} ${most}),
    tops as (select distinct on (stack) created_at from hits order by stack, id desc)
    select to_char(month, 'YYYY-MM') as month, pictures, (select count(*) from hits)::int as found
    from (select date_trunc('month', created_at at time zone 'UTC') as month, count(*)::int as pictures from tops group by 1) counted
    order by month desc`);
  if (search !== undefined && (months[0]?.found ?? 0) > mostFound) return null;
  return months.map(({ month, pictures }) => ({ month, pictures }));
}
