import { keptBy } from "../platform/index.ts";
import { type SQL, sql } from "drizzle-orm";
import { schema } from "../db/index.ts";
import type { Services } from "../services.ts";
import { createByteRows, lengthOf } from "./vector-scan.ts";
import { type Meaning, remove, search, type Table, type Within } from "./vector-search.ts";

const { recallVectors } = schema;

/** What one vector takes besides its codes. */
const bytesPerRow = 250;
const sizeOf = ({ rows, ids }: Table) => rows.sizeBytes + ids.length * bytesPerRow;

/** What a process has read. */
interface Shelf {
  /** By user, model and dimensions; those used last stand last. */
  readonly tables: Map<string, Table>;
  /** Until when those are not read again that did not fit. */
  readonly refusedUntilMs: Map<string, number>;
}

const openShelf = keptBy((_db: Services["db"]): Shelf => ({ tables: new Map(), refusedUntilMs: new Map() }));

export interface VectorOwner {
  readonly userId: string;
  readonly model: string;
  readonly dimensions: number;
}

const keyOf = ({ userId, model, dimensions }: VectorOwner) => `${userId} ${dimensions} ${model}`;

const isMostlyEmpty = ({ ids, rowById }: Table) => ids.length > 2 * rowById.size + pageRows;

/** A table that nobody searched for so long is dropped. */
const idleMs = 5 * 60_000;
const pageRows = 2_000;

/** Whether a user has vectors of a model. Their dimensions, or null. */
export async function findDimensions(
  { db }: Pick<Services, "db">,
  { userId, model }: Omit<VectorOwner, "dimensions">,
): Promise<number | null> {
  const [row] = await db.execute<{ dimensions: number }>(sql`
    select dimensions from ${recallVectors} where owner_id = ${userId} and model = ${model} and dimensions > 0
    order by revision desc limit 1`);
  return row?.dimensions ?? null;
}

/**
 * Reads what was stored since the last search. Null when the vectors of the user need more memory than the process may use
 * for this.
 */
export async function readVectors(
  { db }: Pick<Services, "db">,
  owner: VectorOwner,
  { maxBytes }: { readonly maxBytes: number },
): Promise<VectorTable | null> {
  const { tables, refusedUntilMs } = openShelf(db);
  const key = keyOf(owner);
  const refusal = `${maxBytes} ${key}`;
  if (performance.now() < (refusedUntilMs.get(refusal) ?? 0)) return null;
  refusedUntilMs.delete(refusal);
  const known = tables.get(key);
  const table = known && !isMostlyEmpty(known) ? known : createTable(owner.dimensions);
  // Set again, so that it stands last.
  tables.delete(key);
  tables.set(key, table);
  if (known?.idle) clearTimeout(known.idle);
  table.idle = setTimeout(() => tables.delete(key), idleMs).unref();
  const reading = table.turn.then(() => readNew(db, owner, { table, maxBytes }));
  table.turn = reading.catch(() => undefined);
  await reading;
  if (sizeOf(table) > maxBytes) {
    // Instead of all others, and of being read again with each question.
    clearTimeout(table.idle);
    tables.delete(key);
    refusedUntilMs.set(refusal, performance.now() + idleMs);
    return null;
  }
  for (const [other, { idle }] of tables) {
    if ([...tables.values()].reduce((sum, each) => sum + sizeOf(each), 0) <= maxBytes) break;
    if (idle) clearTimeout(idle);
    tables.delete(other);
  }
  return { search: (query, within) => search(table, query, within) };
}

export interface VectorTable {
  /** Compares the query with all vectors within a period. Null for a query of another model. */
  search(query: readonly number[], within: Within | null): Meaning | null;
}

function createTable(dimensions: number): Table {
  return {
    rows: createByteRows(dimensions),
    rowById: new Map(),
    ids: [],
    lengths: [],
    revisions: [],
    fromMs: [],
    toMs: [],
    conversations: [],
    numberOf: new Map(),
    revision: 0,
    countedAtMs: performance.now(),
    turn: Promise.resolve(),
    idle: null,
  };
}

interface VectorRow extends Record<string, unknown> {
  readonly id: string;
  readonly codes: string;
  readonly fromMs: number;
  readonly toMs: number;
  readonly revision: string;
  readonly conversationId: string | null;
}

const ofOwner = ({ userId, model, dimensions }: VectorOwner): SQL =>
  sql`owner_id = ${userId} and model = ${model} and dimensions = ${dimensions}`;

async function readNew(
  db: Services["db"],
  owner: VectorOwner,
  { table, maxBytes }: { readonly table: Table; readonly maxBytes: number },
): Promise<void> {
  for (let count = pageRows; count === pageRows && sizeOf(table) <= maxBytes;) {
    const rows = await db.execute<VectorRow>(sql`
      select id, encode(codes, 'base64') as codes, revision, extract(epoch from from_at)::float8 * 1000 as "fromMs",
        extract(epoch from to_at)::float8 * 1000 as "toMs",
        (select m.conversation_id from assistant_messages m where m.id = v.id) as "conversationId"
      from ${recallVectors} v where ${ofOwner(owner)} and revision > ${table.revision} order by revision limit ${pageRows}`);
    for (const row of rows) append(table, row);
    count = rows.length;
  }
  if (performance.now() - table.countedAtMs > recountMs) {
    table.countedAtMs = performance.now();
    await dropDeleted(db, owner, table);
  }
}

function append(table: Table, { id, codes, fromMs, toMs, revision, conversationId }: VectorRow): void {
  const bytes = Buffer.from(codes, "base64");
  remove(table, id);
  table.rowById.set(id, table.ids.length);
  table.ids.push(id);
  table.lengths.push(lengthOf(bytes));
  table.fromMs.push(fromMs);
  table.toMs.push(toMs);
  table.conversations.push(conversationId === null ? -1 : numberOf(table, conversationId));
  table.rows.append(bytes);
  table.revision = Number(revision);
  table.revisions.push(table.revision);
}

function numberOf({ numberOf: known }: Table, conversationId: string): number {
  const number = known.get(conversationId) ?? known.size;
  known.set(conversationId, number);
  return number;
}

/**
 * What is deleted is found in no search, since each reads its hits from the database; this often what another process
 * deleted leaves the memory of this one.
 */
const recountMs = 30_000;

async function dropDeleted(db: Services["db"], owner: VectorOwner, table: Table): Promise<void> {
  const [counted] = await db.execute<{ count: number }>(
    sql`select count(*)::int as count from ${recallVectors} where ${ofOwner(owner)}`,
  );
  if (counted?.count === table.rowById.size) return;
  const rows = await db.execute<{ id: string }>(sql`select id from ${recallVectors} where ${ofOwner(owner)}`);
  const live = new Set(rows.map(({ id }) => id));
  for (const id of table.rowById.keys()) if (!live.has(id)) remove(table, id);
}
