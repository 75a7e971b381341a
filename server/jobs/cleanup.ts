import { and, eq, gt, sql, type SQL } from "drizzle-orm";
import { schema, type Tx } from "../db/index.ts";
import { discardObjects } from "../images/index.ts";
import type { Config } from "../platform/index.ts";
import type { Services } from "../services/index.ts";
import { openStatuses } from "./status.ts";

const { users, sessions, jobs, images } = schema;

/** Guests that one pass removes; the next pass takes the next ones. */
const maxRemoved = 20;
const batchSize = 20;

/**
 * Removes guests who did not come back within `config.retention.guestMs` and have no open job, with all that is
 * theirs: the rows of one guest in one transaction, the objects after it. Gives back their ids.
 */
export async function expireGuests(services: Services): Promise<string[]> {
  const removed: string[] = [];
  // In the order of ids past those that cannot be removed, so that they do not keep the others.
  for (let after = ""; removed.length < maxRemoved;) {
    const due = await services.db
      .select({ id: users.id })
      .from(users)
      .where(and(gt(users.id, after), isExpired(services.config)))
      .orderBy(users.id)
      .limit(batchSize);
    for (const { id } of due) if (await tryRemoveGuest(services, id)) removed.push(id);
    const last = due.at(-1);
    if (!last || due.length < batchSize) return removed;
    after = last.id;
  }
  return removed;
}

async function tryRemoveGuest(services: Services, id: string): Promise<boolean> {
  try {
    return await removeGuest(services, id);
  } catch (error) {
    services.log.error({ err: error, userId: id }, "guest not removed, the next pass tries again");
    return false;
  }
}

/** A session is renewed once a day while it is used. */
function isExpired({ retention }: Config): SQL {
  const since = sql`now() - ${retention.guestMs} * interval '1 millisecond'`;
  return sql`${users.isAnonymous} and ${users.createdAt} < ${since}
    and not exists (select 1 from ${sessions} s where s.user_id = ${users.id} and s.updated_at >= ${since})
    and not exists (select 1 from ${jobs} j where j.owner_id = ${users.id} and j.status in ${[...openStatuses]})`;
}

async function removeGuest(services: Services, id: string): Promise<boolean> {
  const storageKeys = await services.db.transaction((tx) => deleteGuestRows(tx, services.config, id));
  if (!storageKeys) return false;
  await discardObjects(services, storageKeys);
  services.log.info({ userId: id, pictures: storageKeys.length }, "guest removed who did not come back");
  return true;
}

/** Null when the guest came back, made an account, or is being removed by another at this moment. */
async function deleteGuestRows(tx: Tx, config: Config, id: string): Promise<string[] | null> {
  const locked = await tx
    .select({ id: users.id })
    .from(users)
    .where(eq(users.id, id))
    .for("update", { skipLocked: true });
  if (locked.length === 0) return null;
  // Asked again under the lock, in a statement of its own: a visit or a submit since is seen, later ones wait for us.
  const still = await tx
    .select({ id: users.id })
    .from(users)
    .where(sql`${users.id} = ${id} and ${isExpired(config)}`);
  if (still.length === 0) return null;
  await tx.select({ id: jobs.id }).from(jobs).where(eq(jobs.ownerId, id)).orderBy(jobs.id).for("update");
  await tx
    .select({ id: images.id })
    .from(images)
    .where(eq(images.ownerId, id))
    .orderBy(images.id)
    .for("update");
  await tx.delete(jobs).where(eq(jobs.ownerId, id));
  const pictures = await tx
    .delete(images)
    .where(eq(images.ownerId, id))
    .returning({ storageKey: images.storageKey });
  await tx.delete(users).where(eq(users.id, id));
  return pictures.map(({ storageKey }) => storageKey);
}
