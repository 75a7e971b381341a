import { and, asc, eq, inArray, ne } from "drizzle-orm";
import type { z } from "zod";
import { recordAct } from "../audit/index.ts";
import { schema } from "../db/index.ts";
import { AppError } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { refuseLack } from "./admin-factor.ts";
import { authOf } from "./auth.ts";
import type { Caller } from "./caller.ts";
import { forgetTrust, isPasswordOf, passwordWay } from "./credentials.ts";
import type { passkeyName } from "./passkey-guard.ts";
import { noteConfirmed, requireRecent } from "./sessions.ts";

const { credentials, passkeys, sessions, twoFactors, users } = schema;

/** How a user signs in. Times are ISO 8601, UTC. */
export interface SecurityView {
  /** There is a password, and this studio takes passwords. */
  readonly hasPassword: boolean;
  /** The authenticator app is set up and in force. */
  readonly hasApp: boolean;
  /** Unused recovery codes; null without the app. */
  readonly recoveryCodes: number | null;
  readonly passkeys: readonly {
    readonly id: string;
    readonly name: string | null;
    readonly createdAt: string;
    readonly lastUsedAt: string | null;
  }[];
}

/** How the caller signs in. */
export async function readSecurity(services: Services, userId: string): Promise<SecurityView> {
  const { db } = services;
  const isApp = and(eq(twoFactors.userId, userId), eq(twoFactors.verified, true));
  const [keys, hasPassword, apps] = await Promise.all([
    db
      .select()
      .from(passkeys)
      .where(eq(passkeys.userId, userId))
      .orderBy(asc(passkeys.createdAt), asc(passkeys.id)),
    db.$count(credentials, and(eq(credentials.userId, userId), eq(credentials.providerId, passwordWay))),
    db.$count(twoFactors, isApp),
  ]);
  const left = apps > 0 ? await authOf(services).api.viewBackupCodes({ body: { userId } }) : null;
  return {
    hasPassword: services.config.signIn.passwords && hasPassword > 0,
    hasApp: apps > 0,
    recoveryCodes: left?.backupCodes.length ?? null,
    passkeys: keys.map(({ id, name, createdAt, lastUsedAt }) => ({
      id,
      name,
      createdAt: createdAt.toISOString(),
      lastUsedAt: lastUsedAt?.toISOString() ?? null,
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

/**
 * Removes a passkey, and ends the user's other sessions and the trust in browsers. Throws `not_found`, `forbidden` when the session is not recent, and
 * `conflict` when nothing else is left to sign in with.
 */
export async function removePasskey(
  services: Services,
  { userId, sessionId = "", id, adminLack }: Own & Pick<Caller, "adminLack"> & { readonly id: string },
): Promise<void> {
  await requireRecent(services, sessionId);
  if (adminLack === "sign_in") refuseLack({ adminLack });
  const { passwords, providers } = services.config.signIn;
  // A provider that is no longer configured lets nobody in.
  const waysNow = [...Object.keys(providers), ...(passwords ? [passwordWay] : [])];
  await services.db.transaction(async (tx) => {
    // Of two removals at once the second counts what the first left.
    await tx.select({ id: users.id }).from(users).where(eq(users.id, userId)).for("update");
    const gone = await tx
      .delete(passkeys)
      .where(and(eq(passkeys.id, id), eq(passkeys.userId, userId)))
      .returning({ id: passkeys.id });
    if (gone.length === 0) throw new AppError("not_found");
    const left = await Promise.all([
      tx.$count(passkeys, eq(passkeys.userId, userId)),
      tx.$count(credentials, and(eq(credentials.userId, userId), inArray(credentials.providerId, waysNow))),
    ]);
    if (left.every((count) => count === 0))
      throw new AppError("conflict", "This passkey is the only way to sign in. Add another one first.");
    await tx.delete(sessions).where(and(eq(sessions.userId, userId), ne(sessions.id, sessionId)));
    await forgetTrust(tx, userId);
    await recordAct(tx, { kind: "account.passkey_removed", by: userId, object: id });
  });
}
