import { keptBy } from "../platform/index.ts";
import { type SQL, sql } from "drizzle-orm";
import { schema } from "../db/index.ts";
import type { Services } from "../services.ts";
import { type ByteRows, createByteRows, encodeQuery, lengthOf } from "./vector-scan.ts";

const { recallVectors } = schema;

/** What all vectors of a user say about a query. */
export interface Meaning {
  /** Messages and memories that are nearest in meaning, best first, with the revisions of the vectors that were compared. */
  readonly near: readonly { readonly id: string; readonly revision: number }[];
  /** How many standard deviations a message or memory is nearer than the mean of the user's; 0 without a vector. */
  of(id: string): number;
  /** To be awaited before `of` is asked for these. */
  learn(ids: readonly string[]): Promise<void>;
  /** To be called with those of `near` that the database no longer has. */
  forget(ids: readonly string[]): void;
}

interface Within {
  readonly from: Date | null;
  readonly to: Date | null;
}

/** The vectors of one user that this process has read, in the order of their revisions. */
interface Table {
  readonly rows: ByteRows;
  readonly rowById: Map<string, number>;
  readonly ids: string[];
  readonly lengths: number[];
  readonly revisions: number[];
  readonly fromMs: number[];
  readonly toMs: number[];
  revision: number;
  countedAtMs: number;
  /** Reads one after the other: what was stored before a search is found by it. */
  turn: Promise<void>;
  idle: NodeJS.Timeout | null;
}

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
        extract(epoch from to_at)::float8 * 1000 as "toMs"
      from ${recallVectors} where ${ofOwner(owner)} and revision > ${table.revision} order by revision limit ${pageRows}`);
    for (const row of rows) append(table, row);
    count = rows.length;
  }
  if (performance.now() - table.countedAtMs > recountMs) {
    table.countedAtMs = performance.now();
    await dropDeleted(db, owner, table);
  }
}

function append(table: Table, { id, codes, fromMs, toMs, revision }: VectorRow): void {
  const bytes = Buffer.from(codes, "base64");
  remove(table, id);
  table.rowById.set(id, table.ids.length);
  table.ids.push(id);
  table.lengths.push(lengthOf(bytes));
  table.fromMs.push(fromMs);
  table.toMs.push(toMs);
  table.rows.append(bytes);
  table.revision = Number(revision);
  table.revisions.push(table.revision);
}

/** Rows stay where they are, so that a search that is under way reads the right ones; a removed row is like none. */
function remove(table: Table, id: string): void {
  const row = table.rowById.get(id);
  if (row === undefined) return;
  table.rowById.delete(id);
  table.rows.clear(row);
  table.lengths[row] = 0;
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

/** Hits of a search by meaning. */
export const maxNear = 200;
/** Below, a row is as near as most others; of a few rows the nearer half counts. */
export const leastDeviations = 1;
export const few = 8;

function search(table: Table, values: readonly number[], within: Within | null): Meaning | null {
  const query = encodeQuery(values);
  if (!query) return null;
  const { nearness, count } = compare(table, query, within);
  const least = count < few ? 0 : leastDeviations;
  const near = nearest(nearness, least);
  return {
    near: near.map((row) => ({ id: table.ids[row] ?? "", revision: table.revisions[row] ?? 0 })),
    of: (id) => nearness[table.rowById.get(id) ?? -1] || 0,
    learn: () => Promise.resolve(),
    forget: (ids) => ids.forEach((id) => remove(table, id)),
  };
}

const steps = 64;
const stepsPerDeviation = 8;

/** The nearest rows, best first. Sorts few of many: only those from the step on which enough others are above. */
function nearest(nearness: Float64Array, least: number): number[] {
  const stepOf = (value: number) => Math.min(steps - 1, Math.floor((value - least) * stepsPerDeviation));
  const counts = new Uint32Array(steps);
  // Plain loops: iterators take longer than the comparison itself.
  for (let row = 0; row < nearness.length; row += 1) {
    const value = nearness[row] ?? Number.NaN;
    if (value >= least) counts[stepOf(value)] = (counts[stepOf(value)] ?? 0) + 1;
  }
  let from = steps;
  for (let above = 0; from > 0 && above < maxNear;) above += counts[(from -= 1)] ?? 0;
  const bound = least + from / stepsPerDeviation;
  const rows: number[] = [];
  for (let row = 0; row < nearness.length; row += 1)
    if ((nearness[row] ?? Number.NaN) >= bound) rows.push(row);
  const sorted = rows.toSorted((one, other) => (nearness[other] ?? 0) - (nearness[one] ?? 0));
  return sorted.slice(0, maxNear);
}

/** How many standard deviations each row is nearer to the query than the mean; NaN for rows that do not count. */
function compare(table: Table, query: Int16Array, within: Within | null) {
  const { lengths } = table;
  const nearness = table.rows.scan(query);
  const queryLength = lengthOf(query);
  const isCounted = createFilter(table, within);
  let [count, sum, squares] = [0, 0, 0];
  for (let row = 0; row < nearness.length; row += 1) {
    const cosine = isCounted(row) ? (nearness[row] ?? 0) / ((lengths[row] ?? 1) * queryLength) : Number.NaN;
    nearness[row] = cosine;
    if (Number.isNaN(cosine)) continue;
    count += 1;
    sum += cosine;
    squares += cosine * cosine;
  }
  const mean = sum / Math.max(1, count);
  const deviation = Math.sqrt(Math.max(0, squares / Math.max(1, count) - mean * mean)) || 1;
  for (let row = 0; row < nearness.length; row += 1)
    nearness[row] = ((nearness[row] ?? Number.NaN) - mean) / deviation;
  return { nearness, count };
}

/** Whether a row is there and within the period. */
function createFilter({ lengths, fromMs, toMs }: Table, within: Within | null): (row: number) => boolean {
  const isThere = (row: number) => (lengths[row] ?? 0) > 0;
  if (!within) return isThere;
  const start = within.from?.getTime() ?? -Infinity;
  const end = within.to?.getTime() ?? Infinity;
  return (row) => isThere(row) && (toMs[row] ?? 0) >= start && (fromMs[row] ?? 0) <= end;
}
