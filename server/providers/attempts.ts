import { randomBytes, randomUUID } from "node:crypto";
import { getTableColumns, sql, type SQL } from "drizzle-orm";
import { type AttemptState, type Db, schema, type Tx } from "../db/index.ts";
import type { Config } from "../platform/index.ts";
import type { ProviderKey } from "./access.ts";
import { judge, type KeyState, limitsOf, readLoads } from "./load.ts";
import type { ModelOffer, ProviderError, RunHandle } from "./port.ts";
import { checkCaps, lockSpend } from "./spend.ts";

export type Attempt = typeof schema.providerAttempts.$inferSelect;

const columns = Object.entries(getTableColumns(schema.providerAttempts));

/** Maps a row that a hand-written statement returned. */
export function attemptFromRow(row: Record<string, unknown>): Attempt {
  const entries = columns.map(([name, column]) => {
    const value = row[column.name];
    return [name, value === null || value === undefined ? null : column.mapFromDriverValue(value)];
  });
  // Safe: every column of the table is read by its own mapping, so the result has the table's shape.
  return Object.fromEntries(entries) as Attempt;
}

export interface Reservation {
  readonly jobId: string;
  readonly ownerId: string;
  readonly nodeId: string;
  readonly model: string;
  readonly offer: ModelOffer;
  /** The provider's keys of this process. */
  readonly keys: readonly ProviderKey[];
}

/** A stored intent to call the provider with one of its keys, or why none of them can be used now. */
export type Reserved =
  | { readonly attempt: Attempt; readonly key: ProviderKey }
  | { readonly busy: KeyState & { readonly isFree: false } };

/**
 * Stores the intent of a call when a key of the provider has room for it, under the provider's lock: two callers never
 * exceed a limit together. The price is held against the caps under a second lock. Throws `budget_exceeded`.
 */
export async function reserve(tx: Tx, config: Config, reservation: Reservation): Promise<Reserved> {
  const { offer, keys, ownerId } = reservation;
  // A statement of its own: the counts that follow must see what the last holder committed.
  await tx.execute(sql`select pg_advisory_xact_lock(hashtext('provider'), hashtext(${offer.provider}))`);
  const keyIds = keys.map(({ keyId }) => keyId);
  const loads = await readLoads(tx, { provider: offer.provider, keyIds }, config);
  const limits = limitsOf(config, offer.provider);
  const judged = keys.flatMap((key) => {
    const load = loads.get(key.keyId);
    return load ? [{ key, load, state: judge(load, limits, config.cloud) }] : [];
  });
  const free = judged
    .filter(({ state }) => state.isFree)
    .toSorted((a, b) => a.load.inLastMinute - b.load.inLastMinute)[0];
  if (!free) return { busy: soonest(judged.map(({ state }) => state)) };
  await lockSpend(tx);
  await checkCaps(tx, config, { ownerId, priceUsd: offer.priceUsd });
  return { attempt: await insertAttempt(tx, reservation, { key: free.key, config }), key: free.key };
}

function soonest(states: readonly KeyState[]): KeyState & { readonly isFree: false } {
  const waiting = states.flatMap((state) => (state.isFree ? [] : [state]));
  return waiting.toSorted((a, b) => a.waitMs - b.waitMs)[0] ?? { isFree: false, why: "busy", waitMs: 60_000 };
}

/** A submit that has not ended after this time is taken for lost; longer than any client waits. */
const submitLimitS = 200;

async function insertAttempt(
  tx: Tx,
  { jobId, ownerId, nodeId, model, offer }: Reservation,
  { key, config }: { readonly key: ProviderKey; readonly config: Config },
): Promise<Attempt> {
  const [attempt] = await tx
    .insert(schema.providerAttempts)
    .values({
      id: randomUUID(),
      jobId,
      ownerId,
      nodeId,
      model,
      provider: offer.provider,
      keyId: key.keyId,
      endpoint: offer.endpoint,
      state: "submitting",
      token: randomBytes(24).toString("base64url"),
      priceUsd: offer.priceUsd,
      nextPollAt: sql`clock_timestamp() + ${submitLimitS} * interval '1 second'`,
      deadlineAt: sql`clock_timestamp() + ${config.cloud.runLimitS} * interval '1 second'`,
    })
    .returning();
  if (!attempt) throw new Error("the insert of an attempt gave no row");
  return attempt;
}

type Changes = {
  readonly [Column in keyof Attempt]?: Attempt[Column] | SQL;
};

interface Change {
  readonly id: string;
  readonly from: readonly AttemptState[];
  readonly set: Changes;
}

/** Changes an attempt that is in one of these states; null when it is not, since somebody else was first. */
export async function changeAttempt(db: Db | Tx, { id, from, set }: Change): Promise<Attempt | null> {
  const { providerAttempts } = schema;
  const [attempt] = await db
    .update(providerAttempts)
    .set(set)
    .where(sql`${providerAttempts.id} = ${id} and ${providerAttempts.state} in ${[...from]}`)
    .returning();
  return attempt ?? null;
}

const openStates: readonly AttemptState[] = ["submitting", "unknown", "accepted"];

/** Whether the provider has the run, or may have it. */
export const isOpenState = (state: AttemptState): boolean => openStates.includes(state);

/** Whether somebody asks, or will ask, for the run of an attempt. */
export async function isFollowed(db: Db | Tx, attemptId: string): Promise<boolean> {
  const { providerAttempts } = schema;
  const isOpen = sql`${providerAttempts.id} = ${attemptId} and ${providerAttempts.state} in ${[...openStates]}`;
  return (await db.$count(providerAttempts, isOpen)) > 0;
}

export interface Acceptance {
  readonly handle: RunHandle;
  readonly pollAfterS: number;
  readonly runLimitS: number;
}

/**
 * The provider accepted. Written whatever became of the job meanwhile, so that the run and its cost are never forgotten;
 * an attempt that counted as unknown becomes known again.
 */
export function acceptAttempt(
  db: Db | Tx,
  attemptId: string,
  { handle, pollAfterS, runLimitS }: Acceptance,
): Promise<Attempt | null> {
  return changeAttempt(db, {
    id: attemptId,
    from: ["submitting", "unknown"],
    set: {
      state: "accepted",
      nodeId: null,
      externalId: handle.externalId,
      urls: { ...handle.urls },
      acceptedAt: sql`clock_timestamp()`,
      nextPollAt: sql`clock_timestamp() + ${pollAfterS} * interval '1 second'`,
      deadlineAt: sql`clock_timestamp() + ${runLimitS} * interval '1 second'`,
      finishToken: null,
      finishUntil: null,
      errorMessage: null,
      polls: 0,
    },
  });
}

/** Ends an open attempt as failed; the error says whether the provider or the job is to blame. */
export function failAttempt(
  db: Db | Tx,
  attemptId: string,
  { error, costUsd }: { readonly error: ProviderError; readonly costUsd: number | null },
): Promise<Attempt | null> {
  return changeAttempt(db, {
    id: attemptId,
    from: openStates,
    set: {
      ...ended("failed", costUsd),
      errorClass: error.class,
      errorMessage: error.message.slice(0, 1_000),
      retryAfterMs: error.retryAfterMs,
    },
  });
}

/** Ends an open attempt as succeeded or cancelled. */
export function endAttempt(
  db: Db | Tx,
  attemptId: string,
  { state, costUsd }: { readonly state: "succeeded" | "cancelled"; readonly costUsd: number | null },
): Promise<Attempt | null> {
  return changeAttempt(db, { id: attemptId, from: openStates, set: ended(state, costUsd) });
}

function ended(state: AttemptState, costUsd: number | null): Changes {
  return {
    state,
    nodeId: null,
    ...(costUsd === null ? {} : { costUsd }),
    endedAt: sql`clock_timestamp()`,
    nextPollAt: null,
    finishToken: null,
    finishUntil: null,
  };
}

/** The requests for a job, oldest first. */
export function attemptsOf(db: Db | Tx, jobId: string): Promise<Attempt[]> {
  const { providerAttempts } = schema;
  return db
    .select()
    .from(providerAttempts)
    .where(sql`${providerAttempts.jobId} = ${jobId}`)
    .orderBy(providerAttempts.createdAt, providerAttempts.id);
}

export interface WebhookNote {
  readonly provider: string;
  readonly token: string;
  /** The run that the webhook names; empty when it names none. */
  readonly externalId: string;
}

/** Whether an attempt has this secret. */
export async function knowsToken(
  { db }: { readonly db: Db },
  { provider, token }: Pick<WebhookNote, "provider" | "token">,
): Promise<boolean> {
  const { providerAttempts } = schema;
  return (
    (await db.$count(
      providerAttempts,
      sql`${providerAttempts.token} = ${token} and ${providerAttempts.provider} = ${provider}`,
    )) > 0
  );
}

/**
 * Makes the attempt of a webhook due. One whose call had no answer becomes known by it; one whose call is under way keeps
 * the run's id, in case the caller dies before it stores the answer. One that has ended stays as it is.
 */
export async function noteWebhook(
  { db, config }: { readonly db: Db; readonly config: Config },
  { provider, token, externalId }: WebhookNote,
): Promise<void> {
  const { providerAttempts } = schema;
  const [known] = await db
    .update(providerAttempts)
    .set({
      // A call under way has its answer still to come; its run is asked about soon after.
      nextPollAt: sql`case when ${providerAttempts.state} in ('unknown', 'accepted') then clock_timestamp() else ${providerAttempts.nextPollAt} end`,
      externalId: sql`case when ${providerAttempts.state} = 'submitting' and ${externalId} <> '' then ${externalId} else ${providerAttempts.externalId} end`,
    })
    .where(sql`${providerAttempts.token} = ${token} and ${providerAttempts.provider} = ${provider}`)
    .returning();
  if (known?.state === "unknown" && externalId !== "") {
    const handle = { endpoint: known.endpoint, externalId, urls: {} };
    await acceptAttempt(db, known.id, { handle, pollAfterS: 0, runLimitS: config.cloud.runLimitS });
  }
}

/** Removes the rows of ended attempts that no sum needs any more. */
export async function pruneAttempts({
  db,
  config,
}: {
  readonly db: Db;
  readonly config: Config;
}): Promise<void> {
  await db.execute(sql`
    delete from ${schema.providerAttempts} where ended_at is not null
      and created_at < now() - ${config.retention.providerAttemptsMs} * interval '1 millisecond'`);
}
