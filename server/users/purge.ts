import { and, eq, isNotNull, sql } from "drizzle-orm";
import { forgetTrust, permitKeysOf, userTables } from "../accounts/plain.ts";
import { schema, type Tx } from "../db/index.ts";
import { removePicturesOf, removeUploadsOf } from "../images/index.ts";
import { cancelAllOf, removeJobsOf } from "../jobs/index.ts";
import type { Services } from "../services.ts";

const { users } = schema;

/** Users of one pass; the next pass continues. */
const maxUsers = 20;

/** Time of one pass, so that it holds up nothing else that the caller does in turn. */
const passMs = 60_000;

/** Goes on with deletions that were broken off, had to wait for a worker, or found the store away. Returns the ids that are gone. */
export async function purgeDeleted(services: Services): Promise<string[]> {
  const left = await services.db
    .select({ id: users.id })
    .from(users)
    // `banned` is for the index: a deleted user is always banned.
    .where(and(users.banned, isNotNull(users.deletedAt)))
    .orderBy(sql`random()`)
    .limit(maxUsers);
  const gone: string[] = [];
  const late = AbortSignal.timeout(passMs);
  for (const { id } of left) {
    if (late.aborted) break;
    try {
      if (await purgeUser(services, id, late)) gone.push(id);
    } catch (error) {
      services.log.warn({ err: error, userId: id }, "deleted user not removed, the next pass tries again");
    }
  }
  return gone;
}

/**
 * Removes what is left of a deleted user: jobs, pictures with their files, then every table of `userTables`, the user last. Each
 * step may be repeated and broken off anywhere, and several processes may be at it. False while something holds on: a
 * job that a worker has not let go, a row that came in meanwhile, or the signal. Throws `storage_unavailable`.
 */
export async function purgeUser(services: Services, userId: string, signal: AbortSignal): Promise<boolean> {
  await cancelAllOf(services, userId);
  const openJobs = await removeJobsOf(services, userId, signal);
  const pictures = await removePicturesOf(services, { ownerId: userId, signal });
  await removeUploadsOf(services, userId, signal);
  if (openJobs > 0 || signal.aborted || !(await removeRest(services, userId))) return false;
  services.log.info({ userId, pictures }, "deleted user removed with everything");
  return true;
}

/** SQLSTATEs of a row that came in after the steps before; they differ by version. */
const restrictCodes = new Set(["23001", "23503"]);

async function removeRest({ db }: Services, userId: string): Promise<boolean> {
  try {
    await db.transaction((tx) => removeRows(tx, userId));
    return true;
  } catch (error) {
    const cause = error instanceof Error ? error.cause : undefined;
    if (cause instanceof Error && "code" in cause && restrictCodes.has(String(cause.code))) return false;
    throw error;
  }
}

/** The user goes last: the foreign keys of jobs and pictures prove that none is left behind. */
async function removeRows(tx: Tx, userId: string): Promise<void> {
  // Locked first, as by those who count the user's months and then take its rows.
  await tx.select({ id: users.id }).from(users).where(eq(users.id, userId)).for("update");
  const withoutFiles = Object.entries(userTables).filter(
    ([, { onDelete, inExport }]) => onDelete === "removed" && (inExport === "rows" || inExport === "none"),
  );
  await tx.execute(
    sql`delete from rate_limits where key in ${[...permitKeysOf(userId), `password|${userId}`]}`,
  );
  await forgetTrust(tx, userId);
  for (const [table, { column }] of withoutFiles)
    if (table !== "users")
      await tx.execute(sql`delete from ${sql.identifier(table)} where ${sql.identifier(column)} = ${userId}`);
  await tx.delete(users).where(and(eq(users.id, userId), isNotNull(users.deletedAt)));
}
