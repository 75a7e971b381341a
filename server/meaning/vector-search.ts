import { type ByteRows, encodeQuery, lengthOf } from "./vector-scan.ts";

/** What all vectors of a user say about a query. */
export interface Meaning {
  /** Messages and memories that are nearest in meaning, best first, with the revisions of the vectors that were compared. */
  readonly near: readonly { readonly id: string; readonly revision: number }[];
  /** How many standard deviations a message or memory is nearer than the mean of the user's; 0 without a vector. */
  of(id: string): number;
  /** The mean of that over the messages of a conversation, as if it had one more that is like most; 0 without vectors. */
  ofConversation(id: string): number;
  /** To be awaited before `of` is asked for these. */
  learn(ids: readonly string[]): Promise<void>;
  /** To be called with those of `near` that the database no longer has. */
  forget(ids: readonly string[]): void;
}

export interface Within {
  readonly from: Date | null;
  readonly to: Date | null;
}

/** The vectors of one user that this process has read, in the order of their revisions. */
export interface Table {
  readonly rows: ByteRows;
  readonly rowById: Map<string, number>;
  readonly ids: string[];
  readonly lengths: number[];
  readonly revisions: number[];
  readonly fromMs: number[];
  readonly toMs: number[];
  /** Number of the conversation of each row; -1 without one. */
  readonly conversations: number[];
  readonly numberOf: Map<string, number>;
  revision: number;
  countedAtMs: number;
  /** Reads one after the other: what was stored before a search is found by it. */
  turn: Promise<void>;
  idle: NodeJS.Timeout | null;
}

/** Rows stay where they are, so that a search that is under way reads the right ones; a removed row is like none. */
export function remove(table: Table, id: string): void {
  const row = table.rowById.get(id);
  if (row === undefined) return;
  table.rowById.delete(id);
  table.rows.clear(row);
  table.lengths[row] = 0;
}

/** Hits of a search by meaning. */
export const maxNear = 200;
/** Below, a row is as near as most others; of a few rows the nearer half counts. */
export const leastDeviations = 1;
export const few = 8;

/** Compares a query with all vectors within a period. Null for a query of another model. */
export function search(table: Table, values: readonly number[], within: Within | null): Meaning | null {
  const query = encodeQuery(values);
  if (!query) return null;
  const { nearness, count } = compare(table, query, within);
  const least = count < few ? 0 : leastDeviations;
  const near = nearest(nearness, least);
  let means: Float64Array | undefined;
  return {
    near: near.map((row) => ({ id: table.ids[row] ?? "", revision: table.revisions[row] ?? 0 })),
    of: (id) => nearness[table.rowById.get(id) ?? -1] || 0,
    ofConversation(id) {
      means ??= meansOfConversations(table, nearness);
      return means[table.numberOf.get(id) ?? -1] ?? 0;
    },
    learn: () => Promise.resolve(),
    forget: (ids) => ids.forEach((id) => remove(table, id)),
  };
}

function meansOfConversations({ conversations, numberOf: known }: Table, nearness: Float64Array) {
  const sums = new Float64Array(known.size);
  const counts = new Float64Array(known.size).fill(1);
  for (let row = 0; row < nearness.length; row += 1) {
    const [number, value] = [conversations[row] ?? -1, nearness[row] ?? Number.NaN];
    if (number < 0 || Number.isNaN(value)) continue;
    sums[number] = (sums[number] ?? 0) + value;
    counts[number] = (counts[number] ?? 1) + 1;
  }
  return sums.map((sum, number) => sum / (counts[number] ?? 1));
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
