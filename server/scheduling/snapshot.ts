import { type Config, keepNewest, keptBy } from "../platform/index.ts";
import type { Db } from "../db/index.ts";
import type { Need } from "../engines.ts";
import { readRunCosts, type RunCost, type RunCosts } from "./costs.ts";
import { behindOneMore, type Outlook, readOutlooks } from "./waits.ts";
import { type Place, readPlaces } from "./places.ts";

/**
 * What a process remembers of places and lines, so that many submits in a row read them once. Jobs that the process
 * accepts meanwhile are added, so that a burst spreads over the queues and each job of an owner waits behind the last.
 */
interface Snapshot {
  readonly places: Map<string, Kept<Place[]>>;
  readonly outlooks: Map<string, Kept<Outlooks>>;
}

/** The outlook of one share in some queues. */
interface Outlooks {
  readonly share: Share;
  readonly outlooks: readonly Outlook[];
}

interface Kept<Value> {
  readonly readAtMs: number;
  readonly reading: Promise<Value>;
  /** Null while it is read, and for good after a failed read. */
  value: Value | null;
}

/**
 * The same database with a separate memory, for jobs that are planned and not stored: each of them waits behind the last, and
 * no other request counts them.
 */
export function withOwnMemory(db: Db): Db {
  // Safe: a new object with the same members; only its identity, by which memories are kept, is another one.
  return Object.create(db) as Db;
}

/** Entries of each map; the oldest is dropped first. */
const keptEntries = 500;

const snapshotOf = keptBy((_db: Db): Snapshot => ({ places: new Map(), outlooks: new Map() }));

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
  const entry: Kept<Value> = { readAtMs: performance.now(), reading: read(), value: null };
  keepNewest(entries, [key, entry], keptEntries);
  entry.value = await entry.reading;
  return entry.value;
}

/** `readPlaces`, at most `maxAgeMs` old. Reads again when no live node can serve any of the needs. */
export async function recallPlaces(
  db: Db,
  config: Pick<Config, "queues">,
  { needs, maxAgeMs }: Pick<OutlookInput, "needs" | "maxAgeMs">,
): Promise<Place[]> {
  return recall(snapshotOf(db).places, needs.join(" "), {
    maxAgeMs,
    isGood: (places) => places.some(({ slots }) => slots > 0),
    read: () => readPlaces(db, config, needs),
  });
}

/** Whose share of the lines a new job would be the last of. */
export interface Share {
  readonly ownerId: string;
  readonly tier: number;
}

export interface OutlookInput {
  readonly share: Share;
  readonly queues: readonly string[];
  readonly needs: readonly Need[];
  readonly maxAgeMs: number;
}

/** The outlook of a new job in each of these queues, at most `maxAgeMs` old, and the run costs of all that is involved. */
export async function recallOutlooks(
  db: Db,
  { share, queues, needs, maxAgeMs }: OutlookInput,
): Promise<{ readonly outlooks: readonly Outlook[]; readonly costs: RunCosts }> {
  const { ownerId, tier } = share;
  const targets = queues.map((queue) => ({ queue, ownerId, tier, ownerOrder: null, isQueued: false }));
  const known = await recall(
    snapshotOf(db).outlooks,
    [tier, ownerId, queues.join(" "), needs.join(" ")].join("|"),
    {
      maxAgeMs,
      isGood: ({ outlooks }) => outlooks.some(({ lanes }) => lanes.length > 0),
      read: async () => ({ share, outlooks: (await readOutlooks(db, targets, needs)).outlooks }),
    },
  );
  return { outlooks: known.outlooks, costs: await readRunCosts(db, needs) };
}

/** A job that this process accepted. */
export interface AcceptedJob {
  readonly queue: string;
  readonly need: Need;
  readonly cost: RunCost;
  readonly share: Share;
  /** It went straight into the window. */
  readonly isQueued: boolean;
}

/** Adds an accepted job to what the process remembers; a read under way may count it already. */
export function noteAccepted(db: Db, job: AcceptedJob): void {
  const { places, outlooks } = snapshotOf(db);
  for (const entry of places.values()) {
    if (entry.value && !job.isQueued) entry.value = entry.value.map((place) => withWaiting(place, job));
  }
  for (const entry of outlooks.values()) {
    const { value } = entry;
    // Other owners have their turn between, so only the job's own share surely waits behind it.
    if (value?.share.ownerId !== job.share.ownerId || value.share.tier > job.share.tier) continue;
    entry.value = {
      ...value,
      outlooks: value.outlooks.map((outlook) =>
        outlook.queue === job.queue ? behindOneMore(outlook, job.need, job.cost) : outlook,
      ),
    };
  }
}

function withWaiting(place: Place, { queue }: AcceptedJob): Place {
  return place.queue === queue ? { ...place, waiting: place.waiting + 1 } : place;
}
