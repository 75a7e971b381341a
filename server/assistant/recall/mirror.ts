import { type SQL, sql } from "drizzle-orm";
import { schema, type Tx } from "../../db/index.ts";
import type { Services } from "../../services.ts";
import type { Period } from "./rows.ts";
import { textArray } from "./stems.ts";
import {
  encodeQuery,
  few,
  leastDeviations,
  maxNear,
  type Meaning,
  type VectorOwner,
} from "../../meaning/index.ts";

const { assistantMessages, recallVectors, users } = schema;

/**
 * A copy of the vectors in the type of pgvector, for users whose vectors no process has in memory. No migration creates
 * this table, since most databases lack the extension; the worker that makes vectors creates it. Codes are copied exactly.
 */
const mirror = sql.identifier("recall_copies");
/**
 * What versions that knew no conversations copied to. These make it and write to it as they know it, also while they run
 * beside this one: another shape needs another name.
 */
const olderMirror = sql.identifier("recall_mirror");

/** A row has to fit into a page of the database. */
const mostDimensions = 4_000;

/** Bounds of a search by meaning. */
export const meaningLimits = {
  /** Words alone decide rather than that a question waits longer for the vectors of a user, or for pgvector. */
  waitMs: 1_000,
};

/** False also when the extension was removed, which takes the column with it. */
async function hasMirror(db: Services["db"]): Promise<boolean> {
  const [row] = await db.execute<{ is: boolean }>(sql`
    select exists (select from pg_attribute where attrelid = to_regclass('recall_copies')
      and attname = 'codes' and not attisdropped and atttypid = to_regtype('halfvec')) as is`);
  return row?.is ?? false;
}

/** Tried again now and then, since an admin may create the extension; said once. */
const warned = new WeakSet<object>();

async function createMirror({ db, log }: Pick<Services, "db" | "log">): Promise<boolean> {
  try {
    const [known] = await db.execute(sql`select from pg_available_extensions where name = 'vector'`);
    if (!known) return false;
    await db.transaction(async (tx) => {
      await tx.execute(sql`create extension if not exists vector`);
      await tx.execute(sql`drop table if exists ${mirror}`);
      await tx.execute(sql`
        create table ${mirror} (id uuid primary key references ${recallVectors} on delete cascade, owner_id text not null,
          model text not null, dimensions int not null, from_at timestamptz not null, to_at timestamptz not null,
          revision bigint not null, conversation_id uuid, codes halfvec storage plain not null)`);
      await tx.execute(sql`create index recall_copies_owner on ${mirror} (owner_id, model, revision)`);
    });
    return true;
  } catch (error) {
    if (!warned.has(db))
      log.warn({ err: error }, "pgvector is there, and this database or its role cannot use it");
    warned.add(db);
    return false;
  }
}

/** Again now and then, since a worker of such a version that still runs makes it again. */
async function dropOlder({ db, log }: Pick<Services, "db" | "log">): Promise<void> {
  try {
    const [left] = await db.execute(sql`select where to_regclass('recall_mirror') is not null`);
    if (!left) return;
    await db.transaction(async (tx) => {
      // The drop also waits for the lock of the vectors, and all later readers of them wait behind it.
      await tx.execute(sql`select set_config('lock_timeout', ${String(meaningLimits.waitMs)}, true)`);
      await tx.execute(sql`drop table if exists ${olderMirror}`);
    });
  } catch (error) {
    log.warn({ err: error }, "the copy of vectors of an older version could not be removed");
  }
}

interface Behind extends Record<string, unknown> {
  readonly ownerId: string;
  readonly dimensions: number;
}

const pageRows = 500;
/** What is left then has to wait for the next round, so that new texts do not wait for old ones. */
const roundMs = 20_000;

/** Where there is pgvector: copies what is missing of a model's vectors, for each user in the order of their revisions. */
export async function mirrorVectors(
  services: Pick<Services, "db" | "log">,
  {
    model,
    signal,
    mayCreate,
  }: { readonly model: string; readonly signal: AbortSignal; readonly mayCreate: boolean },
): Promise<void> {
  const { db, log } = services;
  try {
    if (mayCreate) await dropOlder(services);
    if (!(await hasMirror(db)) && !(mayCreate && (await createMirror(services)))) return;
    const behind = await db.execute<Behind>(sql`
      select u.id as "ownerId", v.dimensions from ${users} u, lateral (
        select v.dimensions, v.revision from ${recallVectors} v where v.owner_id = u.id and v.model = ${model}
          and v.dimensions between 1 and ${mostDimensions} order by v.revision desc limit 1) v
      where v.revision > coalesce((select max(m.revision) from ${mirror} m where m.owner_id = u.id and m.model = ${model}), 0)`);
    const endMs = performance.now() + roundMs;
    const mayGoOn = () => !signal.aborted && performance.now() < endMs;
    for (const { ownerId: userId, dimensions } of behind)
      while (mayGoOn() && (await mirrorNext(db, { userId, model, dimensions })) === pageRows);
  } catch (error) {
    log.warn({ err: error }, "vectors could not be copied for pgvector");
  }
}

const ofOwner = ({ userId, model, dimensions }: VectorOwner): SQL =>
  sql`owner_id = ${userId} and model = ${model} and dimensions = ${dimensions}`;

/** Bytes are numbers from 0 to 255 for the database. */
const signed = sql`array(select (b + 128) % 256 - 128 from generate_series(0, length(codes) - 1) at, get_byte(codes, at) b order by at)`;

async function mirrorNext(db: Services["db"], owner: VectorOwner): Promise<number> {
  const columns = sql`id, owner_id, model, dimensions, from_at, to_at, revision`;
  // The lock: a vector that is deleted meanwhile is not copied.
  const [copied] = await db.execute<{ count: number }>(sql`
    with next as (select * from ${recallVectors} where ${ofOwner(owner)}
      and revision > coalesce((select max(revision) from ${mirror} where ${ofOwner(owner)}), 0)
      order by revision limit ${pageRows} for key share),
    copied as (insert into ${mirror} (${columns}, conversation_id, codes)
      select ${columns}, (select m.conversation_id from ${assistantMessages} m where m.id = next.id), ${signed}::halfvec from next
      on conflict (id) do update set owner_id = excluded.owner_id, model = excluded.model, dimensions = excluded.dimensions,
        from_at = excluded.from_at, to_at = excluded.to_at, revision = excluded.revision,
        conversation_id = excluded.conversation_id, codes = excluded.codes returning 1)
    select count(*)::int as count from copied`);
  return copied?.count ?? 0;
}

interface MirrorSearch {
  readonly vector: readonly number[];
  readonly within: Period | null;
}

/**
 * Compares the query with all vectors of a user in the database, by pgvector and exactly. Null without it, while it lacks
 * some of them, and when it takes too long.
 */
export async function searchMirror(
  { db, log }: Pick<Services, "db" | "log">,
  owner: VectorOwner,
  { vector, within }: MirrorSearch,
): Promise<Meaning | null> {
  try {
    const codes = encodeQuery(vector);
    if (!codes || owner.dimensions > mostDimensions || !(await hasMirror(db))) return null;
    const start = within?.from?.toISOString() ?? "-infinity";
    const end = within?.to?.toISOString() ?? "infinity";
    // As a text: the type has another number once the extension was removed and came back, which prepared statements keep.
    const nearness = sql`1 - (codes <=> ${`[${codes.join(",")}]`}::text::halfvec)`;
    const rows = sql`${mirror} where ${ofOwner(owner)} and to_at >= ${start}::timestamptz and from_at <= ${end}::timestamptz`;
    return await compare(db, { owner, nearness, rows });
  } catch (error) {
    log.warn({ err: error }, "pgvector could not be used");
    return null;
  }
}

interface Comparison {
  readonly owner: VectorOwner;
  readonly nearness: SQL;
  /** Table and conditions. */
  readonly rows: SQL;
}

interface NearRow extends Record<string, unknown> {
  readonly mean: number;
  readonly deviation: number;
  readonly id: string | null;
  /** Null for a conversation. */
  readonly revision: string | null;
  readonly nearness: number;
}

async function compare(db: Services["db"], { owner, nearness, rows }: Comparison): Promise<Meaning | null> {
  const last = (table: SQL) => sql`(select max(revision) from ${table} where ${ofOwner(owner)})`;
  const found = await db.transaction(async (tx) => {
    await limitStatement(tx);
    return tx.execute<NearRow>(sql`
      with compared as materialized (select id, revision, conversation_id, ${nearness} as nearness from ${rows}
        and ${last(sql`${recallVectors}`)} = ${last(sql`${mirror}`)}),
      figures as (select avg(nearness) as mean, coalesce(nullif(stddev_pop(nearness), 0), 1) as deviation,
        count(*) as count from compared)
      select mean, deviation, near.* from figures left join lateral (
        (select id, revision, nearness from compared
          where nearness >= mean + deviation * (case when count < ${few} then 0 else ${leastDeviations} end)
          order by nearness desc limit ${maxNear})
        union all
        select conversation_id, null, mean + sum(nearness - mean) / (count(*) + 1) from compared
          where conversation_id is not null group by conversation_id) near on true where count > 0`);
  });
  const [first] = found;
  if (!first) return null;
  const deviationsOf = (value: number) => (value - first.mean) / first.deviation;
  const known = new Map<string, number>();
  const conversations = new Map<string, number>();
  const near = found.flatMap(({ id, revision, nearness: value }) => {
    if (id === null) return [];
    if (revision === null) {
      conversations.set(id, deviationsOf(value));
      return [];
    }
    known.set(id, deviationsOf(value));
    return [{ id, revision: Number(revision) }];
  });
  return {
    near,
    of: (id) => known.get(id) ?? 0,
    ofConversation: (id) => conversations.get(id) ?? 0,
    async learn(ids) {
      const missing = ids.filter((id) => !known.has(id));
      if (missing.length === 0) return;
      const read = await db.execute<{ id: string; nearness: number }>(sql`
        select id, ${nearness} as nearness from ${rows} and id = any(${textArray(missing)}::uuid[])`);
      for (const row of read) known.set(row.id, deviationsOf(row.nearness));
    },
    forget: () => undefined,
  };
}

async function limitStatement(tx: Tx): Promise<void> {
  await tx.execute(sql`
    select set_config('statement_timeout', ${String(meaningLimits.waitMs)}, true), set_config('work_mem', '64MB', true), set_config('jit', 'off', true)`);
}
