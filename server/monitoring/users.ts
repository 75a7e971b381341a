import { sql } from "drizzle-orm";
import { z } from "zod";
import { schema } from "../db/index.ts";
import { isStorable } from "../platform/index.ts";
import type { Services } from "../services.ts";

export const listUsersSchema = z.object({
  /** Of the page before. */
  cursor: z.string().max(64).optional(),
  limit: z.number().int().min(1).max(100).default(50),
  /** Part of the name or the e-mail address. */
  search: z.string().trim().max(200).refine(isStorable).optional(),
  role: z.enum(["admin", "user", "guest"]).optional(),
});

export type ListUsersInput = z.output<typeof listUsersSchema>;

export interface UserFigures {
  readonly id: string;
  readonly name: string;
  /** Null for a guest. */
  readonly email: string | null;
  readonly role: "admin" | "user" | "guest";
  readonly banned: boolean;
  readonly openJobs: number;
  /** Counted up to `countedJobs`. */
  readonly jobs: number;
  readonly images: number;
  readonly createdAt: string;
  /** Since the last request with a session or a key; null for never. */
  readonly seenMs: number | null;
}

export interface UserPage {
  readonly items: readonly UserFigures[];
  readonly nextCursor: string | null;
}

/** Totals are counted up to this number; larger ones show as "1,000+". */
const countedJobs = 1_000;

const roleOf = sql`case when u.is_anonymous then 'guest' when 'admin' = any (string_to_array(u.role, ',')) then 'admin' else 'user' end`;

/** Accounts and guests, the newest first. */
export async function readUsers({ db }: Pick<Services, "db">, input: ListUsersInput): Promise<UserPage> {
  const { users, sessions, apiKeys, jobs, images } = schema;
  const { cursor, limit, search, role } = input;
  const like = `%${(search ?? "").replaceAll(/[\\%_]/g, String.raw`\$&`)}%`;
  const filters = [
    cursor ? sql`u.id < ${cursor}` : null,
    search
      ? sql`(u.name ilike ${like} or (u.email ilike ${like} and not coalesce(u.is_anonymous, false)))`
      : null,
    role ? sql`${roleOf} = ${role}` : null,
  ].filter((filter) => filter !== null);
  const where = filters.length > 0 ? sql`where ${sql.join(filters, sql` and `)}` : sql``;
  const result = await db.execute<Record<string, unknown> & UserFigures>(sql`
    with page as (select * from ${users} u ${where} order by u.id desc limit ${limit + 1})
    select u.id, u.name, case when u.is_anonymous then null else u.email end as email, ${roleOf} as role,
      coalesce(u.banned, false) as banned, ${isoText("u.created_at")} as "createdAt", round(extract(epoch from now() - seen.at) * 1000)::float8 as "seenMs",
      (select count(*)::int from ${jobs} j where j.owner_id = u.id and j.status in ('pending', 'queued', 'waiting_for_engine', 'processing')) as "openJobs",
      (select count(*)::int from (select 1 from ${jobs} j where j.owner_id = u.id limit ${countedJobs}) counted) as jobs,
      (select count(*)::int from (select 1 from ${images} i where i.owner_id = u.id and i.deleted_at is null limit ${countedJobs}) counted) as images
    from page u left join lateral (select greatest(
      (select max(s.updated_at) from ${sessions} s where s.user_id = u.id),
      (select max(k.last_request) from ${apiKeys} k where k.reference_id = u.id)) as at) seen on true
    order by u.id desc`);
  const items = result.slice(0, limit);
  return { items, nextCursor: result.length > limit ? (items.at(-1)?.id ?? null) : null };
}

const isoText = (column: string) =>
  sql.raw(`to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`);
