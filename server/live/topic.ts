import type { HintMessage, LiveMessage } from "../queue/index.ts";
import type { Services } from "../services.ts";
import { isNewer, type LiveSource, type Mark, type Row } from "./source.ts";

/** A message to the watchers of an owner. All of them get the same object, so that it is serialised once. */
export type FeedEvent<View, Update> =
  | {
      readonly type: "rows";
      readonly rows: readonly Row<View>[];
      readonly at: string;
      readonly update: Update | null;
    }
  | { readonly type: "live"; readonly id: string; readonly update: Update };

/** Receives the changes of the rows of one owner. */
export interface Watcher<View, Update> {
  readonly ownerId: string;
  /** Whether live updates are pushed as well; workers make previews only while such a watcher is connected. */
  readonly wantsLive: boolean;
  push(event: FeedEvent<View, Update>): void;
  /** The owner was suspended or deleted: nothing more is pushed. */
  end(): void;
}

/** The rows of one source that a process watches, with their watchers. */
export interface Topic<View, Update> {
  add(watcher: Watcher<View, Update>): void;
  remove(watcher: Watcher<View, Update>): void;
  ownerIds(): readonly string[];
  /** Whether a watcher gets live updates. */
  wantsLive(): boolean;
  isEmpty(): boolean;
  end(ownerId: string): void;
  onHint(message: HintMessage): void;
  onLive(message: LiveMessage): void;
  /** Live messages arrive from here on: what was sent before is lost, so that the newest are asked for. */
  onLiveHeard(): void;
  /** Rows that a watcher has just read by itself. */
  noteRead(marks: readonly Mark[]): void;
  /** The live updates of a row so far, joined. */
  lastLive(id: string): Update | null;
  /** Looks for changes whose hint was lost. Throws what the database throws. */
  poll(): Promise<void>;
  /** Forgets all rows. */
  clear(): void;
}

/** A poll also finds rows that ended up to this long before the last successful poll. */
const lookBackMs = 15_000;
/** After a watcher came: hints before the connection for them is made are lost, so each poll looks. */
const settleMs = 10_000;
const readAtOnce = 200;

export function createTopic<View, Update>(
  services: Services,
  source: LiveSource<View, Update>,
  isLiveHeard: () => boolean,
): Topic<View, Update> {
  const watchers = createWatchers<View, Update>();
  const known = createKnownRows(source);
  const request = source.openRequests?.(services);
  const pending = new Set<string>();
  let isReading = false;
  let polledAtMs = performance.now();
  let settledAtMs = 0;

  const requestLive = () => {
    if (!isLiveHeard()) return;
    const wanted = known.active().filter(({ ownerId }) => watchers.wantLive(ownerId));
    request?.(wanted.map(({ id }) => id));
  };
  const readSome = async () => {
    const ids = [...pending].slice(0, readAtOnce);
    for (const id of ids) pending.delete(id);
    const { rows, at } = await source.readRows(services, ids);
    const newer = rows.filter(({ mark }) => known.takeNewer(mark));
    for (const [ownerId, own] of Map.groupBy(newer, ({ mark }) => mark.ownerId)) {
      const views = own.map(({ view }) => view);
      watchers.tell(ownerId, { type: "rows", rows: own, at, update: source.toUpdate(views, at, "changed") });
    }
    requestLive();
  };
  const readPending = async () => {
    if (isReading) return;
    isReading = true;
    try {
      while (pending.size > 0) await readSome();
    } catch (error) {
      services.log.warn({ err: error }, `live ${source.name} not read, the next poll will`);
    } finally {
      isReading = false;
    }
  };
  const isResting = () => {
    const nowMs = performance.now();
    return nowMs >= settledAtMs && nowMs - polledAtMs < source.restMs && known.active().length === 0;
  };
  return {
    add(watcher) {
      // What ended before a watcher came it reads by itself.
      if (watchers.isEmpty()) polledAtMs = performance.now();
      watchers.add(watcher);
      settledAtMs = performance.now() + settleMs;
    },
    remove: (watcher) => watchers.remove(watcher),
    ownerIds: () => watchers.ownerIds(),
    wantsLive: () => watchers.wantsAnyLive(),
    isEmpty: () => watchers.isEmpty(),
    end: (ownerId) => watchers.end(ownerId),
    onHint(message) {
      for (const { id, ownerId, revision } of source.hinted(message))
        if (watchers.has(ownerId) && known.revisionOf(id) < revision) pending.add(id);
      if (pending.size > 0) void readPending();
    },
    onLive(message) {
      const live = source.liveOf(message);
      const ownerId = live && known.ownerOf(live.id);
      if (!live || !ownerId || !watchers.has(ownerId)) return;
      known.noteLive(live.id, live.update);
      watchers.tell(ownerId, { type: "live", ...live });
    },
    onLiveHeard() {
      request?.([]);
      requestLive();
    },
    noteRead(marks) {
      for (const mark of marks) known.note(mark);
      requestLive();
    },
    lastLive: (id) => known.lastLive(id),
    async poll() {
      const ownerIds = watchers.ownerIds();
      if (ownerIds.length === 0 || isResting()) return;
      const startedMs = performance.now();
      const withinMs = startedMs - polledAtMs + lookBackMs;
      const marks = await source.readMarks(services, { ownerIds, withinMs });
      polledAtMs = startedMs;
      for (const mark of marks) if (known.note(mark)) pending.add(mark.id);
      known.keepOnly(new Set(marks.map(({ id }) => id)), startedMs);
      requestLive();
      await readPending();
    },
    clear() {
      known.keepOnly(new Set(), Infinity);
      request?.([]);
    },
  };
}

interface Known<Update> {
  mark: Mark;
  /** The newest state that the watchers were sent. */
  told: Mark | null;
  live: Update | null;
  notedAtMs: number;
}

/** The newest state of each row that this process has seen, and what its watchers have of it. */
function createKnownRows<View, Update>(source: LiveSource<View, Update>) {
  const { liveEndsWithRevision } = source;
  const rows = new Map<string, Known<Update>>();
  const put = (mark: Mark): Known<Update> => {
    const notedAtMs = performance.now();
    const row = rows.get(mark.id);
    if (row) return Object.assign(row, { mark, notedAtMs });
    const added = { mark, told: null, live: null, notedAtMs };
    rows.set(mark.id, added);
    return added;
  };
  return {
    revisionOf: (id: string) => rows.get(id)?.told?.revision ?? 0,
    ownerOf: (id: string) => rows.get(id)?.mark.ownerId ?? null,
    active: () => [...rows.values()].flatMap(({ mark }) => (mark.isActive ? [mark] : [])),
    lastLive: (id: string) => rows.get(id)?.live ?? null,
    /** Stores owner and activity, which may change without a hint; true when the watchers have an older state. */
    note: (mark: Mark) => isNewer(put(mark).told, mark),
    /** Whether the state is newer than what was sent; it then counts as sent. */
    takeNewer(mark: Mark): boolean {
      if (!isNewer(rows.get(mark.id)?.told, mark)) return false;
      const row = put(mark);
      const isOver = row.told !== null && row.told.revision < mark.revision;
      row.told = mark;
      if (!mark.isActive || (isOver && liveEndsWithRevision)) row.live = null;
      return true;
    },
    noteLive(id: string, update: Update) {
      const row = rows.get(id);
      if (row) row.live = row.live === null ? update : source.joinLive(row.live, update);
    },
    /** Removes all rows except these and those noted at `sinceMs` or later. */
    keepOnly(ids: ReadonlySet<string>, sinceMs: number) {
      for (const [id, { notedAtMs }] of rows) if (!ids.has(id) && notedAtMs < sinceMs) rows.delete(id);
    },
  };
}

/** The watchers of a process by owner. */
function createWatchers<View, Update>() {
  const byOwner = new Map<string, Set<Watcher<View, Update>>>();
  /** Counted, since each stream that begins or ends asks. */
  const wantingLive = new Map<string, number>();
  const count = ({ ownerId, wantsLive }: Watcher<View, Update>, change: 1 | -1) => {
    if (!wantsLive) return;
    const left = (wantingLive.get(ownerId) ?? 0) + change;
    if (left > 0) wantingLive.set(ownerId, left);
    else wantingLive.delete(ownerId);
  };
  return {
    add(watcher: Watcher<View, Update>) {
      byOwner.set(watcher.ownerId, (byOwner.get(watcher.ownerId) ?? new Set()).add(watcher));
      count(watcher, 1);
    },
    remove(watcher: Watcher<View, Update>) {
      const own = byOwner.get(watcher.ownerId);
      if (own?.delete(watcher)) count(watcher, -1);
      if (own?.size === 0) byOwner.delete(watcher.ownerId);
    },
    has: (ownerId: string) => byOwner.has(ownerId),
    isEmpty: () => byOwner.size === 0,
    wantLive: (ownerId: string) => wantingLive.has(ownerId),
    wantsAnyLive: () => wantingLive.size > 0,
    ownerIds: () => [...byOwner.keys()],
    tell(ownerId: string, event: FeedEvent<View, Update>) {
      for (const watcher of byOwner.get(ownerId) ?? [])
        if (event.type === "rows" || watcher.wantsLive) watcher.push(event);
    },
    end(ownerId: string) {
      for (const watcher of byOwner.get(ownerId) ?? []) watcher.end();
    },
  };
}
