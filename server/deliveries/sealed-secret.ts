import { eq, isNotNull, notLike, or, type SQL, sql } from "drizzle-orm";
import { type Db, schema } from "../db/index.ts";
import { type Env, openSealed, seal, sealedHead, sealedMark } from "../platform/index.ts";
import type { Services } from "../services.ts";

const { webhookEndpoints } = schema;

/** Of the endpoint that the sealed bytes belong to. Older rows have the secret itself, which begins with `whsec_`. */
const forEndpoint = (endpointId: string) => ({ purpose, context: `webhook_endpoints/${endpointId}` });
const purpose = "webhook secrets";

/** Encrypts the secret of an endpoint for its row. Throws `internal` without `AUTH_SECRET`. */
export function sealSecret(env: Pick<Env, "AUTH_SECRET">, endpointId: string, secret: string): string {
  return seal(env, forEndpoint(endpointId), secret);
}

/** The secret of a row; null when it was sealed with another `AUTH_SECRET`, for another row, or was changed since. */
export function openSecret(env: Pick<Env, "AUTH_SECRET">, endpointId: string, stored: string): string | null {
  return stored.startsWith(sealedMark) ? openSealed(env, forEndpoint(endpointId), stored) : stored;
}

/**
 * SQL condition on a secret's column: it was sealed with another key than this process has. Workers elsewhere may have
 * another `AUTH_SECRET`; they leave the deliveries of such endpoints to the workers that can sign them.
 */
export function isOfOtherKey(env: Pick<Env, "AUTH_SECRET">, column: SQL): SQL {
  const head = sealedHead(env, purpose);
  const isSealed = sql`starts_with(${column}, ${sealedMark})`;
  return head === null ? isSealed : sql`(${isSealed} and not starts_with(${column}, ${head}))`;
}

/** How many endpoints have a secret that this process cannot read. */
export function countUnreadableSecrets({ db, env }: Pick<Services, "db" | "env">): Promise<number> {
  return db.$count(webhookEndpoints, isOfOtherKey(env, sql`${webhookEndpoints.secret}`));
}

/** How many rows one pass of `sealSecrets` reads. */
const batchSize = 500;

/**
 * Encrypts the secrets that older versions stored as they are. Returns how many rows were changed. Run it in processes that
 * are known to have the studio's `AUTH_SECRET`, which are those that serve its pages.
 */
export async function sealSecrets({ db, env }: Pick<Services, "db" | "env">): Promise<number> {
  const isPlain = or(
    notLike(webhookEndpoints.secret, `${sealedMark}%`),
    sql`${isNotNull(webhookEndpoints.previousSecret)} and ${notLike(webhookEndpoints.previousSecret, `${sealedMark}%`)}`,
  );
  const rows = await db.select().from(webhookEndpoints).where(isPlain).limit(batchSize);
  let changed = 0;
  for (const row of rows) changed += await sealRow(db, env, row);
  // A pass that changed nothing lost each row to a rotation at the same moment; the next start looks again.
  return changed > 0 && rows.length === batchSize ? changed + (await sealSecrets({ db, env })) : changed;
}

async function sealRow(
  db: Db,
  env: Env,
  { id, secret, previousSecret }: typeof webhookEndpoints.$inferSelect,
): Promise<number> {
  const seal = (stored: string) => (stored.startsWith(sealedMark) ? stored : sealSecret(env, id, stored));
  const rows = await db
    .update(webhookEndpoints)
    .set({ secret: seal(secret), previousSecret: previousSecret === null ? null : seal(previousSecret) })
    // A rotation meanwhile has stored another secret, which must stay.
    .where(sql`${eq(webhookEndpoints.id, id)} and ${eq(webhookEndpoints.secret, secret)}
      and ${webhookEndpoints.previousSecret} is not distinct from ${previousSecret}`)
    .returning({ id: webhookEndpoints.id });
  return rows.length;
}
