import { setTimeout as sleep } from "node:timers/promises";
import { and, eq, gt } from "drizzle-orm";
import { type Caller, endOthers, getAccount, isPasswordOf, requireOtherAdmin } from "../accounts/plain.ts";
import { recordAct } from "../audit/index.ts";
import { schema, type Tx } from "../db/index.ts";
import { AppError } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { type Act, actOn } from "./acts.ts";
import { purgeUser } from "./purge.ts";

const { users, sessions, apiKeys, credentials, passwordResets, passkeys, twoFactors } = schema;

/** Whoever deletes a user without an address, or their own account, types this. */
export const deletionWord = "delete";

export interface Deleted {
  /** False while a worker still holds a job, or the store is away: a worker removes the rest. */
  readonly isGone: boolean;
}

/**
 * Deletes a user with everything that belongs to them. `confirm` is the user's e-mail address, for a guest the word
 * `deletionWord`. Throws `not_found`, `bad_request` for another `confirm`, and `conflict` for oneself and for the only admin.
 */
export async function deleteUser(
  services: Services,
  act: Act & { readonly confirm: string },
): Promise<Deleted> {
  if (act.userId === act.adminId)
    throw new AppError("conflict", "Your own account is deleted under Settings.");
  await actOn(services, act, async (tx, { id, email, isAnonymous }) => {
    const wanted = isAnonymous === true ? deletionWord : email;
    if (act.confirm.trim().toLowerCase() !== wanted.toLowerCase())
      throw new AppError("bad_request", `Type ${wanted} to confirm.`);
    await markDeleted(tx, id);
    await recordAct(tx, { kind: "user.deleted", by: act.adminId, to: id });
  });
  return finish(services, act.userId);
}

/**
 * Deletes the caller's own account with everything. An account proves itself by its password, a guest has none. Throws
 * `forbidden` for an API key, for a wrong password, and without one for a session older than 15 minutes, and `conflict` for the only admin.
 */
export async function deleteOwnAccount(
  services: Services,
  { caller, password }: { readonly caller: Caller; readonly password: string | undefined },
): Promise<Deleted> {
  const { userId, isGuest, via } = caller;
  if (via !== "session") throw new AppError("forbidden", "An account is deleted in the browser.");
  if (!isGuest) await requireProof(services, caller, password);
  await actOn(services, { userId, adminId: null }, async (tx) => {
    await markDeleted(tx, userId);
    await recordAct(tx, { kind: "account.deleted", by: userId });
  });
  services.log.info({ audit: true, userId, action: "account.delete" }, "user deleted their own account");
  return finish(services, userId);
}

/** Without a password, as through a provider, somebody proves to be here by a session that has just begun. */
const freshMinutes = 15;

async function requireProof(services: Services, caller: Caller, password: string | undefined): Promise<void> {
  const { userId, sessionId = "" } = caller;
  if ((await getAccount(services, caller))?.hasPassword !== false) {
    if (await isPasswordOf(services, { userId, password: password ?? "" })) return;
    throw new AppError("forbidden", "This is not your password.");
  }
  const since = new Date(Date.now() - freshMinutes * 60_000);
  const isFresh = and(eq(sessions.id, sessionId), eq(sessions.userId, userId), gt(sessions.createdAt, since));
  if ((await services.db.$count(sessions, isFresh)) > 0) return;
  throw new AppError(
    "forbidden",
    `Sign out and in again, and delete the account within ${freshMinutes} minutes.`,
  );
}

/** From this commit on nobody can use the account, and nothing in its row names a person. */
async function markDeleted(tx: Tx, id: string): Promise<void> {
  await requireOtherAdmin(tx, id);
  await tx
    .update(users)
    .set({
      deletedAt: new Date(),
      banned: true,
      banReason: null,
      banExpires: null,
      role: "user",
      twoFactorEnabled: false,
      name: "",
      email: `deleted-${id}@atelier.invalid`,
    })
    .where(eq(users.id, id));
  await endOthers(tx, { userId: id, sessionId: null });
  await tx.delete(apiKeys).where(eq(apiKeys.referenceId, id));
  await tx.delete(credentials).where(eq(credentials.userId, id));
  await tx.delete(twoFactors).where(eq(twoFactors.userId, id));
  await tx.delete(passkeys).where(eq(passkeys.userId, id));
  await tx.delete(passwordResets).where(eq(passwordResets.userId, id));
}

/** Time for workers to let go of running jobs, and for the files; the request does not wait longer. */
const patienceMs = 4_000;
const pauseMs = 250;

/** The account is deleted whatever happens here, so a failure is no failure of the request. */
async function finish(services: Services, userId: string): Promise<Deleted> {
  const late = AbortSignal.timeout(patienceMs);
  try {
    for (;;) {
      if (await purgeUser(services, userId, late)) return { isGone: true };
      if (late.aborted) return { isGone: false };
      await sleep(pauseMs);
    }
  } catch (error) {
    services.log.warn({ err: error, userId }, "deleted user not removed yet, a worker tries again");
    return { isGone: false };
  }
}
