import { and, desc, eq } from "drizzle-orm";
import { recordAct } from "../audit/index.ts";
import { schema } from "../db/index.ts";
import { AppError } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { authOf } from "./auth.ts";
import { type KeyRight, readRights, toPermissions } from "./key-rights.ts";

const maxKeys = 50;

export interface CreateApiKeyInput {
  readonly userId: string;
  /** 1..100 characters. */
  readonly name: string;
  /** Null, the default: all that the owner may. */
  readonly rights?: readonly KeyRight[] | null;
  /** 1..365; null, the default: it does not end by itself. */
  readonly days?: number | null;
  /** Requests in a minute, from 1; null, the default: `limits.apiKeyPerMinute`, which is the most in any case. */
  readonly perMinute?: number | null;
}

export const maxKeyDays = 365;
export const maxKeyPerMinute = 100_000;
const dayS = 86_400;

/** Makes an API key; `key` is returned once, only its hash is stored. Throws `conflict` above 50 keys. */
export async function createApiKey(
  services: Services,
  { userId, name, rights = null, days = null, perMinute = null }: CreateApiKeyInput,
): Promise<{ id: string; key: string }> {
  const held = await services.db.$count(schema.apiKeys, eq(schema.apiKeys.referenceId, userId));
  if (held >= maxKeys)
    throw new AppError("conflict", `You have ${maxKeys} API keys, which is the limit. Revoke one first.`);
  const permissions = toPermissions(rights);
  const made = await authOf(services).api.createApiKey({
    body: {
      userId,
      name,
      ...(permissions ? { permissions } : {}),
      ...(days === null ? {} : { expiresIn: days * dayS }),
    },
  });
  await services.db.transaction(async (tx) => {
    const { apiKeys } = schema;
    if (perMinute !== null) await tx.update(apiKeys).set({ perMinute }).where(eq(apiKeys.id, made.id));
    const details = { rights, days, perMinute };
    await recordAct(tx, { kind: "key.made", by: userId, object: made.id, details });
  });
  return { id: made.id, key: made.key };
}

export interface RevokeApiKeyInput {
  readonly userId: string;
  readonly id: string;
}

/** Ends an API key at once. Throws `not_found` for an unknown key and for another user's. */
export async function revokeApiKey({ db }: Services, { userId, id }: RevokeApiKeyInput): Promise<void> {
  const { apiKeys } = schema;
  await db.transaction(async (tx) => {
    const gone = await tx
      .delete(apiKeys)
      .where(and(eq(apiKeys.id, id), eq(apiKeys.referenceId, userId)))
      .returning({ id: apiKeys.id });
    if (gone.length === 0) throw new AppError("not_found");
    await recordAct(tx, { kind: "key.revoked", by: userId, object: id });
  });
}

/** An API key as its owner sees it. Times are ISO 8601, UTC. */
export interface ApiKeyView {
  readonly id: string;
  readonly name: string;
  /** Its first characters, to tell keys apart. */
  readonly start: string;
  readonly createdAt: string;
  /** To the minute; null when it was never used. */
  readonly lastUsedAt: string | null;
  /** Null: it does not end by itself. */
  readonly endsAt: string | null;
  readonly hasEnded: boolean;
  /** Null: all that its owner may. */
  readonly rights: readonly KeyRight[] | null;
  /** Null: as many requests as any key. */
  readonly perMinute: number | null;
}

/** The keys of a user, newest first. */
export async function listApiKeys({ db }: Services, input: { userId: string }): Promise<ApiKeyView[]> {
  const { apiKeys } = schema;
  const rows = await db
    .select()
    .from(apiKeys)
    .where(eq(apiKeys.referenceId, input.userId))
    .orderBy(desc(apiKeys.id));
  return rows.map((row) => ({
    id: row.id,
    name: row.name ?? "",
    start: row.start ?? "",
    createdAt: row.createdAt.toISOString(),
    lastUsedAt: row.lastRequest?.toISOString() ?? null,
    endsAt: row.expiresAt?.toISOString() ?? null,
    hasEnded: row.expiresAt !== null && row.expiresAt <= new Date(),
    rights: readRights(row.permissions),
    perMinute: row.perMinute,
  }));
}
