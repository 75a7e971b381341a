import { setTimeout as sleep } from "node:timers/promises";
import { randomBytes, randomUUID } from "node:crypto";
import { sql } from "drizzle-orm";
import { type Agreed, type Db, deleteInBatches, duration, rowReader, schema, type Tx } from "../db/index.ts";
import type { Config } from "../platform/index.ts";
import type { ProviderKey } from "./access.ts";
import { countedPriceUsd } from "./agreed.ts";
import { type ChainChanges, chainColumns, chainOf } from "./chain.ts";
import {
  judgeKey,
  type KeyLoadRow,
  type KeyState,
  limitsOf,
  type Loads,
  loadsOf,
  rowsOfKeys,
  toLoads,
} from "./load.ts";
import { blameOf, type CloudModel, type ModelOffer, type ProviderError } from "./port.ts";
import { checkPurse, type Purse, purseColumns } from "./key-caps.ts";

export type Attempt = typeof schema.providerAttempts.$inferSelect;

/** Maps a row that a hand-written statement returned. */
export const attemptFromRow = rowReader(schema.providerAttempts);

/** The requests for a job, oldest first. */
export function attemptsOf(db: Db | Tx, jobId: string): Promise<Attempt[]> {
  const { providerAttempts } = schema;
  return db
    .select()
    .from(providerAttempts)
    .where(sql`${providerAttempts.jobId} = ${jobId}`)
    .orderBy(providerAttempts.createdAt, providerAttempts.id);
}

/** What a choice depends on, of one moment. */
export interface ChainFacts extends ChainChanges, Purse {
  /** The requests for the job, oldest first. */
  readonly attempts: readonly Attempt[];
  readonly loads: Loads;
  /** How many attempts were stored since a time; when it is another number later, the facts are old. */
  readonly seen: { readonly since: string; readonly stored: number };
}

/** Whose facts: those of a job of the owner, for the keys of a process. */
export interface Subject {
  readonly jobId: string;
  readonly ownerId: string;
  readonly keys: readonly ProviderKey[];
}

/** Longer than an attempt's row can be on its way to its commit. */
const seenS = 120;

/** Reads in one statement, without a lock, all that the choice of a provider for a job depends on. */
export async function readFacts(
  db: Db | Tx,
  config: Config,
  { jobId, ownerId, keys }: Subject,
): Promise<ChainFacts> {
  const { modelCalls, providerAttempts } = schema;
  const buyer = { ownerId, apiKeyId: sql`(select api_key_id from ${schema.jobs} where id = ${jobId})` };
  const since = sql`statement_timestamp() - ${seenS} * interval '1 second'`;
  const [row] = await db.execute<Record<string, unknown>>(sql`
    select ${chainColumns()}, ${purseColumns(config, buyer)},
      (select coalesce(json_agg(a order by a.created_at, a.id), '[]') from ${providerAttempts} a where a.job_id = ${jobId}) as attempts,
      (select coalesce(json_agg(l), '[]') from (${loadsOf(rowsOfKeys(keys), config)}) l) as loads,
      json_build_object('since', ${since},
        'stored', (select count(*) from ${providerAttempts} a where a.created_at > ${since})
          + (select count(*) from ${modelCalls} c where c.started_at > ${since})) as seen`);
  if (!row) throw new Error("the read of the facts gave no row");
  // Safe: the columns of the statement are the members of the type, but for two that are mapped.
  const facts = row as unknown as ChainFacts & { attempts: Record<string, unknown>[]; loads: KeyLoadRow[] };
  return { ...facts, attempts: facts.attempts.map(attemptFromRow), loads: toLoads(facts.loads) };
}

/** The intent of a call, as parameters of `reserve_attempt`. */
export interface Intent {
  readonly attempt: object;
  readonly seen: ChainFacts["seen"];
}

/** Stores an intent; null when other attempts were stored since its facts were read. */
export type StoreIntent = (intent: Intent) => Promise<Attempt | null>;

export interface Reservation extends Subject {
  readonly nodeId: string;
  readonly model: string;
  readonly offer: ModelOffer;
  /** What the person who sent the job agreed to. */
  readonly agreed?: Agreed | null;
  /** Where they were read already. */
  readonly facts?: ChainFacts;
}

/** A stored intent to call the provider with one of its keys, or why none of them can be used now. */
export type Reserved = { readonly attempt: Attempt; readonly key: ProviderKey } | Busy;

interface Busy {
  readonly busy: KeyState & { readonly isFree: false };
}

const pauseMs = 10;
const maxPauseMs = 200;

/**
 * Stores the intent of a call when a key of the provider has room for it and no cap is exceeded. Decided by facts that were
 * read without a lock: the store refuses when they are old, and they are read again, so that callers at the same time
 * never exceed a limit or a cap together. Throws `budget_exceeded`.
 */
export async function reserve(
  db: Db | Tx,
  config: Config,
  reservation: Reservation,
  store: StoreIntent = (intent) => storeIntent(db, intent),
): Promise<Reserved> {
  const { offer, keys, agreed = null } = reservation;
  const counted = countedPriceUsd(config, agreed, offer.priceUsd);
  let facts = reservation.facts ?? (await readFacts(db, config, reservation));
  for (let tries = 1; ; tries += 1) {
    const picked = pickKey(facts.loads, config, keys);
    if ("busy" in picked) return picked;
    checkPurse(config, facts, counted);
    const intent = { attempt: intentOf(reservation, picked.key, { config, counted }), seen: facts.seen };
    const attempt = await store(intent);
    if (attempt) return { attempt, key: picked.key };
    // Of many callers at once each makes the facts of all others old: apart from each other they read less.
    await sleep(Math.random() * Math.min(maxPauseMs, pauseMs * tries));
    facts = await readFacts(db, config, reservation);
  }
}

/**
 * How long no provider of a model can take a request with one of these keys; 0 when one can now, or when none of the keys
 * is of use for the model.
 */
export async function readWaitMs(
  db: Db,
  config: Config,
  { model, keys }: { readonly model: CloudModel; readonly keys: readonly ProviderKey[] },
): Promise<number> {
  const [row] = await db.execute<ChainChanges & { loads: KeyLoadRow[] } & Record<string, unknown>>(sql`
    select ${chainColumns()},
      (select coalesce(json_agg(l), '[]') from (${loadsOf(rowsOfKeys(keys), config)}) l) as loads`);
  if (!row) return 0;
  const loads = toLoads(row.loads);
  const waits = chainOf(row, model).flatMap((offer) => {
    const own = keys.filter(({ provider }) => provider === offer.provider);
    if (own.length === 0) return [];
    const picked = pickKey(loads, config, own);
    return ["busy" in picked ? picked.busy.waitMs : 0];
  });
  return waits.length > 0 ? Math.min(...waits) : 0;
}

/** The free key with the fewest requests of the last minute, else the shortest wait. */
function pickKey(
  loads: Loads,
  config: Config,
  keys: readonly ProviderKey[],
): { readonly key: ProviderKey } | Busy {
  const judged = keys.flatMap((key) => {
    const load = loads.get(key.keyId);
    return load ? [{ key, load, state: judgeKey(load, limitsOf(config, key.provider), config.cloud) }] : [];
  });
  const free = judged
    .filter(({ state }) => state.isFree)
    .toSorted((a, b) => a.load.inLastMinute - b.load.inLastMinute)[0];
  return free ? { key: free.key } : { busy: soonest(judged.map(({ state }) => state)) };
}

function soonest(states: readonly KeyState[]): Busy["busy"] {
  const waiting = states.flatMap((state) => (state.isFree ? [] : [state]));
  return waiting.toSorted((a, b) => a.waitMs - b.waitMs)[0] ?? { isFree: false, why: "busy", waitMs: 60_000 };
}

/** An attempt that its caller or follower has not renewed for this time is free for another process, ms. */
export const attemptHoldMs = 180_000;

/** A picture that the provider made, or may have, waits this long for the studio's own store, the gate, or a worker with its key. */
export const ownOutageMs = 24 * 3_600_000;

/**
 * How an attempt is renewed: not for ever, since a store that never answers keeps its process and no other one. A caller alone has
 * what came with the answer: another process could only call it lost, and buy it again.
 */
export const renewalOf = (isCaller: boolean) => ({
  everyMs: attemptHoldMs / 3,
  mostMs: 30 * 60_000 + (isCaller ? ownOutageMs : 0),
});

function intentOf(
  { jobId, ownerId, nodeId, model, offer }: Reservation,
  { keyId }: ProviderKey,
  { config: { cloud }, counted }: { readonly config: Config; readonly counted: number | null },
): object {
  const { provider, endpoint, priceUsd } = offer;
  const token = randomBytes(24).toString("base64url");
  return {
    id: randomUUID(),
    jobId,
    ownerId,
    nodeId,
    model,
    provider,
    endpoint,
    priceUsd: counted,
    isPriceKnown: priceUsd !== null,
    keyId,
    token,
    submitLimitS: attemptHoldMs / 1_000,
    runLimitS: cloud.runLimitS,
  };
}

async function storeIntent(db: Db | Tx, { attempt, seen }: Intent): Promise<Attempt | null> {
  const [row] = await db.execute<Record<string, unknown>>(
    sql`select * from reserve_attempt(${JSON.stringify(attempt)}::jsonb, ${JSON.stringify(seen)}::jsonb)`,
  );
  return row ? attemptFromRow(row) : null;
}

const isUsers = (errorClass: string) => ["content", "request"].includes(blameOf(errorClass));

/** The provider's own sentence about a failure that is the user's to mend; null without one. */
export function wordsOf({
  errorClass,
  errorMessage,
}: Pick<Attempt, "errorClass" | "errorMessage">): string | null {
  if (errorClass === null || errorMessage === null || !isUsers(errorClass)) return null;
  return errorMessage.startsWith("HTTP ") ? null : errorMessage;
}

/** What is kept of a failure: the provider's own sentence where it is the user's to mend. */
export function wordsToKeep(error: ProviderError): string {
  return isUsers(error.class) ? (error.words ?? error.message) : error.message;
}

/** What a run costs that made something, where the provider does not say it. */
export function paidUsd({ cloud }: Pick<Config, "cloud">, { priceUsd }: Pick<Attempt, "priceUsd">): number {
  return priceUsd ?? cloud.assumedPriceUsd;
}

/** Removes the rows of ended attempts that no sum needs any more. */
export async function pruneAttempts({
  db,
  config,
}: {
  readonly db: Db;
  readonly config: Config;
}): Promise<void> {
  const { providerAttempts } = schema;
  const age = duration(config.retention.providerAttemptsMs);
  const isOld = sql`${providerAttempts.endedAt} is not null and ${providerAttempts.createdAt} < now() - ${age}`;
  await deleteInBatches(db, providerAttempts, isOld);
}
