import { eq, sql } from "drizzle-orm";
import { schema } from "../db/index.ts";
import { persist } from "../leases/index.ts";
import { inSpan, isAppError, type SpanStart, toAppError } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { type Channel, DeliveryError } from "./channel.ts";
import {
  acquire,
  type FailedAttempt,
  type HeldDelivery,
  markDelivered,
  readStanding,
  release,
} from "./ledger.ts";

const secondMs = 1_000;
const hourMs = 3_600 * secondMs;

/** Waits after each failed attempt, as Standard Webhooks advises; after the last attempt the delivery has failed. */
const waitsMs = [
  5 * secondMs,
  300 * secondMs,
  1_800 * secondMs,
  ...[2, 5, 10, 14, 20, 24].map((hours) => hours * hourMs),
];
const maxWaitMs = 24 * hourMs;
/** Spreads the attempts after an outage of a receiver. */
const jitter = 0.2;

/** Wait after this many attempts; null when there is no further one. */
export function waitAfter(
  attempts: number,
  retryAfterMs: number | null,
  random = Math.random,
): number | null {
  const waitMs = waitsMs[attempts - 1];
  if (waitMs === undefined) return null;
  return Math.min(maxWaitMs, Math.max(waitMs, retryAfterMs ?? 0)) * (1 + jitter * random());
}

/** What made the process try: the end of the job, or the regular look for due deliveries. */
export type Via = "callback" | "poll";

const tags = {
  callback: { win: "DELIVER_LOCK_WIN", skip: "DELIVER_LOCK_SKIP" },
  poll: { win: "POLL_LOCK_WIN", skip: "POLL_LOCK_SKIP" },
} as const;

export type DeliverAnswer =
  | "delivered"
  /** The receiver may have it, but the lock was lost before it could be recorded. */
  | "lock_lost"
  | "retry"
  | "failed"
  | "already_delivered"
  | "delivering"
  | "ended";

export interface DeliverInput {
  readonly id: string;
  readonly via: Via;
  readonly channels: readonly Channel[];
  /** The process stops. */
  readonly signal: AbortSignal;
}

/**
 * Sends a delivery if this process wins its lock, and records the outcome. It ends within `deliverySendMs`, whatever the
 * receiver does, so that no other process takes the lock over while a send is under way.
 */
export async function deliver(services: Services, input: DeliverInput): Promise<DeliverAnswer> {
  const { id, via } = input;
  const held = await acquire(services, id, input.signal);
  const log = services.log.child({ correlationId: id, deliveryId: id });
  if (!held) {
    const { jobId, standing } = await readStanding(services, id);
    log.info({ jobId, standing }, tags[via].skip);
    return standing;
  }
  const { jobId, channel, attempt } = held;
  log.info({ jobId, channel, attempt }, tags[via].win);
  try {
    const { externalId } = await inDeliverySpan(services, held, () => sendWithin(services, held, input));
    const isMarked = await persist(() => markDelivered(services, held, externalId), { patienceMs });
    if (isMarked) log.info({ jobId, channel }, "MARK_DELIVERED");
    else log.warn({ jobId, channel }, "delivery sent, but its lock was taken over before it was recorded");
    return isMarked ? "delivered" : "lock_lost";
  } catch (error) {
    const failure = input.signal.aborted ? brokenOff(error) : describe(error, held);
    log.warn({ jobId, channel, err: error, waitMs: failure.waitMs }, "delivery failed");
    if (failure.isGone) await disable(services, held, failure.error);
    const isReleased = await persist(() => release(services, held, failure), { patienceMs });
    if (isReleased && failure.waitMs === null && !failure.isGone) await disableIfDead(services, held);
    return failure.waitMs === null ? "failed" : "retry";
  }
}

/** The last span of a job. */
async function inDeliverySpan<Answer>(
  { db, tracing }: Services,
  { id, jobId, channel, attempt }: HeldDelivery,
  work: () => Promise<Answer>,
): Promise<Answer> {
  if (tracing === null || jobId === null) return work();
  const { jobs } = schema;
  const [job] = await db.select({ traceparent: jobs.traceparent }).from(jobs).where(eq(jobs.id, jobId));
  const attributes = {
    "atelier.job.id": jobId,
    "atelier.delivery.id": id,
    "atelier.delivery.channel": channel,
    "atelier.delivery.attempt": attempt,
  };
  const start: SpanStart = { parent: job?.traceparent ?? null, kind: "client", attributes };
  return inSpan(tracing, `deliver ${channel}`, start, work);
}

async function sendWithin(
  services: Services,
  held: HeldDelivery,
  { channels, signal: stopped }: DeliverInput,
): Promise<{ readonly externalId: string | null }> {
  // Processes that died during each attempt noted no failure, so the schedule has not ended it.
  if (held.attemptOfRound > waitsMs.length + 1)
    throw new DeliveryError("refused", "No attempt was finished.");
  const channel = channels.find(({ name }) => name === held.channel);
  if (!channel) throw new DeliveryError("retry", "This studio does not offer the channel at the moment.");
  const late = AbortSignal.timeout(services.config.timing.deliverySendMs);
  const signal = AbortSignal.any([late, stopped]);
  // A channel that ignores the signal must not keep the lock.
  const aborted = Promise.withResolvers<never>();
  aborted.promise.catch(() => undefined);
  const onAbort = () => {
    const message = late.aborted ? "The receiver did not answer in time." : "The process stopped.";
    aborted.reject(new DeliveryError("retry", message, { cause: signal.reason }));
  };
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([channel.send(services, held, signal), aborted.promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/** The process stops: another one sends at once. A receiver that had it all the same knows the delivery by its id. */
function brokenOff(error: unknown): FailedAttempt & { readonly isGone: boolean } {
  return { error: toAppError(error).message, status: null, waitMs: 0, isOurs: true, isGone: false };
}

function describe(error: unknown, held: HeldDelivery): FailedAttempt & { readonly isGone: boolean } {
  if (error instanceof DeliveryError) {
    const { kind, message, status, retryAfterMs } = error;
    const waitMs = kind === "retry" ? waitAfter(held.attemptOfRound, retryAfterMs) : null;
    return { error: message, status, waitMs, isOurs: false, isGone: kind === "gone" };
  }
  // An unknown error may quote anything, so its own text is only logged.
  const { message } = toAppError(error);
  const isRefused = isAppError(error) && error.code === "url_refused";
  const waitMs = isRefused ? null : waitAfter(held.attemptOfRound, null);
  return { error: message, status: null, waitMs, isOurs: false, isGone: false };
}

/** A message that arrived and is not recorded would be sent again. */
const patienceMs = 60_000;

/** Ends everything that goes to a target. */
async function disable(
  { db }: Services,
  { ownerId, channel, target }: HeldDelivery,
  reason: string,
): Promise<void> {
  const { deliveries, notificationSettings, webhookEndpoints } = schema;
  await db.transaction(async (tx) => {
    if (channel === "webhook")
      await tx.execute(sql`update ${webhookEndpoints} set is_enabled = false, disabled_reason = ${reason}
        where owner_id = ${ownerId} and id::text = ${target}`);
    else
      await tx.execute(sql`update ${notificationSettings} set is_on = false, updated_at = now()
        where owner_id = ${ownerId} and channel = ${channel} and target = ${target}`);
    await tx.execute(sql`
      update ${deliveries} set failed_at = clock_timestamp(), last_error = ${reason}
      where owner_id = ${ownerId} and channel = ${channel} and target = ${target}
        and delivered_at is null and failed_at is null and delivering_at is null`);
  });
}

/** Disables an endpoint to which nothing could be delivered in all the days that a delivery was tried. */
async function disableIfDead(
  { db }: Services,
  { id, channel, target, ownerId }: HeldDelivery,
): Promise<void> {
  const { deliveries, webhookEndpoints } = schema;
  if (channel !== "webhook") return;
  await db.execute(sql`
    update ${webhookEndpoints} e set is_enabled = false,
      disabled_reason = 'No delivery succeeded in several days. Check the receiver, then enable it again.'
    from ${deliveries} d
    where d.id = ${id} and d.attempts - d.ordered_at > ${waitsMs.length} and e.id::text = ${target} and e.owner_id = ${ownerId}
      and not exists (select from ${deliveries} other where other.owner_id = ${ownerId} and other.channel = 'webhook'
        and other.target = ${target} and other.delivered_at > d.created_at)`);
}
