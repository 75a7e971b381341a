import { and, desc, eq } from "drizzle-orm";
import { recordAct } from "../audit/index.ts";
import { lockTopic, schema, type Tx } from "../db/index.ts";
import { AppError } from "../platform/index.ts";
import { type KeyBudget, type KeyCap, readKeyBudgets } from "../providers/index.ts";
import type { Services } from "../services.ts";
import { recordChange } from "./account-changes.ts";
import { authOf } from "./auth.ts";
import { type Maker, requireStanding } from "./caller.ts";
import { isAdminNow } from "./first-admin.ts";
import { type KeyRight, keyRights, readRights, rightsOf, toPermissions } from "./key-rights.ts";

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
  /** What the key may spend; null, the default: only the owner's caps hold. */
  readonly cap?: KeyCap | null;
  /** Who makes it; absent for an operator. */
  readonly maker?: Maker;
  /** False: the owner gets no mail, as for the made-up accounts of `atelier seed`. */
  readonly isTold?: boolean;
}

export const maxKeyDays = 365;
export const maxKeyPerMinute = 100_000;
/** US dollars. */
export const maxKeyCapUsd = 1_000_000;
const dayS = 86_400;

/**
 * Makes an API key; `key` is returned once, only its hash is stored. Throws `conflict` above 50 keys, and `unauthorized` for
 * a maker who was signed out meanwhile.
 */
export async function createApiKey(
  services: Services,
  input: CreateApiKeyInput,
): Promise<{ id: string; key: string }> {
  const { userId, name, rights = null, days = null, perMinute = null, cap = null } = input;
  const held = await services.db.$count(schema.apiKeys, eq(schema.apiKeys.referenceId, userId));
  if (held >= maxKeys) throw tooManyKeys();
  const permissions = toPermissions(rights);
  const made = await authOf(services).api.createApiKey({
    body: {
      userId,
      name,
      ...(permissions ? { permissions } : {}),
      ...(days === null ? {} : { expiresIn: days * dayS }),
    },
  });
  const settle = services.db.transaction((tx) =>
    settleKey(services, tx, { ...input, rights, days, perMinute, cap, made }),
  );
  const isKept = await settle.catch(async (error: unknown) => {
    // The library stored it in a transaction of its own, and nobody has seen it.
    await services.db.delete(schema.apiKeys).where(eq(schema.apiKeys.id, made.id));
    throw error;
  });
  if (!isKept) throw tooManyKeys();
  return { id: made.id, key: made.key };
}

const tooManyKeys = () =>
  new AppError("conflict", `You have ${maxKeys} API keys, which is the limit. Revoke one first.`);

interface MadeKey extends Required<Omit<CreateApiKeyInput, "maker" | "isTold">> {
  readonly made: { readonly id: string; readonly expiresAt: Date | null };
  readonly maker?: Maker;
  readonly isTold?: boolean;
}

/**
 * What the library does not store of a new key, with its entry in the audit log and the message to its owner. False for one above the
 * limit, which is gone: of several at once each sees those before it here.
 */
async function settleKey(services: Services, tx: Tx, input: MadeKey): Promise<boolean> {
  const { made, userId, rights, days, perMinute, cap, maker, isTold = true } = input;
  const { apiKeys } = schema;
  const { id } = made;
  await lockTopic(tx, "api keys", userId);
  if ((await tx.$count(apiKeys, eq(apiKeys.referenceId, userId))) > maxKeys) {
    await tx.delete(apiKeys).where(eq(apiKeys.id, id));
    return false;
  }
  if (maker) await requireStanding(tx, maker);
  else await lockUser(tx, userId);
  if (perMinute !== null) await tx.update(apiKeys).set({ perMinute }).where(eq(apiKeys.id, id));
  if (cap !== null) await storeCap(tx, { userId, id, cap });
  const details = { rights, days, perMinute, cap };
  const act = { kind: "key.made", by: userId, object: id, details } as const;
  if (!isTold) {
    await recordAct(tx, act);
    return true;
  }
  // A key with a cap counts as one with chosen rights.
  const held = cap === null ? rights : [...rightsOf(rights ?? keyRights, await isAdminNow(tx, userId))];
  await recordChange(services, tx, act, { rights: held, endsAt: made.expiresAt?.toISOString() ?? null });
  return true;
}

/** The user before the key, as where all ways into an account end. */
async function lockUser(tx: Tx, userId: string): Promise<void> {
  const { users } = schema;
  await tx.select({ id: users.id }).from(users).where(eq(users.id, userId)).for("key share");
}

export interface KeyCapInput {
  readonly userId: string;
  readonly id: string;
  /** Null takes the cap away. */
  readonly cap: KeyCap | null;
}

/**
 * Changes what a key may spend; what it has spent stays counted. A key that had no cap counts as one with chosen rights from now
 * on. Throws `not_found` for an unknown key and for another user's.
 */
export async function setKeyCap({ db }: Services, input: KeyCapInput): Promise<void> {
  const { userId, id, cap } = input;
  const { apiKeys } = schema;
  await db.transaction(async (tx) => {
    const own = await tx
      .select({ id: apiKeys.id })
      .from(apiKeys)
      .where(and(eq(apiKeys.id, id), eq(apiKeys.referenceId, userId)))
      .for("update");
    if (own.length === 0) throw new AppError("not_found");
    await storeCap(tx, input);
    await recordAct(tx, { kind: "key.capped", by: userId, object: id, details: { cap } });
  });
}

async function storeCap(tx: Tx, { userId, id: keyId, cap }: KeyCapInput): Promise<void> {
  const { keyCaps } = schema;
  if (cap === null) await tx.delete(keyCaps).where(eq(keyCaps.keyId, keyId));
  else
    await tx
      .insert(keyCaps)
      .values({ keyId, userId, ...cap })
      .onConflictDoUpdate({ target: keyCaps.keyId, set: cap });
}

export interface RevokeApiKeyInput {
  readonly userId: string;
  readonly id: string;
}

/** Ends an API key at once; its batches begin nothing more, by the entry in the audit log. Throws `not_found` for an unknown key and for another user's. */
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
export interface ApiKeyView extends KeyBudget {
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
export async function listApiKeys(services: Services, input: { userId: string }): Promise<ApiKeyView[]> {
  const { apiKeys } = schema;
  const rows = await services.db
    .select()
    .from(apiKeys)
    .where(eq(apiKeys.referenceId, input.userId))
    .orderBy(desc(apiKeys.id));
  return toViews(services, rows);
}

/** The key of a request as it may see itself. Throws `not_found` when it is gone. */
export async function readApiKey(services: Services, id: string): Promise<ApiKeyView> {
  const { apiKeys } = schema;
  const [view] = await toViews(services, await services.db.select().from(apiKeys).where(eq(apiKeys.id, id)));
  if (!view) throw new AppError("not_found");
  return view;
}

const unspent: KeyBudget = { cap: null, spentUsd: 0, reservedUsd: 0, resetsAt: null };

async function toViews(
  services: Services,
  rows: readonly (typeof schema.apiKeys.$inferSelect)[],
): Promise<ApiKeyView[]> {
  const budgets = await readKeyBudgets(
    services,
    rows.map(({ id }) => id),
  );
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
    ...(budgets.get(row.id) ?? unspent),
  }));
}
