import { and, asc, eq, type SQL, sql } from "drizzle-orm";
import { z } from "zod";
import {
  ago,
  type ChannelName,
  channelNames,
  deleteInBatches,
  latestFirst,
  schema,
  toPage,
} from "../db/index.ts";
import { AppError, isId, lineOfText } from "../platform/index.ts";
import type { Services } from "../services.ts";
import type { DeliveryEvent } from "./channel.ts";

const { deliveries, deliveryAttempts, users, webhookEndpoints } = schema;

const deliveryStates = ["waiting", "sending", "delivered", "failed"] as const;
type DeliveryState = (typeof deliveryStates)[number];

/** A delivery for the log. Times are ISO 8601, UTC. */
export interface DeliveryView {
  readonly id: string;
  readonly jobId: string | null;
  readonly batchId: string | null;
  readonly channel: ChannelName;
  /** Receiver for people: an address without its query, since that may hold a secret. */
  readonly receiver: string;
  readonly event: DeliveryEvent;
  readonly state: DeliveryState;
  readonly attempts: number;
  readonly lastError: string | null;
  /** Null when no further attempt is planned. */
  readonly nextAttemptAt: string | null;
  readonly deliveredAt: string | null;
  readonly createdAt: string;
}

export interface FoundDelivery extends DeliveryView {
  readonly ownerId: string;
  readonly ownerName: string;
}

/** Schema of the admins' search; part of it is the owner's. */
export const searchDeliveriesSchema = z.strictObject({
  /** Id of a delivery, a job or a user, or an e-mail address. */
  query: lineOfText.max(254).default(""),
  channel: z.enum(channelNames).optional(),
  state: z.enum(deliveryStates).optional(),
  cursor: z.string().max(100).meta({ format: "cursor" }).optional(),
  limit: z.int().min(1).max(100).default(50),
});

export const listDeliveriesSchema = searchDeliveriesSchema
  .omit({ query: true })
  .extend({ jobId: z.uuid().optional(), endpointId: z.uuid().optional() });

interface Page<Item> {
  readonly items: Item[];
  readonly nextCursor: string | null;
}

/** The deliveries of an owner, newest first. */
export async function listDeliveries(
  services: Services,
  {
    ownerId,
    jobId,
    endpointId,
    ...rest
  }: z.output<typeof listDeliveriesSchema> & { readonly ownerId: string },
): Promise<Page<DeliveryView>> {
  const page = await find(services, rest, [
    eq(deliveries.ownerId, ownerId),
    ...(jobId ? [eq(deliveries.jobId, jobId)] : []),
    ...(endpointId ? [eq(deliveries.target, endpointId)] : []),
  ]);
  return {
    ...page,
    items: page.items.map(({ ownerId: _ownerId, ownerName: _ownerName, ...view }) => view),
  };
}

/** Deliveries of all owners, newest first. */
export async function searchDeliveries(
  services: Services,
  { query, ...rest }: z.output<typeof searchDeliveriesSchema>,
): Promise<Page<FoundDelivery>> {
  const ofId = isId(query)
    ? sql`or ${deliveries.id} = ${query}::uuid or ${deliveries.jobId} = ${query}::uuid`
    : sql``;
  const where = sql`(${deliveries.ownerId} = ${query} or ${users.email} = ${query.toLowerCase()} ${ofId})`;
  return find(services, rest, query === "" ? [] : [where]);
}

const stateIs: Readonly<Record<DeliveryState, SQL>> = {
  waiting: sql`${deliveries.deliveredAt} is null and ${deliveries.failedAt} is null and ${deliveries.deliveringAt} is null`,
  sending: sql`${deliveries.deliveringAt} is not null`,
  delivered: sql`${deliveries.deliveredAt} is not null`,
  failed: sql`${deliveries.failedAt} is not null`,
};

const pages = latestFirst(deliveries.createdAt, deliveries.id);

async function find(
  { db }: Services,
  { channel, state, cursor, limit }: Omit<z.output<typeof searchDeliveriesSchema>, "query">,
  where: readonly SQL[],
): Promise<Page<FoundDelivery>> {
  const rows = await db
    .select({ delivery: deliveries, ownerName: users.name, url: webhookEndpoints.url, cursor: pages.cursor })
    .from(deliveries)
    .innerJoin(users, eq(users.id, deliveries.ownerId))
    .leftJoin(webhookEndpoints, sql`${webhookEndpoints.id}::text = ${deliveries.target}`)
    .where(
      and(
        ...where,
        ...(channel ? [eq(deliveries.channel, channel)] : []),
        ...(state ? [stateIs[state]] : []),
        cursor === undefined ? undefined : pages.isBehind(cursor),
      ),
    )
    .orderBy(...pages.order)
    .limit(limit + 1);
  const { items: shown, nextCursor } = toPage(rows, limit, "cursor");
  const items = shown.map(({ delivery, ownerName, url }) => ({
    ...viewOf(delivery, url),
    ownerId: delivery.ownerId,
    ownerName,
  }));
  return { items, nextCursor };
}

type Row = typeof deliveries.$inferSelect;

function stateOf({ deliveringAt, deliveredAt, failedAt }: Row): DeliveryState {
  if (deliveredAt) return "delivered";
  if (failedAt) return "failed";
  return deliveringAt ? "sending" : "waiting";
}

function viewOf(row: Row, url: string | null): DeliveryView {
  const state = stateOf(row);
  const { id, jobId, batchId, channel, event, attempts, lastError, createdAt, deliveredAt, nextAttemptAt } =
    row;
  return {
    id,
    jobId,
    batchId,
    channel,
    receiver: receiverOf(channel, url ?? row.target),
    event,
    state,
    attempts,
    lastError,
    nextAttemptAt: state === "waiting" ? nextAttemptAt.toISOString() : null,
    deliveredAt: deliveredAt?.toISOString() ?? null,
    createdAt: createdAt.toISOString(),
  };
}

function receiverOf(channel: ChannelName, target: string): string {
  if (channel !== "webhook") return target;
  if (!URL.canParse(target)) return "deleted endpoint";
  const { origin, pathname } = new URL(target);
  return `${origin}${pathname}`;
}

/** One attempt of a delivery; `lost`: its process died, or another one took its lock over. */
export interface AttemptView {
  readonly number: number;
  readonly outcome: "sending" | "delivered" | "failed" | "lost";
  /** HTTP or SMTP status of the receiver's answer. */
  readonly status: number | null;
  readonly error: string | null;
  readonly startedAt: string;
  readonly endedAt: string | null;
}

/** The attempts of a delivery, oldest first; of any owner with `ownerId` null. Throws `not_found`. */
export async function readAttempts(
  { db }: Services,
  { id, ownerId }: { id: string; ownerId: string | null },
): Promise<AttemptView[]> {
  if (!isId(id)) throw new AppError("not_found");
  const own = and(eq(deliveries.id, id), ...(ownerId === null ? [] : [eq(deliveries.ownerId, ownerId)]));
  const [delivery] = await db.select().from(deliveries).where(own);
  if (!delivery) throw new AppError("not_found");
  const rows = await db
    .select()
    .from(deliveryAttempts)
    .where(eq(deliveryAttempts.deliveryId, id))
    .orderBy(asc(deliveryAttempts.number));
  return rows.map((row) => {
    const isCurrent = row.number === delivery.attempts && delivery.deliveringAt !== null;
    const open = isCurrent ? ("sending" as const) : ("lost" as const);
    return {
      number: row.number,
      outcome: row.endedAt === null ? open : row.isDelivered ? ("delivered" as const) : ("failed" as const),
      status: row.status,
      error: row.error,
      startedAt: row.startedAt.toISOString(),
      endedAt: row.endedAt?.toISOString() ?? null,
    };
  });
}

/**
 * Removes deliveries that are older than the stories of jobs; returns how many. Open ones go too when they have been due for
 * days: no process can send them, as when nobody gave their webhook a new secret.
 */
export async function pruneDeliveries({ db, config }: Services): Promise<number> {
  const since = ago(config.retention.eventsMs);
  return deleteInBatches(
    db,
    deliveries,
    sql`${deliveries.createdAt} < ${since}
      and (${deliveries.deliveredAt} is not null or ${deliveries.failedAt} is not null
        or (${deliveries.deliveringAt} is null and ${deliveries.nextAttemptAt} < now() - interval '3 days'))`,
  );
}
