import { eq, type SQL, sql } from "drizzle-orm";
import { type Db, duration, fromNow, schema, type Tx } from "../db/index.ts";
import { isFree, isHeldBy, newToken, persist } from "../leases/index.ts";
import { AppError, isId } from "../platform/index.ts";
import type { Services } from "../services.ts";
import type { DeliveryEvent, OwedDelivery } from "./channel.ts";
import { isOfOtherKey } from "./sealed-secret.ts";

const { deliveries, deliveryAttempts, jobWebhooks, notificationSettings, webhookEndpoints } = schema;

/**
 * Common table expressions for the statement that ends jobs: one row per receiver of each row of `moved`. The rows commit
 * with the end of the job, so no crash can lose a delivery. For an owner without receivers it is three index look-ups.
 * Failed jobs concern programs only.
 */
export function owe(event: Extract<DeliveryEvent, "job.completed" | "job.failed">): SQL {
  const people = sql`
        union all select s.channel, s.target from ${notificationSettings} s where s.owner_id = moved.owner_id and s.is_on`;
  return sql`, owed as (
      insert into ${deliveries} (id, job_id, owner_id, channel, target, event)
      select ${idOf(sql`concat_ws('|', moved.id, receiver.channel, receiver.target, ${event}::text)`)},
        moved.id, moved.owner_id, receiver.channel, receiver.target, ${event}::text
      from moved, lateral (
        select 'webhook' as channel, e.id::text as target from ${webhookEndpoints} e
          where e.owner_id = moved.owner_id and e.is_enabled and e.url is not null
        union all select 'webhook', w.url from ${jobWebhooks} w where w.job_id = moved.id${event === "job.completed" ? people : sql``}
      ) receiver
      where moved.status = ${event === "job.completed" ? "completed" : "failed"}
      on conflict do nothing
    )`;
}

/**
 * The id of a delivery is made of job, receiver and event: a studio that was restored and runs a job again sends it under the
 * same id, and receivers recognise it. A UUID of version 8, which is for ids like this one.
 */
function idOf(text: SQL): SQL {
  return sql`overlay(overlay(md5(${text}) placing '8' from 13 for 1) placing '8' from 17 for 1)::uuid`;
}

/** Owes a receiver that asked for this job; nothing when it is owed already. */
export async function oweOnce(
  db: Db | Tx,
  owed: Pick<OwedDelivery, "ownerId" | "channel" | "target" | "event"> & { readonly jobId: string },
): Promise<void> {
  const { jobId, channel, target, event } = owed;
  const id = idOf(sql`concat_ws('|', ${jobId}::text, ${channel}::text, ${target}::text, ${event}::text)`);
  await db
    .insert(deliveries)
    .values({ id, ...owed })
    .onConflictDoNothing();
}

/** The right to send a delivery once, given by `acquire`; `markDelivered` and `release` check it. */
export interface HeldDelivery extends OwedDelivery {
  readonly token: string;
  /** Number of this attempt since the delivery was made or last ordered by a person, from 1. */
  readonly attemptOfRound: number;
}

/** SQL condition: no process is sending it. A process that died counts for `deliveryLockMs`, which is longer than any send. */
function isUnsent({ config }: Pick<Services, "config">): SQL {
  return isFree({ until: sql`delivering_at + ${duration(config.timing.deliveryLockMs)}` });
}

const isOwn = (token: string) => isHeldBy({ token: sql`lock_token` }, token);

const isOpen = sql`delivered_at is null and failed_at is null`;

/**
 * Takes the lock of a due delivery with one statement and the database's clock, so that exactly one of several processes
 * sends; null for the others. The attempt is noted with it. Tried again under the same token while the database is away:
 * the commit may have come without an answer.
 */
export async function acquire(
  services: Services,
  id: string,
  signal?: AbortSignal,
): Promise<HeldDelivery | null> {
  const token = newToken();
  return persist(() => acquireWith(services, id, token), signal ? { signal } : {});
}

async function acquireWith(services: Services, id: string, token: string): Promise<HeldDelivery | null> {
  const [row] = await services.db.execute<Record<string, unknown>>(sql`
    with held as (
      update ${deliveries} set delivering_at = clock_timestamp(), lock_token = ${token},
        attempts = attempts + (lock_token is distinct from ${token})::int
      where id = ${id} and ${isOpen} and next_attempt_at <= clock_timestamp()
        and (${isUnsent(services)} or ${isOwn(token)})
      returning *
    ), noted as (
      insert into ${deliveryAttempts} (delivery_id, number) select id, attempts from held on conflict do nothing
    )
    select id, job_id as "jobId", batch_id as "batchId", owner_id as "ownerId", channel, target, event, attempts as attempt,
      attempts - ordered_at as "attemptOfRound" from held`);
  // Safe: the columns are named as the members, with the types of the schema.
  return row ? ({ ...row, token } as unknown as HeldDelivery) : null;
}

/** The state of a delivery, for the answer and the log of a process that did not get its lock. */
export async function readStanding(
  { db }: Services,
  id: string,
): Promise<{ jobId: string | null; standing: "already_delivered" | "delivering" | "ended" }> {
  const [row] = await db.select().from(deliveries).where(eq(deliveries.id, id));
  const jobId = row?.jobId ?? null;
  if (row?.deliveredAt) return { jobId, standing: "already_delivered" };
  return { jobId, standing: row && row.failedAt === null ? "delivering" : "ended" };
}

/** Records that the receiver has it. False when the lock was taken over: another process may have sent it as well. */
export async function markDelivered(
  { db }: Services,
  { id, token, attempt }: HeldDelivery,
  externalId: string | null,
): Promise<boolean> {
  const rows = await db.execute(sql`
    with marked as (
      update ${deliveries} set delivered_at = clock_timestamp(), delivering_at = null, lock_token = null,
        external_id = ${externalId}, last_error = null
      where id = ${id} and ${isOwn(token)} returning id
    ), ended as (
      update ${deliveryAttempts} set ended_at = clock_timestamp(), is_delivered = true
      where delivery_id in (select id from marked) and number = ${attempt}
    )
    select id from marked`);
  return rows.length > 0;
}

export interface FailedAttempt {
  readonly error: string;
  readonly status: number | null;
  /** Wait before the next attempt; null: there is none. */
  readonly waitMs: number | null;
  /** This process broke the attempt off, so it does not count in the receiver's round. */
  readonly isOurs: boolean;
}

/** Gives the lock back after a failed send, so that the next attempt can win it. False when it was taken over. */
export async function release(
  { db }: Services,
  { id, token, attempt }: HeldDelivery,
  { error, status, waitMs, isOurs }: FailedAttempt,
): Promise<boolean> {
  const next =
    waitMs === null ? sql`failed_at = clock_timestamp()` : sql`next_attempt_at = ${fromNow(waitMs)}`;
  const rows = await db.execute(sql`
    with released as (
      update ${deliveries} set delivering_at = null, lock_token = null, last_error = ${error},
        ordered_at = ordered_at + ${isOurs ? 1 : 0}::int, ${next}
      where id = ${id} and ${isOwn(token)} returning id
    ), ended as (
      update ${deliveryAttempts} set ended_at = clock_timestamp(), error = ${error}, status = ${status}
      where delivery_id in (select id from released) and number = ${attempt}
    )
    select id from released`);
  return rows.length > 0;
}

/** SQL condition: it warns the owner of a change, who may not be the one who keeps the other deliveries busy. */
const isWarning = sql`event = 'account.changed'`;

/** What a process has under way, by target and by owner. */
type BusyKeys = ReadonlyMap<string, number>;

/** A delivery that may be sent; `acquire` decides whether it still is. */
export interface DueDelivery {
  readonly id: string;
  readonly targetKey: string;
  /** Null for one that does not wait for the others of its owner. */
  readonly ownerKey: string | null;
}

type DueRow = Record<"id" | "channel" | "target" | "ownerId" | "event", string>;

const toDue = ({ id, channel, target, ownerId, event }: DueRow): DueDelivery => ({
  id,
  targetKey: `${channel} ${target}`,
  ownerKey: event === "account.changed" ? null : `owner ${ownerId}`,
});

export interface FindDueInput {
  readonly limit: number;
  readonly perTarget: number;
  readonly perOwner: number;
  readonly busy: BusyKeys;
}

/**
 * SQL condition: this process can sign it, if it is a webhook. A worker elsewhere may have another `AUTH_SECRET`; what it
 * cannot sign waits for one that can.
 */
function isSignable({ env }: Pick<Services, "env">): SQL {
  return sql`not (${deliveries}.channel = 'webhook' and exists (
      select from ${webhookEndpoints} e where e.owner_id = ${deliveries}.owner_id
        and (e.id::text = ${deliveries}.target or (e.url is null and strpos(${deliveries}.target, '://') > 0))
        and ${isOfOtherKey(env, sql`e.secret`)}))`;
}

/**
 * Due deliveries, oldest first: few of one target and of one owner, none of those that have enough under way. A warning of a change of
 * the account waits for no other delivery of its owner: whoever took the account over could hold it back with slow webhooks.
 */
export async function findDue(services: Services, input: FindDueInput): Promise<DueDelivery[]> {
  const { limit, perTarget, perOwner, busy } = input;
  const full = [...busy].filter(([key, count]) => count >= (key.startsWith("owner ") ? perOwner : perTarget));
  const keys = full.map(([key]) => key);
  const rows = await services.db.execute<DueRow>(sql`
    select id, channel, target, owner_id as "ownerId", event from (
      select *, row_number() over (partition by owner_id, ${isWarning} order by next_attempt_at, id) as place_of_owner from (
        select id, channel, target, owner_id, event, next_attempt_at,
          row_number() over (partition by channel, target, ${isWarning} order by next_attempt_at, id) as place_of_target
        from ${deliveries}
        where ${isOpen} and next_attempt_at <= clock_timestamp()
          and ${isUnsent(services)} and ${isSignable(services)}
          ${keys.length > 0 ? sql`and channel || ' ' || target not in ${keys} and (${isWarning} or 'owner ' || owner_id not in ${keys})` : sql``}
      ) due where place_of_target <= ${perTarget}
    ) due where place_of_owner <= ${perOwner} order by next_attempt_at, id limit ${limit}`);
  return rows.map(toDue);
}

/** The deliveries of a job that are not delivered and that this process can sign. */
export async function findOwedOf(services: Services, jobId: string): Promise<DueDelivery[]> {
  const rows = await services.db.execute<DueRow>(sql`
    select id, channel, target, owner_id as "ownerId", event from ${deliveries}
    where ${isOpen} and job_id = ${jobId}::uuid and ${isSignable(services)} order by created_at, id`);
  return rows.map(toDue);
}

/**
 * Has a delivery be sent again, also one that was delivered; the receiver knows it by the same id. Throws `not_found`, and
 * `conflict` while it is being sent, or when an owner asks for a message about the own account: its address may be somebody else's.
 */
export async function redeliver(
  services: Services,
  { id, ownerId }: { id: string; ownerId: string | null },
): Promise<void> {
  if (!isId(id)) throw new AppError("not_found");
  const own = sql`id = ${id} ${ownerId === null ? sql`` : sql`and owner_id = ${ownerId}`}`;
  const isForAdmins = ownerId === null ? sql`false` : isWarning;
  const rows = await services.db.execute(sql`
    update ${deliveries} set delivered_at = null, failed_at = null, delivering_at = null, lock_token = null,
      ordered_at = attempts, next_attempt_at = clock_timestamp()
    where ${own} and ${isUnsent(services)} and not (${isForAdmins}) returning id`);
  if (rows.length > 0) return;
  const [found] = await services.db.execute<{ isForAdmins: boolean }>(
    sql`select ${isForAdmins} as "isForAdmins" from ${deliveries} where ${own}`,
  );
  if (!found) throw new AppError("not_found");
  throw new AppError(
    "conflict",
    found.isForAdmins
      ? "A message about your account is sent once; only an admin can send it again."
      : "It is being sent at the moment.",
  );
}
