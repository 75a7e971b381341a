import { sql } from "drizzle-orm";
import { schema } from "../db/index.ts";
import type { Services } from "../services.ts";

export interface Period {
  readonly from: Date | null;
  readonly to: Date | null;
}

export interface RecallOptions {
  readonly limit: number;
  readonly period?: Period | null;
}

/** Something that the assistant remembers, with how well it fits the query. */
export interface RecallHit {
  readonly kind: "memory" | "message";
  readonly id: string;
  readonly conversationId: string | null;
  readonly text: string;
  /** Of a message both are its time. */
  readonly from: Date;
  readonly to: Date;
  readonly score: number;
}

/** What a user's memory has about a query, best first; never of another user. */
export async function recall(
  { db }: Pick<Services, "db">,
  userId: string,
  query: string,
  { limit, period }: RecallOptions,
): Promise<RecallHit[]> {
  const { memories, assistantMessages } = schema;
  const within = (from: string, to: string) => sql`
    (${period?.from?.toISOString() ?? null}::timestamptz is null or ${sql.raw(to)} >= ${period?.from?.toISOString() ?? null})
    and (${period?.to?.toISOString() ?? null}::timestamptz is null or ${sql.raw(from)} <= ${period?.to?.toISOString() ?? null})`;
  const rows = await db.execute<Record<string, unknown>>(sql`
    with query as (select replace(plainto_tsquery('english', ${query})::text, '&', '|')::tsquery as words), found as (
      select 'memory' as kind, id, conversation_id, summary as text, period_start as since, period_end as until,
        to_tsvector('english', summary || ' ' || array_to_string(tags, ' ')) as words
      from ${memories} where owner_id = ${userId} and ${within("period_start", "period_end")}
      union all
      select 'message', id, conversation_id, text, at, at, to_tsvector('english', text)
      from ${assistantMessages} where owner_id = ${userId} and is_recalled and ${within("at", "at")}
    )
    select kind, id, conversation_id as "conversationId", text, since as "from", until as "to",
      ts_rank(found.words, query.words)::float8 as score
    from found, query where found.words @@ query.words order by score desc, until desc limit ${limit}`);
  // Safe: the columns are named as the members.
  return rows.map(
    (row) =>
      ({
        ...row,
        from: new Date(String(row["from"])),
        to: new Date(String(row["to"])),
      }) as RecallHit,
  );
}
