import { sql, type SQL } from "drizzle-orm";
import { z } from "zod";
import { type JobStatus, jobStatuses, openStatuses, schema, type Tier } from "../db/index.ts";
import { type JobKind, jobKinds, type Need } from "../engines.ts";
import { AppError, type ErrorCode, isErrorCode, isId, isStorable } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { isFinal, tierOf } from "./job.ts";
import { serverLabelOf } from "./read.ts";
import { sessionIdSchema } from "./request.ts";

const word = z.string().trim().min(1).max(200).refine(isStorable).optional();

export const searchJobsSchema = z.object({
  /** `nextCursor` of the previous page. */
  cursor: z.string().max(64).optional(),
  limit: z.number().int().min(1).max(100).default(50),
  /** Start of a job's id, the id of its request, or a part of the prompt, the error, the workflow or the metadata. */
  text: word,
  /** A part of the owner's e-mail address or name, or the id. */
  owner: word,
  status: z.enum(["open", ...jobStatuses]).optional(),
  kind: z.enum(jobKinds).optional(),
  queue: word,
  /** Name of a node. */
  node: word,
  session: sessionIdSchema.optional(),
  /** A part of a server's address. */
  server: word,
  code: z.custom<ErrorCode>((value) => typeof value === "string" && isErrorCode(value)).optional(),
});

type SearchInput = z.output<typeof searchJobsSchema>;

/** A job as a row of the list. Times are ISO 8601. */
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
  /** Until the start, the end without a start, or now. */
  readonly waitedMs: number;
  /** Null when it has not started. */
  readonly ranMs: number | null;
}

export interface JobSearchPage {
  readonly items: readonly FoundJob[];
  /** Null after the last job. */
  readonly nextCursor: string | null;
}

/** Rows that one page examines at most, so that a search with rare matches costs no more than others. */
const maxExamined = 10_000;
/** Lower limit for text and owner searches, which are slower. */
const maxExaminedSlow = 4_000;
const maxOwners = 20;

/**
 * Jobs of all owners, newest first. A page may hold fewer than `limit` jobs, even none, and still have a next one: it
 * ends when it has examined its share of rows.
 */
export async function searchJobs({ db }: Pick<Services, "db">, input: SearchInput): Promise<JobSearchPage> {
  if (input.cursor !== undefined && !isId(input.cursor))
    throw new AppError("bad_request", "The cursor is invalid. Use the nextCursor of the previous page.");
  const owners = input.owner === undefined ? null : await findOwners(db, input.owner);
  if (owners?.length === 0) return { items: [], nextCursor: null };
  const ids = input.text === undefined ? null : idRange(input.text);
  const page = await searchOf(db, { input, owners, ids });
  // A text that could be a job's id may be a request's id instead, or a word such as "facade".
  const isFound = page.items.length > 0 || page.nextCursor !== null;
  return ids === null || isFound ? page : searchOf(db, { input, owners, ids: null });
}

interface Search {
  readonly input: SearchInput;
  /** Null for all owners. */
  readonly owners: readonly string[] | null;
  /** What the text means as the start of an id; null to look for it as text. */
  readonly ids: ReturnType<typeof idRange>;
}

async function searchOf(db: Services["db"], search: Search): Promise<JobSearchPage> {
  const { input, owners } = search;
  const { limit } = input;
  const { slice, filters } = planSearch(search);
  const share = filters.length > 0 ? shareOf(input, owners) : limit + 1;
  const found = await readFound(db, { owners, slice, filters, share, limit: limit + 1 });
  const isFull = found.length > limit;
  // The share of each owner ends at another id. Rows older than the newest of these ends belong to a later page, also
  // when this page is full.
  const mayGap = filters.length > 0 && (!isFull || (owners !== null && owners.length > 1));
  const last = mayGap ? await readEnd(db, { owners, slice, share }) : null;
  const items = last === null ? found : found.filter(({ id }) => id >= last);
  return items.length > limit ? pageOf(items.slice(0, limit)) : { items, nextCursor: last };
}

function shareOf({ text }: SearchInput, owners: readonly string[] | null): number {
  if (owners !== null) return Math.floor(maxExaminedSlow / owners.length);
  return text === undefined ? maxExamined : maxExaminedSlow;
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
  return result.map(({ id }) => id);
}

/** A search, split into conditions for an index (`slice`) and conditions for each row (`filters`). */
interface Plan {
  readonly slice: readonly SQL[];
  readonly filters: readonly SQL[];
}

function planSearch({ input, ids }: Search): Plan {
  const byStatus = planStatus(input.status);
  return {
    slice: [
      ...(input.cursor === undefined ? [] : [sql`j.id < ${input.cursor}`]),
      ...(ids ? [sql`j.id between ${ids.low} and ${ids.high}`] : []),
      ...byStatus.slice,
      ...(input.session === undefined ? [] : [sql`j.session_id = ${input.session}`]),
    ],
    filters: [...(ids ? [] : textFilter(input.text)), ...byStatus.filters, ...fieldFilters(input)],
  };
}

/** Open, failed and cancelled jobs have partial indexes. */
function planStatus(status: SearchInput["status"]): Plan {
  if (status === undefined) return { slice: [], filters: [] };
  if (status === "open") return { slice: [sql`j.status in ${[...openStatuses]}`], filters: [] };
  if (status === "completed") return { slice: [], filters: [sql`j.status = ${status}`] };
  if (isFinal(status)) return { slice: [sql`j.status = ${status}`], filters: [] };
  return { slice: [sql`j.status in ${[...openStatuses]}`], filters: [sql`j.status = ${status}`] };
}

/** The range of ids that start with these hexadecimal digits (at least six, dashes ignored); null for other text. */
function idRange(text: string): { readonly low: string; readonly high: string } | null {
  const digits = text.toLowerCase().replaceAll("-", "");
  if (!/^[0-9a-f]{6,32}$/.test(digits)) return null;
  return { low: toId(digits.padEnd(32, "0")), high: toId(digits.padEnd(32, "f")) };
}

function toId(digits: string): string {
  const part = (from: number, to: number) => digits.slice(from, to);
  return [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-");
}

const escapeLike = (text: string) => text.replaceAll(/[\\%_]/g, String.raw`\$&`);
const contains = (text: string) => `%${escapeLike(text)}%`;

function textFilter(text: string | undefined): SQL[] {
  if (text === undefined) return [];
  const like = contains(text);
  return [
    sql`(j.params ->> 'prompt' ilike ${like} or j.error_message ilike ${like} or j.workflow ilike ${like}
      or j.metadata::text ilike ${like} or j.request_id = ${text})`,
  ];
}

function fieldFilters({ kind, queue, node, server, code }: SearchInput): SQL[] {
  const isOnNode = sql`j.node_id in (select n.id from ${schema.nodes} n where n.name = ${node})`;
  return [
    kind && sql`j.kind = ${kind}`,
    queue && sql`j.queue = ${queue}`,
    node && isOnNode,
    server && sql`j.server ilike ${contains(server)}`,
    code && sql`j.error_code = ${code}`,
  ].filter((filter) => filter !== undefined && filter !== "");
}

interface Source extends Plan {
  /** Null for all owners. */
  readonly owners: readonly string[] | null;
  /** Rows to examine, per owner if there are owners. */
  readonly share: number;
}

/** SQL: the newest rows of all, or of each owner; read row by row, so that a full page stops early. */
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

/** The last examined id; null when no rows are left. */
async function readEnd(db: Services["db"], source: Omit<Source, "filters">): Promise<string | null> {
  const rows = rowsOf(source, sql`j.id`, sql`offset ${source.share - 1} limit 1`);
  const result = await db.execute<{ id: string | null }>(sql`select max(j.id::text) as id from ${rows}`);
  return result[0]?.id ?? null;
}

type Row = Record<string, unknown> & Omit<FoundJob, "tier"> & { readonly tier: number };

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
  return result.map((row) => ({ ...row, tier: tierOf(row.tier) }));
}
