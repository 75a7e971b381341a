import { and, asc, eq, inArray, isNull } from "drizzle-orm";
import type { z } from "zod";
import type { recordAct } from "../audit/index.ts";
import { schema, type Tx } from "../db/index.ts";
import { AppError, newId } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { recordChange } from "./account-changes.ts";
import { lackOf, lackTexts, refuseLack } from "./admin-factor.ts";
import { authOf } from "./auth.ts";
import type { Caller } from "./caller.ts";
import {
  endOthers,
  hashPassword,
  isPasswordOf,
  passkeyHost,
  passwordWay,
  requirePassword,
  requireTaken,
} from "./credentials.ts";
import { isAdminNow } from "./first-admin.ts";
import type { passkeyName } from "./passkey-guard.ts";
import { noteConfirmed, requireRecent, requireTyped } from "./sessions.ts";

const { credentials, passkeys, passwordResets, twoFactors, users } = schema;

/** How a user signs in. Times are ISO 8601, UTC. */
export interface SecurityView {
  /** There is a password, and this studio takes passwords. */
  readonly hasPassword: boolean;
  readonly takesPasswords: boolean;
  /** Names of the providers of the configuration through which the user signs in. */
  readonly providers: readonly string[];
  /** The same with their ids; absent in answers of a version that unlinks none. */
  readonly linkedProviders?: readonly { readonly id: string; readonly name: string }[];
  /** The authenticator app is set up and in force. */
  readonly hasApp: boolean;
  /** Unused recovery codes; null without the app. */
  readonly recoveryCodes: number | null;
  readonly passkeys: readonly {
    readonly id: string;
    readonly name: string | null;
    readonly createdAt: string;
    readonly lastUsedAt: string | null;
    /** Where a browser offers it; null: made before that was kept, and not used since. */
    readonly host: string | null;
    /** Whether that is the address of today; `unknown` without a host. */
    readonly place: "here" | "elsewhere" | "unknown";
  }[];
}

function placeOf(env: Services["env"], rpId: string | null): SecurityView["passkeys"][number]["place"] {
  if (rpId === null) return "unknown";
  return rpId === passkeyHost(env) ? "here" : "elsewhere";
}

/** How the caller signs in. */
export async function readSecurity(services: Services, userId: string): Promise<SecurityView> {
  const { db } = services;
  const { passwords, providers } = services.config.signIn;
  const isApp = and(eq(twoFactors.userId, userId), eq(twoFactors.verified, true));
  const [keys, ways, apps] = await Promise.all([
    db
      .select()
      .from(passkeys)
      .where(eq(passkeys.userId, userId))
      .orderBy(asc(passkeys.createdAt), asc(passkeys.id)),
    db
      .select({ id: credentials.providerId })
      .from(credentials)
      .where(eq(credentials.userId, userId))
      .orderBy(asc(credentials.createdAt), asc(credentials.id)),
    db.$count(twoFactors, isApp),
  ]);
  const left = apps > 0 ? await authOf(services).api.viewBackupCodes({ body: { userId } }) : null;
  const linkedProviders = [...new Set(ways.map(({ id }) => id))].flatMap((id) => {
    const name = providers[id]?.name;
    return name === undefined ? [] : { id, name };
  });
  return {
    hasPassword: passwords && ways.some(({ id }) => id === passwordWay),
    takesPasswords: passwords,
    providers: linkedProviders.map(({ name }) => name),
    linkedProviders,
    hasApp: apps > 0,
    recoveryCodes: left?.backupCodes.length ?? null,
    passkeys: keys.map(({ id, name, createdAt, lastUsedAt, rpId }) => ({
      id,
      name,
      createdAt: createdAt.toISOString(),
      lastUsedAt: lastUsedAt?.toISOString() ?? null,
      host: rpId,
      place: placeOf(services.env, rpId),
    })),
  };
}

/** The session of a user who changes how the account is signed in to. */
interface Own {
  readonly userId: string;
  readonly sessionId: string | undefined;
}

/** Lets the session change passkeys for ten minutes. Throws `forbidden` for a wrong password, `rate_limited` after ten. */
export async function confirmPassword(
  services: Services,
  { userId, sessionId, password }: Own & { readonly password: string },
): Promise<void> {
  if (sessionId === undefined || !(await isPasswordOf(services, { userId, password })))
    throw new AppError("forbidden", "The password is wrong.");
  await noteConfirmed(services, sessionId);
}

/** Throws `not_found`, and `bad_request` for a wrong name. */
export async function renamePasskey(
  { db }: Services,
  {
    userId,
    id,
    name,
  }: { readonly userId: string; readonly id: string; readonly name: z.infer<typeof passkeyName> },
): Promise<void> {
  const isOwn = and(eq(passkeys.id, id), eq(passkeys.userId, userId));
  const named = await db.update(passkeys).set({ name }).where(isOwn).returning({ id: passkeys.id });
  if (named.length === 0) throw new AppError("not_found");
}

/** A change of the ways in. */
type WayChange = Own & Pick<Caller, "adminLack">;

/** Of two changes at once the second sees what the first left, and whether it ended the session of the second. */
async function lockWays(tx: Tx, userId: string): Promise<void> {
  await tx.select({ id: users.id }).from(users).where(eq(users.id, userId)).for("update");
}

/**
 * Removes a way to sign in, and ends the user's other sessions and the trust in browsers. `remove` returns what is gone, for the audit log; it
 * throws where there is nothing. Throws what `requireProof` throws of the session, and `conflict` with `last` when nothing else is left.
 */
async function removeWay(
  services: Services,
  { userId, sessionId = "", adminLack }: WayChange,
  { requireProof, remove, last }: Removal,
): Promise<void> {
  if (adminLack === "sign_in") refuseLack({ adminLack });
  const { passwords, providers } = services.config.signIn;
  // A provider that is no longer configured lets nobody in.
  const waysNow = [...Object.keys(providers), ...(passwords ? [passwordWay] : [])];
  await services.db.transaction(async (tx) => {
    await lockWays(tx, userId);
    await requireProof({ db: tx }, sessionId);
    const { isWay, ...act } = await remove(tx);
    // One of an unknown host may be of another: until somebody signs in with it, it must not be all that is left.
    const isHere = eq(passkeys.rpId, passkeyHost(services.env));
    const [here, unknown, others] = await Promise.all([
      tx.$count(passkeys, and(eq(passkeys.userId, userId), isHere)),
      tx.$count(passkeys, and(eq(passkeys.userId, userId), isNull(passkeys.rpId))),
      tx.$count(credentials, and(eq(credentials.userId, userId), inArray(credentials.providerId, waysNow))),
    ]);
    if (isWay && here + others === 0) throw new AppError("conflict", unknown > 0 ? unproven : last);
    await endOthers(tx, { userId, sessionId });
    await recordChange(services, tx, { ...act, by: userId });
  });
}

const unproven =
  "Sign in with your passkey once first: it is not known yet whether it works at this address.";

interface Removal {
  readonly requireProof: typeof requireRecent;
  /** `isWay`: what is gone signed in at today's address, or may have. */
  readonly remove: (tx: Tx) => Promise<Omit<Parameters<typeof recordAct>[1], "by"> & { isWay: boolean }>;
  readonly last: string;
}

/**
 * Removes a passkey, and ends the user's other sessions and the trust in browsers. Throws `not_found`, `forbidden` when the
 * session is not recent, and `conflict` when nothing else is left to sign in with at today's address; one of another address
 * may always go.
 */
export async function removePasskey(
  services: Services,
  { id, ...change }: WayChange & { readonly id: string },
): Promise<void> {
  await removeWay(services, change, {
    requireProof: requireRecent,
    last: "This passkey is the only way to sign in. Add another one first.",
    async remove(tx) {
      const gone = await tx
        .delete(passkeys)
        .where(and(eq(passkeys.id, id), eq(passkeys.userId, change.userId)))
        .returning({ rpId: passkeys.rpId });
      const [key] = gone;
      if (!key) throw new AppError("not_found");
      const isWay = placeOf(services.env, key.rpId) !== "elsewhere";
      return { kind: "account.passkey_removed", object: id, isWay };
    },
  });
}

/**
 * Removes the password with what belongs to it: the authenticator app, the recovery codes and open links to a new password. Ends the user's
 * other sessions and the trust in browsers. Throws `not_found` without a password, `forbidden` unless it was typed in this session within
 * ten minutes, and `conflict` when neither a passkey nor a provider is left, or an admin would be without the second factor that the studio asks for.
 */
export async function removePassword(services: Services, change: WayChange): Promise<void> {
  const { userId } = change;
  await removeWay(services, change, {
    requireProof: requireTyped,
    last: "The password is the only way to sign in. Add a passkey first.",
    async remove(tx) {
      const gone = await tx
        .delete(credentials)
        .where(and(eq(credentials.userId, userId), eq(credentials.providerId, passwordWay)))
        .returning({ id: credentials.id });
      if (gone.length === 0) throw new AppError("not_found");
      // Its code is asked for after a password alone.
      await tx.delete(twoFactors).where(eq(twoFactors.userId, userId));
      await tx.update(users).set({ twoFactorEnabled: false }).where(eq(users.id, userId));
      await tx.delete(passwordResets).where(eq(passwordResets.userId, userId));
      await requireFactorLeft(services, tx, userId);
      return { kind: "account.password_removed", isWay: true };
    },
  });
}

/** Throws `conflict` when an admin is without the second factor that the studio asks for. */
async function requireFactorLeft(services: Services, tx: Tx, userId: string): Promise<void> {
  const isAdmin = await isAdminNow(tx, userId);
  if (isAdmin && (await lackOf({ ...services, db: tx }, { userId, sessionId: null })) === "factor")
    throw new AppError("conflict", lackTexts.factor);
}

/**
 * Unlinks a provider of the configuration, and ends the user's other sessions and the trust in browsers. Throws `not_found` when it is not
 * linked, `forbidden` when the session is not recent, and `conflict` when nothing else is left to sign in with, or an admin would be without the
 * second factor that the studio asks for.
 */
export async function removeProvider(
  services: Services,
  { id, ...change }: WayChange & { readonly id: string },
): Promise<void> {
  const { userId } = change;
  const { passwords, providers } = services.config.signIn;
  await removeWay(services, change, {
    requireProof: requireRecent,
    last: passwords ? onlyProvider : onlyProviderWithoutPasswords,
    async remove(tx) {
      const isOwn = and(eq(credentials.userId, userId), eq(credentials.providerId, id));
      const gone = Object.hasOwn(providers, id)
        ? await tx.delete(credentials).where(isOwn).returning({ id: credentials.id })
        : [];
      if (gone.length === 0) throw new AppError("not_found");
      await requireFactorLeft(services, tx, userId);
      return { kind: "account.provider_unlinked", details: { provider: id }, isWay: true };
    },
  });
}

const onlyProvider = "This provider is the only way to sign in. Set a password or add a passkey first.";
const onlyProviderWithoutPasswords =
  "This provider is the only way to sign in, and this studio takes no passwords. Add a passkey first.";

/**
 * Sets the first password of an account that has none, and ends its other sessions. Throws `bad_request` for a password that is too short or too
 * long, `forbidden` when the session is not recent, and `conflict` when there is one, or this studio takes none.
 */
export async function addPassword(
  services: Services,
  { userId, sessionId = "", adminLack, password }: WayChange & { readonly password: string },
): Promise<void> {
  requireTaken(services);
  requirePassword(password);
  await requireRecent(services, sessionId);
  if (adminLack === "sign_in") refuseLack({ adminLack });
  const hash = await hashPassword(password);
  await services.db.transaction(async (tx) => {
    await lockWays(tx, userId);
    await requireRecent({ db: tx }, sessionId);
    const made = await tx
      .insert(credentials)
      .values({ id: newId(), userId, accountId: userId, providerId: passwordWay, password: hash })
      .onConflictDoNothing()
      .returning({ id: credentials.id });
    if (made.length === 0) throw new AppError("conflict", "This account has a password already.");
    await endOthers(tx, { userId, sessionId });
    await recordChange(services, tx, { kind: "account.password_changed", by: userId });
  });
}
