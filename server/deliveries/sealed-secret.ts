import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import { eq, isNotNull, notLike, or, type SQL, sql } from "drizzle-orm";
import { type Db, schema } from "../db/index.ts";
import { AppError, type Env } from "../platform/index.ts";
import type { Services } from "../services.ts";

const { webhookEndpoints } = schema;

/** Before sealed secrets in their columns. Older rows have the secret itself, which begins with `whsec_`. */
const sealedMark = "sealed:";
const version = 1;
const keyBytes = 32;
const keyIdBytes = 5;
const nonceBytes = 12;
const tagBytes = 16;
const headBytes = 1 + keyIdBytes;
const cipher = "aes-256-gcm";

interface SealingKey {
  readonly key: Buffer;
  /** The first bytes of each sealed secret: version and name of the key. It tells nothing of the key. */
  readonly head: Buffer;
}

/** The key of this studio, from `AUTH_SECRET`; null for a process without it. */
function sealingKey({ AUTH_SECRET: secret }: Pick<Env, "AUTH_SECRET">): SealingKey | null {
  if (secret === undefined) return null;
  const derived = hkdfSync("sha256", secret, "", "atelier webhook secrets 1", keyBytes + keyIdBytes);
  const bytes = Buffer.from(derived);
  return {
    key: bytes.subarray(0, keyBytes),
    head: Buffer.concat([Buffer.of(version), bytes.subarray(keyBytes)]),
  };
}

/** The row belongs to the sealed bytes: a sealed secret that was copied into another row cannot be read there. */
const contextOf = (endpointId: string) => Buffer.from(`webhook_endpoints/${endpointId}`);

/** Encrypts the secret of an endpoint for its row (AES-256-GCM). Throws `internal` without `AUTH_SECRET`. */
export function sealSecret(env: Pick<Env, "AUTH_SECRET">, endpointId: string, secret: string): string {
  const sealing = sealingKey(env);
  if (!sealing) throw new AppError("internal", "AUTH_SECRET is not set.");
  const nonce = randomBytes(nonceBytes);
  const sealer = createCipheriv(cipher, sealing.key, nonce, { authTagLength: tagBytes });
  sealer.setAAD(contextOf(endpointId));
  const sealed = Buffer.concat([sealer.update(secret, "utf8"), sealer.final()]);
  const bytes = Buffer.concat([sealing.head, nonce, sealer.getAuthTag(), sealed]);
  return `${sealedMark}${bytes.toString("base64url")}`;
}

/** The secret of a row; null when it was sealed with another `AUTH_SECRET`, for another row, or was changed since. */
export function openSecret(env: Pick<Env, "AUTH_SECRET">, endpointId: string, stored: string): string | null {
  if (!stored.startsWith(sealedMark)) return stored;
  const bytes = Buffer.from(stored.slice(sealedMark.length), "base64url");
  const sealing = sealingKey(env);
  if (!sealing || bytes.length < headBytes + nonceBytes + tagBytes) return null;
  if (!bytes.subarray(0, headBytes).equals(sealing.head)) return null;
  const [nonceEnd, tagEnd] = [headBytes + nonceBytes, headBytes + nonceBytes + tagBytes];
  const nonce = bytes.subarray(headBytes, nonceEnd);
  const opener = createDecipheriv(cipher, sealing.key, nonce, { authTagLength: tagBytes });
  opener.setAAD(contextOf(endpointId)).setAuthTag(bytes.subarray(nonceEnd, tagEnd));
  try {
    return Buffer.concat([opener.update(bytes.subarray(tagEnd)), opener.final()]).toString("utf8");
  } catch {
    return null;
  }
}

/**
 * SQL condition on a secret's column: it was sealed with another key than this process has. Workers elsewhere may have
 * another `AUTH_SECRET`; they leave the deliveries of such endpoints to the workers that can sign them.
 */
export function isOfOtherKey(env: Pick<Env, "AUTH_SECRET">, column: SQL): SQL {
  const sealing = sealingKey(env);
  const isSealed = sql`starts_with(${column}, ${sealedMark})`;
  if (!sealing) return isSealed;
  // Six bytes are eight characters of base64, so the text of the head is the beginning of the whole text.
  return sql`(${isSealed} and not starts_with(${column}, ${sealedMark + sealing.head.toString("base64url")}))`;
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
