import { randomBytes } from "node:crypto";
import { and, desc, eq, sql } from "drizzle-orm";
import { lockTopic, schema } from "../db/index.ts";
import { AppError, checkUrl, isId, newId } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { openSecret, sealSecret } from "./sealed-secret.ts";
import { requireTestable, toSecret } from "./webhook.ts";

const { deliveries, webhookEndpoints } = schema;

const maxEndpoints = 10;
const secretBytes = 32;
/** How long the secret before a rotation still signs. */
const rotationHours = 24;

/** An endpoint as its owner sees it. Times are ISO 8601, UTC. */
export interface EndpointView {
  readonly id: string;
  /** Null: the secret for the `webhookUrl` of jobs. */
  readonly url: string | null;
  readonly isEnabled: boolean;
  readonly disabledReason: string | null;
  /** The secret before the last rotation signs as well until then. */
  readonly previousUntil: string | null;
  /** Its secret cannot be read, since the studio has another `AUTH_SECRET` now: nothing is sent before it has a new one. */
  readonly needsNewSecret: boolean;
  readonly createdAt: string;
}

export interface OwnEndpoint {
  readonly ownerId: string;
  readonly id: string;
}

/**
 * Checks an address that is to receive webhooks. What its name leads to is checked at each send. Throws `url_refused`.
 */
export function requireWebhookUrl({ env }: Pick<Services, "env">, url: string): string {
  return checkUrl(url, { allowPrivate: env.ALLOWED_PRIVATE_HOSTS }).href;
}

/**
 * Makes an endpoint; the answer alone has the secret. With `url` null it is the secret for the `webhookUrl` of jobs, of
 * which an owner has one. Throws `url_refused`, and `conflict` above 10 endpoints.
 */
export async function createEndpoint(
  services: Services,
  { ownerId, url }: { ownerId: string; url: string | null },
): Promise<{ id: string; secret: string }> {
  const address = url === null ? null : requireWebhookUrl(services, url);
  const secret = toSecret(randomBytes(secretBytes));
  const id = newId();
  const sealed = sealSecret(services.env, id, secret);
  await services.db.transaction(async (tx) => {
    await lockTopic(tx, "webhook endpoints", ownerId);
    const held = await tx.select().from(webhookEndpoints).where(eq(webhookEndpoints.ownerId, ownerId));
    if (held.length >= maxEndpoints)
      throw new AppError("conflict", `You have ${maxEndpoints} webhooks, which is the limit.`);
    if (held.some((row) => row.url === address))
      throw new AppError("conflict", "There is a webhook for this address.");
    await tx.insert(webhookEndpoints).values({ id, ownerId, url: address, secret: sealed });
  });
  return { id, secret };
}

/** The endpoints of an owner, newest first. */
export async function listEndpoints({ db, env }: Services, ownerId: string): Promise<EndpointView[]> {
  const rows = await db
    .select()
    .from(webhookEndpoints)
    .where(eq(webhookEndpoints.ownerId, ownerId))
    .orderBy(desc(webhookEndpoints.id));
  return rows.map((row) => ({
    id: row.id,
    url: row.url,
    isEnabled: row.isEnabled,
    disabledReason: row.disabledReason,
    previousUntil:
      row.previousUntil && row.previousUntil > new Date() ? row.previousUntil.toISOString() : null,
    needsNewSecret: openSecret(env, row.id, row.secret) === null,
    createdAt: row.createdAt.toISOString(),
  }));
}

function ownRow({ ownerId, id }: OwnEndpoint) {
  if (!isId(id)) throw new AppError("not_found");
  return and(eq(webhookEndpoints.id, id), eq(webhookEndpoints.ownerId, ownerId));
}

function requireOne(rows: readonly unknown[]): void {
  if (rows.length === 0) throw new AppError("not_found");
}

/**
 * Gives the endpoint a new secret, which only this answer has; the old one signs as well for 24 hours, unless it cannot be
 * read any more. Throws `not_found`.
 */
export async function rotateSecret({ db, env }: Services, own: OwnEndpoint): Promise<{ secret: string }> {
  const secret = toSecret(randomBytes(secretBytes));
  const { id } = own;
  await db.transaction(async (tx) => {
    const [row] = await tx.select().from(webhookEndpoints).where(ownRow(own)).for("update");
    if (!row) throw new AppError("not_found");
    const old = openSecret(env, id, row.secret);
    const none = { previousSecret: null, previousUntil: null };
    await tx
      .update(webhookEndpoints)
      .set({
        secret: sealSecret(env, id, secret),
        ...(old === null
          ? none
          : {
              previousSecret: sealSecret(env, id, old),
              previousUntil: sql`now() + ${rotationHours} * interval '1 hour'`,
            }),
      })
      .where(ownRow(own));
  });
  return { secret };
}

/** Enables an endpoint, also one that the studio disabled, or disables it. Throws `not_found`. */
export async function enableEndpoint(
  { db }: Services,
  { isEnabled, ...own }: OwnEndpoint & { readonly isEnabled: boolean },
): Promise<void> {
  const rows = await db
    .update(webhookEndpoints)
    .set({ isEnabled, disabledReason: null })
    .where(ownRow(own))
    .returning({ id: webhookEndpoints.id });
  requireOne(rows);
}

/** Deletes an endpoint and ends what is still owed to it. Throws `not_found`. */
export async function deleteEndpoint({ db }: Services, own: OwnEndpoint): Promise<void> {
  await db.transaction(async (tx) => {
    const rows = await tx.delete(webhookEndpoints).where(ownRow(own)).returning({ id: webhookEndpoints.id });
    requireOne(rows);
    await tx.execute(sql`
      update ${deliveries} set failed_at = clock_timestamp(), last_error = 'The endpoint was deleted.'
      where owner_id = ${own.ownerId} and channel = 'webhook' and target = ${own.id}
        and delivered_at is null and failed_at is null and delivering_at is null`);
  });
}

/** Owes the endpoint a delivery of event `endpoint.test`; the log of deliveries shows what becomes of it. */
export async function testEndpoint(services: Services, own: OwnEndpoint): Promise<{ deliveryId: string }> {
  if (!isId(own.id)) throw new AppError("not_found");
  await requireTestable(services, own);
  const deliveryId = newId();
  await services.db.insert(deliveries).values({
    id: deliveryId,
    ownerId: own.ownerId,
    channel: "webhook",
    target: own.id,
    event: "endpoint.test",
  });
  return { deliveryId };
}
