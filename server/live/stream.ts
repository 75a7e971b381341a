import { sql } from "drizzle-orm";
import { isDatabaseAway } from "../db/index.ts";
import { isAppError, streamMs } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { type Feed, feedOf } from "./feed.ts";
import { createMailbox, type Letter } from "./mailbox.ts";
import { isNewer, type LiveSource, type Mark, type Row } from "./source.ts";

interface WatchInput {
  readonly ownerId: string;
  /** The `at` of the last update that the client received; the first rows include those that ended since. */
  readonly since: Date | null;
  readonly signal: AbortSignal;
  /** False for a reader that needs changes alone, and no progress, previews and words. */
  readonly wantsLive?: boolean;
  /** For a reader who is given the stream at its end alone, and then opens the next one. */
  readonly isBrief?: boolean;
}

const briefMs = 1_000;

/** Sent every ten seconds without another update. */
export interface Alive {
  readonly type: "alive";
  readonly at: string;
}

const aliveMs = 10_000;

/** All updates of an owner's rows: first those that each source begins with, then changes and live updates until the stream ends. */
export async function* watch<Update>(
  services: Services,
  sources: readonly LiveSource<unknown, Update>[],
  { ownerId, since, signal, wantsLive = true, isBrief = false }: WatchInput,
): AsyncGenerator<Update | Alive> {
  const ended = new AbortController();
  const stopped = AbortSignal.any([signal, ended.signal]);
  const mailbox = createMailbox<unknown, Update>({ waitMs: aliveMs, signal: stopped });
  const feed = feedOf(services);
  // Added before the first rows are read, so that no change is missed.
  const removes = sources.map((source) =>
    feed.add(source, {
      ownerId,
      wantsLive,
      push: (event) => mailbox.put({ ...event, source }),
      end: () => ended.abort(),
    }),
  );
  // The client opens the next stream with `since`.
  const lengthMs = isBrief ? briefMs : streamMs(services.env);
  const endsAtMs = performance.now() + lengthMs;
  const timer = setTimeout(() => ended.abort(), lengthMs);
  const sent = new Map<string, Mark>();
  try {
    const now = await readClock(services);
    for (const source of sources) {
      const rows = await source.readFirst(services, { ownerId, since });
      yield* firstUpdates({ feed, source, sent }, rows, now());
    }
    while (!stopped.aborted && performance.now() < endsAtMs) {
      const letters = await mailbox.take();
      if (letters.length === 0 && !stopped.aborted) yield { type: "alive", at: now() };
      yield* letters.flatMap((letter) => updateOf(sent, letter) ?? []);
    }
  } finally {
    clearTimeout(timer);
    mailbox.close();
    for (const remove of removes) remove();
  }
}

interface StreamBounds {
  /** Asked every `recheckMs`; the stream ends when it is false. */
  readonly isAllowed: () => Promise<boolean>;
  readonly recheckMs: number;
  readonly lengthMs?: number;
}

/** Bounds of all that a caller hears or waits for. */
export const streamLimits = {
  /** A stream resolves its caller again after this time, so it does not outlive the session or key. */
  recheckMs: 30_000,
};

/** The same values until `lengthMs` are over or the caller may not read on; looked at whenever a value comes. */
export async function* boundStream<Value>(
  source: AsyncIterable<Value>,
  { isAllowed, recheckMs, lengthMs = Number.POSITIVE_INFINITY }: StreamBounds,
): AsyncGenerator<Value> {
  const endsAtMs = performance.now() + lengthMs;
  let recheckAtMs = performance.now() + recheckMs;
  for await (const value of source) {
    if (performance.now() >= endsAtMs) return;
    if (performance.now() >= recheckAtMs) {
      if (!(await isAllowed())) return;
      recheckAtMs = performance.now() + recheckMs;
    }
    yield value;
  }
}

/**
 * Whether an error of the look at a caller says nothing of the caller, who may read on until the next look: a key at its limit of
 * requests is still a key, and an outage of the database ends no answer.
 */
export function saysNothingOfCaller(error: unknown): boolean {
  if (isAppError(error) && ["rate_limited", "database_unavailable"].includes(error.code)) return true;
  return isDatabaseAway(error) || (error instanceof Error && saysNothingOfCaller(error.cause));
}

interface ListenInput extends WatchInput {
  /** Whose rows the connection is told of by now; throws when its key or session is over. */
  readonly findOwner: () => Promise<string>;
}

/** `watch` for a connection that stays open: goes on after the end of a stream, for as long as `findOwner` names an owner. */
export async function* listen<Update extends object>(
  services: Services,
  sources: readonly LiveSource<unknown, Update>[],
  { findOwner, ...input }: ListenInput,
): AsyncGenerator<Update | Alive> {
  let { ownerId, since } = input;
  const findNext = async () => {
    try {
      return await findOwner();
    } catch (error) {
      if (saysNothingOfCaller(error)) return ownerId;
      throw error;
    }
  };
  while (!input.signal.aborted) {
    const isAllowed = async () => (await findNext()) === ownerId;
    const updates = watch(services, sources, { ...input, ownerId, since });
    for await (const update of boundStream(updates, { ...streamLimits, isAllowed })) {
      if ("at" in update) since = new Date(String(update.at));
      yield update;
    }
    if (!input.signal.aborted) ownerId = await findNext();
  }
}

interface First<Update> {
  readonly feed: Feed;
  readonly source: LiveSource<unknown, Update>;
  readonly sent: Map<string, Mark>;
}

/** The rows that a stream begins with, then the live updates of each so far. */
function firstUpdates<Update>(
  { feed, source, sent }: First<Update>,
  rows: readonly Row<unknown>[],
  at: string,
): Update[] {
  const marks = rows.map(({ mark }) => mark);
  feed.noteRead(source, marks);
  for (const mark of marks) sent.set(mark.id, mark);
  const views = rows.map(({ view }) => view);
  const lives = marks.map(({ id }) => feed.lastLive(source, id));
  return [source.toUpdate(views, at, "first"), ...lives].filter((update) => update !== null);
}

/** Without rows that the stream has sent: a change may have been read before the first rows. Null when none is left. */
function updateOf<Update>(sent: Map<string, Mark>, letter: Letter<unknown, Update>): Update | null {
  if (letter.type === "live") return letter.update;
  const { rows, at, update, source } = letter;
  const newer = rows.filter(({ mark }) => isNewer(sent.get(mark.id), mark));
  for (const { mark } of newer) sent.set(mark.id, mark);
  if (newer.length === 0) return null;
  // The one that all streams share.
  if (newer.length === rows.length && update !== null) return update;
  const views = newer.map(({ view }) => view);
  return source.toUpdate(views, at, "changed");
}

/**
 * The clock of the database, which also wrote the times that `since` is compared with; the local clock may differ, and be set while a
 * stream is open.
 */
async function readClock({ db }: Services): Promise<() => string> {
  const result = await db.execute<{ ms: number }>(
    sql`select (extract(epoch from now()) * 1000)::float8 as ms`,
  );
  const readMs = result[0]?.ms ?? Date.now();
  const startMs = performance.now();
  return () => new Date(readMs + performance.now() - startMs).toISOString();
}
