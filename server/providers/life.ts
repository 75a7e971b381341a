import { sql, type SQL } from "drizzle-orm";
import { deleteInBatches, type AttemptState, type Db, schema, type Tx } from "../db/index.ts";
import type { Config } from "../platform/index.ts";
import type { Attempt } from "./attempts.ts";
import { blameOf, type ProviderError, type RunHandle } from "./port.ts";

type Changes = {
  readonly [Column in keyof Attempt]?: Attempt[Column] | SQL;
};

interface Change {
  readonly id: string;
  readonly from: readonly AttemptState[];
  readonly set: Changes;
  readonly also?: SQL;
}

function updateOf(db: Db | Tx, { id, from, set, also = sql`true` }: Change) {
  const { providerAttempts } = schema;
  return db
    .update(providerAttempts)
    .set(set)
    .where(sql`${providerAttempts.id} = ${id} and ${providerAttempts.state} in ${[...from]} and ${also}`)
    .returning();
}

/** Changes an attempt that is in one of these states; null when it is not, since somebody else was first. */
export async function changeAttempt(db: Db | Tx, change: Change): Promise<Attempt | null> {
  const [attempt] = await updateOf(db, change);
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

interface Failure {
  /** Says whether the provider or the job is to blame. */
  readonly error: ProviderError;
  readonly costUsd: number | null;
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

/** What a run costs that made something, where the provider does not say it. */
export function paidUsd({ cloud }: Pick<Config, "cloud">, { priceUsd }: Pick<Attempt, "priceUsd">): number {
  return priceUsd ?? cloud.assumedPriceUsd;
}

function failureOf(id: string, { error, costUsd }: Failure): Change {
  const set = {
    ...ended("failed", costUsd),
    errorClass: error.class,
    errorMessage: isUsers(error.class) ? (error.words ?? error.message) : error.message,
    retryAfterMs: error.retryAfterMs,
  };
  return { id, from: openStates, set };
}

/** Ends an open attempt as failed. */
export function failAttempt(db: Db | Tx, attemptId: string, failure: Failure): Promise<Attempt | null> {
  return changeAttempt(db, failureOf(attemptId, failure));
}

/** `failAttempt` as a common table expression of a statement that changes the job: carried out only when that changes a row. */
export function failedIn(db: Db, attemptId: string, failure: Failure): SQL {
  return sql`, failed as ${updateOf(db, { ...failureOf(attemptId, failure), also: sql`exists (select from moved)` })}`;
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
  const { providerAttempts } = schema;
  const age = sql`${config.retention.providerAttemptsMs} * interval '1 millisecond'`;
  const isOld = sql`${providerAttempts.endedAt} is not null and ${providerAttempts.createdAt} < now() - ${age}`;
  await deleteInBatches(db, providerAttempts, isOld);
}
