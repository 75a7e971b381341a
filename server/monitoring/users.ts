import { sql, type SQL } from "drizzle-orm";
import { z } from "zod";
import { openStatuses, schema, toPage } from "../db/index.ts";
import { restorableSince, storageLimit } from "../images/index.ts";
import { AppError, isStorable } from "../platform/index.ts";
import type { Services } from "../services.ts";

export const listUsersSchema = z.object({
  /** Of the page before. */
  cursor: z.string().max(64).optional(),
  limit: z.number().int().min(1).max(100).default(50),
  /** Part of the name or the e-mail address. */
  search: z.string().trim().max(200).refine(isStorable).optional(),
  role: z.enum(["admin", "user", "guest"]).optional(),
  state: z.enum(["active", "suspended"]).optional(),
});

export type ListUsersInput = z.output<typeof listUsersSchema>;

export interface UserFigures {
  readonly id: string;
  readonly name: string;
  /** Null for a guest. */
  readonly email: string | null;
  /** `service`: the account of the workers. */
  readonly role: "admin" | "user" | "guest" | "service";
  /** `deleted`: what belonged to the user is being removed. */
  readonly state: "active" | "suspended" | "deleted";
  /** Space of the pictures as the quota counts it. */
  readonly usedBytes: number;
  /** The user's own quota; null where the studio's default applies. */
  readonly quotaBytes: number | null;
  /** What applies. */
  readonly limitBytes: number;
  readonly openJobs: number;
  /** Counted up to `countedJobs`. */
  readonly jobs: number;
  readonly images: number;
  readonly createdAt: string;
  /** Since the last sign of life: a session, a key, a job or a picture; null for never. */
  readonly seenMs: number | null;
}

export interface UserPage {
  readonly items: readonly UserFigures[];
  readonly nextCursor: string | null;
}

/** Totals are counted up to this number; larger ones show as "1,000+". */
const countedJobs = 1_000;

const roleOf = sql`case when u.is_anonymous then 'guest' when u.role = 'service' then 'service'
  when 'admin' = any (string_to_array(u.role, ',')) then 'admin' else 'user' end`;
const stateOf = sql`case when u.deleted_at is not null then 'deleted'
  when u.banned and (u.ban_expires is null or u.ban_expires > now()) then 'suspended' else 'active' end`;

type Reading = Pick<Services, "db" | "config">;

/** Accounts and guests, the newest first. */
export async function readUsers(services: Reading, input: ListUsersInput): Promise<UserPage> {
  const { cursor, limit, search, role, state } = input;
  const like = `%${(search ?? "").replaceAll(/[\\%_]/g, String.raw`\$&`)}%`;
  const filters = [
    cursor ? sql`u.id < ${cursor}` : null,
    search
      ? sql`(u.name ilike ${like} or (u.email ilike ${like} and not coalesce(u.is_anonymous, false)))`
      : null,
    role ? sql`${roleOf} = ${role}` : null,
    state ? sql`${stateOf} = ${state}` : null,
  ].filter((filter) => filter !== null);
  const where = filters.length > 0 ? sql.join(filters, sql` and `) : sql`true`;
  return toPage(await readFigures(services, where, limit + 1), limit, "id");
}

/** One user. Throws `not_found`. */
export async function readUser(services: Reading, { id }: { id: string }): Promise<UserFigures> {
  const [user] = await readFigures(services, sql`u.id = ${id}`, 1);
  if (!user) throw new AppError("not_found");
  return user;
}

async function readFigures({ db, config }: Reading, where: SQL, limit: number): Promise<UserFigures[]> {
  const { users, sessions, apiKeys, jobs, images } = schema;
  const [guestBytes, userBytes] = [storageLimit(config.limits, true), storageLimit(config.limits, false)];
  return db.execute<Record<string, unknown> & UserFigures>(sql`
    with page as (select * from ${users} u where ${where} order by u.id desc limit ${limit})
    select u.id, u.name, case when u.is_anonymous or u.deleted_at is not null then null else u.email end as email,
      ${roleOf} as role, ${stateOf} as state, ${isoText("u.created_at")} as "createdAt",
      round(extract(epoch from now() - seen.at) * 1000)::float8 as "seenMs",
      (select coalesce(sum(size_bytes), 0)::float8 from ${images} where owner_id = u.id
        and (deleted_at is null or deleted_at > ${restorableSince(config)})) as "usedBytes",
      u.quota_bytes::float8 as "quotaBytes",
      coalesce(u.quota_bytes, case when u.is_anonymous then ${guestBytes}::bigint else ${userBytes}::bigint end)::float8 as "limitBytes",
      (select count(*)::int from ${jobs} j where j.owner_id = u.id and j.status in ${[...openStatuses]}) as "openJobs",
      (select count(*)::int from (select 1 from ${jobs} j where j.owner_id = u.id limit ${countedJobs}) counted) as jobs,
      (select count(*)::int from (select 1 from ${images} i where i.owner_id = u.id and i.deleted_at is null limit ${countedJobs}) counted) as images
    from page u left join lateral (select greatest(
      (select max(s.updated_at) from ${sessions} s where s.user_id = u.id),
      (select max(k.last_request) from ${apiKeys} k where k.reference_id = u.id),
      (select j.created_at from ${jobs} j where j.owner_id = u.id order by j.id desc limit 1),
      (select coalesce(i.added_at, i.created_at) from ${images} i where i.owner_id = u.id and i.deleted_at is null order by i.id desc limit 1)
    ) as at) seen on true
    order by u.id desc`);
}

const isoText = (column: string) =>
  sql.raw(`to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`);
