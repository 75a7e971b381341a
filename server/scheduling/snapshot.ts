import type { Db } from "../db/index.ts";
import type { Need } from "../engines.ts";
import { type LineTarget, readWaits, type Wait } from "./estimate.ts";
import { type Place, readPlaces } from "./places.ts";

/**
 * What a process remembers of places and lines, so that many submits in a row read them once. Jobs that the process
 * accepts meanwhile are added, so that a burst spreads over the queues and each job of an owner waits behind the last.
 */
interface Snapshot {
  readonly places: Map<string, Kept<Place[]>>;
  readonly waits: Map<string, Kept<Wait>>;
}

interface Kept<Value> {
  readonly readAtMs: number;
  readonly reading: Promise<Value>;
  /** Null while it is read, and for good after a failed read. */
  value: Value | null;
}

/** Entries of each map; the oldest is dropped first. */
const keptEntries = 500;
const snapshots = new WeakMap<Db, Snapshot>();

function snapshotOf(db: Db): Snapshot {
  const known = snapshots.get(db) ?? { places: new Map(), waits: new Map() };
  snapshots.set(db, known);
  return known;
}

/** How old an answer may be, and whether a remembered one is good enough: a missing node may have joined since. */
interface Recall<Value> {
  readonly maxAgeMs: number;
  readonly isGood: (value: Value) => boolean;
  readonly read: () => Promise<Value>;
}

async function recall<Value>(
  entries: Map<string, Kept<Value>>,
  key: string,
  { maxAgeMs, isGood, read }: Recall<Value>,
): Promise<Value> {
  const known = entries.get(key);
  if (known && performance.now() - known.readAtMs <= maxAgeMs) {
    const value = known.value ?? (await known.reading.catch(() => null));
    if (value !== null && isGood(value)) return value;
  }
  entries.delete(key);
  const entry: Kept<Value> = { readAtMs: performance.now(), reading: read(), value: null };
  entries.set(key, entry);
  const [oldest] = entries.size > keptEntries ? entries.keys() : [];
  if (oldest !== undefined) entries.delete(oldest);
  entry.value = await entry.reading;
  return entry.value;
}

/** `readPlaces`, at most `maxAgeMs` old. Reads again when no live node can serve any of the needs. */
export async function recallPlaces(db: Db, needs: readonly Need[], maxAgeMs: number): Promise<Place[]> {
  return recall(snapshotOf(db).places, needs.join(" "), {
    maxAgeMs,
    isGood: (places) => places.some(({ slots }) => slots > 0),
    read: () => readPlaces(db, needs),
  });
}

/** A new job that would be the last of its owner's share. */
export type NewTarget = Pick<LineTarget, "need" | "ownerId" | "tier">;

const waitKey = (queue: string, { need, ownerId, tier }: NewTarget) => `${tier} ${queue} ${need} ${ownerId}`;

/** `readWaits` for a new job, at most `maxAgeMs` old. */
export async function recallWait(
  db: Db,
  queue: string,
  { target, maxAgeMs }: { target: NewTarget; maxAgeMs: number },
): Promise<Wait> {
  return recall(snapshotOf(db).waits, waitKey(queue, target), {
    maxAgeMs,
    isGood: ({ isLive }) => isLive,
    async read() {
      const [wait] = await readWaits(db, queue, [{ ...target, ownerOrder: null, isQueued: false }]);
      if (!wait) throw new Error("no wait for the one target");
      return wait;
    },
  });
}

/** A job that this process accepted. */
export interface AcceptedJob {
  readonly queue: string;
  readonly target: NewTarget;
  /** It went straight into the window. */
  readonly isQueued: boolean;
}

/** Adds an accepted job to what the process remembers; a read under way may count it already. */
export function noteAccepted(db: Db, job: AcceptedJob): void {
  const { places, waits } = snapshotOf(db);
  for (const entry of places.values()) {
    const { value } = entry;
    if (value) entry.value = value.map((place) => withJob(place, job, value));
  }
  const wait = waits.get(waitKey(job.queue, job.target));
  if (wait?.value) wait.value = behindOneMore(wait.value);
}

function withJob(place: Place, { queue, target, isQueued }: AcceptedJob, known: readonly Place[]): Place {
  if (place.queue !== queue) return place;
  const runMs = known.find(({ need }) => need === target.need)?.runMs ?? place.runMs;
  return { ...place, workMs: place.workMs + runMs, waiting: place.waiting + (isQueued ? 0 : 1) };
}

/** The wait of the next job of the same owner: for a free slot none, else one more run before it, shared by the slots. */
function behindOneMore(wait: Wait): Wait {
  const { position, waitMs, cost, slots, freeSlots } = wait;
  const next = { ...wait, position: position + 1, freeSlots: Math.max(0, freeSlots - 1) };
  if (next.freeSlots > 0) return next;
  const ms = Math.round(cost.meanMs / Math.max(1, slots));
  return { ...next, waitMs: [waitMs[0] + ms, waitMs[1] + ms] };
}
