import { sql } from "drizzle-orm";
import { type Db, duration, fromNow, missedSince, schema } from "../db/index.ts";
import { isFree, isHeldBy, newToken } from "../leases/index.ts";
import { isLiveNode, isOrphaned, isPresent } from "../nodes/index.ts";
import type { Config } from "../platform/index.ts";
import { type Attempt, attemptFromRow, attemptHoldMs, ownOutageMs } from "./attempts.ts";
import { acceptAttempt } from "./life.ts";

/*
 * Who asks what became of a run: a worker that holds its key takes it when it is due, by its time or a webhook. A run whose key
 * no worker holds any more has nobody, and is given up.
 */

const { providerAttempts } = schema;

/** An attempt that has to be asked about; the times are judged by the database's clock, without what no worker saw pass. */
export interface DueAttempt extends Attempt {
  /** Of the request that submitted the job. */
  readonly requestId: string | null;
  readonly isOverdue: boolean;
  /** Since its call was begun. */
  readonly ageMs: number;
  /** Since the provider accepted it; as `ageMs` before it has. */
  readonly acceptedMs: number;
}

interface Follower {
  readonly nodeId: string;
  /** The keys that the process holds; attempts of other keys are left out. */
  readonly keyIds: readonly string[];
  /** The attempts that the process has in hand; others that its node holds were taken by a look whose answer was lost. */
  readonly heldIds?: readonly string[];
  readonly limit: number;
}

/**
 * Takes the attempts that have to be asked about: those that are due, and those whose job has a cancel request. Each goes
 * to one process, until that postpones or ends it, or its node is lost.
 */
export async function takeDueAttempts(
  { db }: { readonly db: Db },
  { nodeId, keyIds, heldIds = [], limit }: Follower,
): Promise<DueAttempt[]> {
  if (keyIds.length === 0) return [];
  const { jobs } = schema;
  const lived = sql`(clock_timestamp() - ${missedSince(sql`created_at`)})`;
  const isOther = heldIds.length === 0 ? sql`true` : sql`a.id not in ${[...heldIds]}`;
  const rows = await db.execute<Record<string, unknown>>(sql`
    update ${providerAttempts} set finish_token = ${newToken()}, node_id = ${nodeId},
      finish_until = ${fromNow(attemptHoldMs)}
    where id in (
      select a.id from ${providerAttempts} a
      where a.state in ('unknown', 'accepted') and a.key_id in ${[...keyIds]} and ${isOther}
        and (${isFree({ until: sql`a.finish_until` })}
          or ${isOrphaned(sql`a.node_id`)} or a.node_id = ${nodeId})
        and (a.next_poll_at <= clock_timestamp() or exists (select 1 from ${jobs} j
          where j.provider_attempt_id = a.id and j.status = 'processing' and j.cancel_requested_at is not null))
      order by a.next_poll_at limit ${limit} for update skip locked)
    returning *, (select j.request_id from ${jobs} j where j.id = ${providerAttempts.jobId}) as request_id,
      coalesce(deadline_at < ${lived}, false) as is_overdue,
      (extract(epoch from ${lived} - created_at) * 1000)::float8 as age_ms,
      (extract(epoch from ${lived} - coalesce(accepted_at, created_at)) * 1000)::float8 as accepted_ms`);
  return rows.map((row) => ({
    ...attemptFromRow(row),
    requestId: typeof row["request_id"] === "string" ? row["request_id"] : null,
    isOverdue: row["is_overdue"] === true,
    ageMs: Number(row["age_ms"]),
    acceptedMs: Number(row["accepted_ms"]),
  }));
}

/** Releases an attempt that goes on, to be asked about again after the pause. */
export async function postponeAttempt(
  { db }: { readonly db: Db },
  { id, finishToken }: Attempt,
  afterMs: number,
): Promise<void> {
  await db.execute(sql`
    update ${providerAttempts} set polls = polls + 1, finish_token = null, finish_until = null, node_id = null,
      next_poll_at = ${fromNow(afterMs)}
    where id = ${id} and ${isHeldBy({ token: providerAttempts.finishToken }, finishToken)}`);
}

/** A run that no worker can ask about is given up so long after its deadline: a machine that is off at night brings its key back. */
const unheldFor = duration(ownOutageMs);
/** After a stop of all, the worker with the key may be the last to start. */
const startWithin = sql`interval '1 hour'`;
/** SQL condition on `nodes n` and `provider_attempts a`. */
const holdsItsKey = sql`n.capability -> 'providerKeys' @> jsonb_build_array(jsonb_build_object('keyId', a.key_id))`;

/** SQL condition on `provider_attempts a`: no process that runs holds its key, so a cancel of its job has no follower. */
export const hasNoHolder = sql`a.state in ('unknown', 'accepted')
  and not exists (select from ${schema.nodes} n where ${isPresent()} and ${holdsItsKey})`;

/** Takes the runs a day past their deadline whose key no worker has held for as long, such as one that the operator has replaced. */
export async function takeUnheldAttempts({ db }: { readonly db: Db }): Promise<Attempt[]> {
  const rows = await db.execute<Record<string, unknown>>(sql`
    update ${providerAttempts} set finish_token = ${newToken()}, node_id = null,
      finish_until = ${fromNow(attemptHoldMs)}
    where id in (
      select a.id from ${providerAttempts} a where ${hasNoHolder} and ${isFree({ until: sql`a.finish_until` })}
        and a.deadline_at < clock_timestamp() - ${unheldFor} - ${missedSince(sql`a.created_at`)}
        and not exists (select from ${schema.nodes} n where n.seen_at > now() - ${unheldFor} and ${holdsItsKey})
        and exists (select from ${schema.nodes} n where ${isLiveNode} and n.started_at < now() - ${startWithin})
      for update skip locked)
    returning *`);
  return rows.map(attemptFromRow);
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
  const isIts = sql`${providerAttempts.token} = ${token} and ${providerAttempts.provider} = ${provider}`;
  return (await db.$count(providerAttempts, isIts)) > 0;
}

/**
 * Makes the attempt of a webhook due. One whose call had no answer becomes known by it; one whose call is under way keeps
 * the run's id, in case the caller dies before it stores the answer. One that has ended stays as it is.
 */
export async function noteWebhook(
  { db, config }: { readonly db: Db; readonly config: Config },
  { provider, token, externalId }: WebhookNote,
): Promise<void> {
  const [known] = await db
    .update(providerAttempts)
    .set({
      // A call under way has its answer still to come; its run is asked about soon after.
      nextPollAt: sql`case when ${providerAttempts.state} in ('unknown', 'accepted') then ${fromNow(0)} else ${providerAttempts.nextPollAt} end`,
      externalId: sql`case when ${providerAttempts.state} = 'submitting' and ${externalId} <> '' then ${externalId} else ${providerAttempts.externalId} end`,
    })
    .where(sql`${providerAttempts.token} = ${token} and ${providerAttempts.provider} = ${provider}`)
    .returning();
  if (known?.state === "unknown" && externalId !== "") {
    const handle = { endpoint: known.endpoint, externalId, urls: {} };
    await acceptAttempt(db, known.id, { handle, pollAfterS: 0, runLimitS: config.cloud.runLimitS });
  }
}
