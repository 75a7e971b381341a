import { and, eq, isNull } from "drizzle-orm";
import {
  endOthers,
  isAdminNow,
  lockAdmins,
  recordChange,
  removeAskingLinks,
  removeFactors,
  requireOtherAdmin,
  serviceRole,
} from "../accounts/plain.ts";
import { recordAct } from "../audit/index.ts";
import { schema, type Tx } from "../db/index.ts";
import { cancelAllOf } from "../jobs/index.ts";
import { AppError } from "../platform/index.ts";
import type { Services } from "../services.ts";

const { users, passwordResets, clientUsers } = schema;

/** An act of an admin, or of an operator on the command line (`adminId` null), on a user. */
export interface Act {
  readonly userId: string;
  readonly adminId: string | null;
}

export type UserRow = typeof users.$inferSelect;

/**
 * Runs an act under the lock of the admins. Of two admins who remove each other the second finds itself no admin any more.
 * Throws `forbidden` for that one, `not_found`, and `conflict` for the account of the workers.
 */
export function actOn<T>(
  { db }: Pick<Services, "db">,
  { userId, adminId }: Act,
  work: (tx: Tx, user: UserRow) => Promise<T>,
): Promise<T> {
  return db.transaction(async (tx) => {
    await lockAdmins(tx);
    if (adminId !== null && !(await isAdminNow(tx, adminId))) throw new AppError("forbidden");
    const [user] = await tx
      .select()
      .from(users)
      .where(and(eq(users.id, userId), isNull(users.deletedAt)));
    if (!user) throw new AppError("not_found");
    if (user.role === serviceRole)
      throw new AppError("conflict", "This account belongs to the workers and stays as it is.");
    return work(tx, user);
  });
}

/**
 * Suspends a user: no sign-in, sessions and links to a new password end, API keys are refused from the next request on, open
 * streams close within seconds, and open jobs are cancelled. Idempotent. Throws `not_found`, and `conflict` for oneself and for the only admin.
 */
export async function suspend(services: Services, act: Act): Promise<{ cancelledJobs: number }> {
  if (act.userId === act.adminId) throw new AppError("conflict", "You cannot suspend yourself.");
  await actOn(services, act, async (tx, { id }) => {
    await requireOtherAdmin(tx, id);
    await tx.update(users).set({ banned: true, banReason: null, banExpires: null }).where(eq(users.id, id));
    await endOthers(tx, { userId: id, sessionId: null });
    await tx.delete(passwordResets).where(eq(passwordResets.userId, id));
    await recordAct(tx, { kind: "user.suspended", by: act.adminId, to: id });
  });
  return { cancelledJobs: await cancelAllOf(services, act.userId) };
}

/** Takes a suspension back: the user can sign in again, and the API keys work. Idempotent. Throws `not_found`. */
export async function unsuspend(services: Services, act: Act): Promise<void> {
  await actOn(services, act, async (tx, { id }) => {
    await tx.update(users).set({ banned: false, banReason: null, banExpires: null }).where(eq(users.id, id));
    await recordAct(tx, { kind: "user.unsuspended", by: act.adminId, to: id });
  });
}

/** Largest quota: a pebibyte. */
export const maxQuotaBytes = 1024 ** 5;

/**
 * Sets the bytes that a user's pictures may take up; null for the studio's default. What is there stays, also above the
 * quota. Throws `not_found`.
 */
export async function setQuota(
  services: Services,
  act: Act & { readonly quotaBytes: number | null },
): Promise<void> {
  await actOn(services, act, async (tx, { id, quotaBytes: before }) => {
    await tx.update(users).set({ quotaBytes: act.quotaBytes }).where(eq(users.id, id));
    const details = { before, quotaBytes: act.quotaBytes };
    await recordAct(tx, { kind: "user.quota_set", by: act.adminId, to: id, details });
  });
}

/**
 * Removes the authenticator app, the recovery codes and the passkeys of a user who has lost them, and ends all sessions: the
 * password alone signs in again. Of an admin who needs a second factor and has none of these: the links to providers that ask
 * for one, where another way stays. Throws `not_found`, and `conflict` when there is nothing of the kind.
 */
export async function resetFactors(services: Services, act: Act): Promise<void> {
  await actOn(services, act, async (tx, { id }) => {
    const wereAny = await removeFactors(tx, id);
    // A link may be the way back in of somebody who lost a phone: it goes when there is nothing else to reset.
    const providers = wereAny ? [] : await removeAskingLinks(services, tx, id);
    if (!wereAny && providers.length === 0) throw new AppError("conflict", "This user has no second factor.");
    const done = { kind: "user.factors_reset", by: act.adminId, to: id, details: { providers } } as const;
    await recordChange(services, tx, done);
  });
}

/**
 * Makes an account an admin, or an admin an ordinary account. Throws `not_found`, and `conflict` for guests, suspended users,
 * users of clients and the only admin.
 */
export async function setRole(
  services: Services,
  act: Act & { readonly role: "admin" | "user" },
): Promise<void> {
  await actOn(services, act, async (tx, { id, isAnonymous, banned, role: before }) => {
    if (act.role === "user") await requireOtherAdmin(tx, id);
    else if (isAnonymous === true || banned === true)
      throw new AppError("conflict", "Only an account that is not suspended can become an admin.");
    else if ((await tx.$count(clientUsers, eq(clientUsers.userId, id))) > 0)
      throw new AppError("conflict", "A user of a client cannot sign in, and so cannot become an admin.");
    await tx.update(users).set({ role: act.role }).where(eq(users.id, id));
    await recordAct(tx, {
      kind: "user.role_set",
      by: act.adminId,
      to: id,
      details: { before, role: act.role },
    });
  });
}
