import { sql, type SQL } from "drizzle-orm";
import { z } from "zod";
import { jobStatuses, schema, tiers, type JobStatus, type Tier } from "../db/index.ts";
import { jobKinds, type JobKind, type Need } from "../engines/index.ts";
import { AppError, isErrorCode, isId, isStorable, type ErrorCode } from "../platform/index.ts";
import type { Services } from "../services/index.ts";
import { escapeLike, planSearch, type Plan } from "./admin/plan-search.ts";
import { serverLabelOf } from "./server-label.ts";

const word = z.string().trim().min(1).max(200).refine(isStorable).optional();

export const searchJobsSchema = z.object({
  /** Of the page before. */
  cursor: z.string().max(64).optional(),
  limit: z.number().int().min(1).max(100).default(50),
  /** Start of an id, or a part of the prompt, the error or the workflow. */
  text: word,
  /** A part of the owner's e-mail address or name, or the id. */
  owner: word,
  status: z.enum(["open", ...jobStatuses]).optional(),
  kind: z.enum(jobKinds).optional(),
  queue: word,
  /** Name of a node. */
  node: word,
  /** A part of a server's address. */
  server: word,
  code: z.custom<ErrorCode>((value) => typeof value === "string" && isErrorCode(value)).optional(),
});

export type SearchInput = z.output<typeof searchJobsSchema>;

/** A job as a line of a list. Times are ISO 8601. */
export interface FoundJob {
  readonly id: string;
  readonly kind: JobKind;
  readonly status: JobStatus;
  readonly tier: Tier;
  readonly queue: string;
  readonly need: Need;
  readonly progress: number;
  readonly attempt: number;
  readonly node: string | null;
  readonly server: string | null;
  readonly owner: { readonly id: string; readonly name: string; readonly email: string | null };
  readonly errorCode: ErrorCode | null;
  readonly cancelRequested: boolean;
  readonly createdAt: string;
  /** Until it started, or until now. */
  readonly waitedMs: number;
  /** Null when it has not started. */
  readonly ranMs: number | null;
}

export interface JobSearchPage {
  readonly items: readonly FoundJob[];
  /** Null when everything has been looked through. */
  readonly nextCursor: string | null;
}

/** One page looks through this many jobs at most, so that a rare thing costs no more than a frequent one. */
const lookThrough = 10_000;
/** Words are dear to compare, and the jobs of several owners lie apart. */
const lookThroughDear = 4_000;
const maxOwners = 20;

/**
 * Jobs of everybody, the newest first. A page may hold less than was asked for, even nothing, and still have a next one:
 * it then has looked through its share.
 */
export async function searchJobs({ db }: Pick<Services, "db">, input: SearchInput): Promise<JobSearchPage> {
  if (input.cursor !== undefined && !isId(input.cursor))
    throw new AppError("bad_request", "The cursor is not one that this list gave.");
  const owners = input.owner === undefined ? null : await findOwners(db, input.owner);
  if (owners?.length === 0) return { items: [], nextCursor: null };
  return searchOf(db, { input, owners });
}

async function searchOf(
  db: Services["db"],
  { input, owners }: { input: SearchInput; owners: readonly string[] | null },
): Promise<JobSearchPage> {
  const { limit } = input;
  const { slice, filters } = planSearch(input);
  const share = filters.length > 0 ? shareOf(input, owners) : limit + 1;
  const found = await readFound(db, { owners, slice, filters, share, limit: limit + 1 });
  const isFull = found.length > limit;
  // Of several owners one may have been looked through further back than another: what lies behind the nearest of the
  // ends belongs to a later page, also when this one is full.
  const mayGap = filters.length > 0 && (!isFull || (owners !== null && owners.length > 1));
  const last = mayGap ? await readEnd(db, { owners, slice, share }) : null;
  const items = last === null ? found : found.filter(({ id }) => id >= last);
  return items.length > limit ? pageOf(items.slice(0, limit)) : { items, nextCursor: last };
}

function shareOf({ text }: SearchInput, owners: readonly string[] | null): number {
  if (owners !== null) return Math.floor(lookThroughDear / owners.length);
  return text === undefined ? lookThrough : lookThroughDear;
}

function pageOf(items: readonly FoundJob[]): JobSearchPage {
  return { items, nextCursor: items.at(-1)?.id ?? null };
}

async function findOwners(db: Services["db"], owner: string): Promise<string[]> {
  const like = `%${escapeLike(owner)}%`;
  const result = await db.execute<{ id: string }>(sql`
    select id from ${schema.users}
    where id = ${owner} or name ilike ${like} or (email ilike ${like} and not coalesce(is_anonymous, false))
    order by id desc limit ${maxOwners}`);
  return result.rows.map(({ id }) => id);
}

interface Source extends Plan {
  /** Null for everybody's. */
  readonly owners: readonly string[] | null;
  /** Rows of each owner, or of all, that are looked at. */
  readonly share: number;
}

/** The newest rows, of everybody or of each owner; read row by row, so that a full page ends it early. */
function rowsOf({ owners, slice }: Omit<Source, "filters">, columns: SQL, tail: SQL): SQL {
  const { jobs } = schema;
  const where = [...slice, ...(owners ? [sql`j.owner_id = o.id`] : [])];
  const rows = sql`(select ${columns} from ${jobs} j
    ${where.length > 0 ? sql`where ${sql.join(where, sql` and `)}` : sql``} order by j.id desc ${tail}) j`;
  if (!owners) return rows;
  const list = sql.join(
    owners.map((id) => sql`${id}`),
    sql`, `,
  );
  return sql`unnest(array[${list}]::text[]) o(id) cross join lateral ${rows}`;
}

/** The last id that was looked at; null when that is the end. */
async function readEnd(db: Services["db"], source: Omit<Source, "filters">): Promise<string | null> {
  const rows = rowsOf(source, sql`j.id`, sql`offset ${source.share - 1} limit 1`);
  const result = await db.execute<{ id: string | null }>(sql`select max(j.id::text) as id from ${rows}`);
  return result.rows[0]?.id ?? null;
}

type Row = Record<string, unknown> & Omit<FoundJob, "tier"> & { readonly tier: number };

const tierNames = new Map<number, Tier>(Object.entries(tiers).map(([name, value]) => [value, name as Tier]));

const isoText = (column: string) =>
  sql.raw(`to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`);

const spanMs = (from: string, to: string) =>
  sql.raw(`round(extract(epoch from ${to} - ${from}) * 1000)::float8`);

async function readFound(
  db: Services["db"],
  { filters, limit, ...source }: Source & { readonly limit: number },
): Promise<FoundJob[]> {
  const { users, nodes } = schema;
  const where = filters.length > 0 ? sql`where ${sql.join([...filters], sql` and `)}` : sql``;
  const result = await db.execute<Row>(sql`
    select p.id, p.kind, p.status, p.tier, p.queue, p.need, p.progress, p.attempt, n.name as node,
      ${serverLabelOf(sql`p.server`)} as server, p.error_code as "errorCode",
      json_build_object('id', u.id, 'name', u.name, 'email', case when u.is_anonymous then null else u.email end) as owner,
      p.cancel_requested_at is not null as "cancelRequested", ${isoText("p.created_at")} as "createdAt",
      ${spanMs("p.created_at", "coalesce(p.started_at, p.ended_at, now())")} as "waitedMs",
      ${spanMs("p.started_at", "coalesce(p.ended_at, now())")} as "ranMs"
    from (select j.* from ${rowsOf(source, sql`j.*`, sql`limit ${source.share}`)} ${where} order by j.id desc limit ${limit}) p
    join ${users} u on u.id = p.owner_id left join ${nodes} n on n.id = p.node_id
    order by p.id desc`);
  return result.rows.map((row) => ({ ...row, tier: tierNames.get(row.tier) ?? "normal" }));
}
