import { sql } from "drizzle-orm";
import { schema, tiers, type Tx } from "../db/index.ts";
import { AppError, errorRules, type Config } from "../platform/index.ts";
import type { Job } from "./job.ts";
import { openStatuses } from "./status.ts";
import { transitionAll } from "./transition.ts";

export interface Admission {
  readonly ownerId: string;
  readonly isGuest: boolean;
  readonly queue: string;
  readonly tier: number;
}

/**
 * Holds the limits of one owner and of one queue; gives back the jobs that had to make room. The owner's lock makes
 * simultaneous submits count each other.
 */
export async function admit(tx: Tx, config: Config, admission: Admission): Promise<readonly Job[]> {
  const { ownerId, isGuest, queue, tier } = admission;
  await tx.execute(sql`select pg_advisory_xact_lock(hashtext('submit'), hashtext(${ownerId}))`);
  const result = await tx.execute<{ own: number; waiting: number }>(sql`
    select count(*) filter (where owner_id = ${ownerId})::int as own,
      count(*) filter (where queue = ${queue} and status = 'pending')::int as waiting
    from ${schema.jobs} where status in ${[...openStatuses]}`);
  const { own = 0, waiting = 0 } = result.rows[0] ?? {};
  const limit = isGuest ? config.limits.openJobsGuest : config.limits.openJobs;
  if (own >= limit)
    throw new AppError(
      "quota_exceeded",
      `You have ${own} open jobs, which is the limit. Wait until some are done.`,
    );
  if (isGuest) await admitGuest(tx, config, queue);
  if (waiting < config.limits.maxWaiting) return [];
  if (tier < tiers.urgent) throw new AppError("queue_full");
  return displaceOne(tx, queue);
}

/** Guests cost nothing to make, so all together they may fill a part of a line only. */
async function admitGuest(tx: Tx, { limits }: Config, queue: string): Promise<void> {
  const { jobs, users } = schema;
  const result = await tx.execute<{ waiting: number }>(sql`
    select count(*)::int as waiting from ${jobs} j join ${users} u on u.id = j.owner_id
    where j.queue = ${queue} and j.status = 'pending' and u.is_anonymous`);
  if ((result.rows[0]?.waiting ?? 0) < Math.floor(limits.maxWaiting * limits.guestShareOfLine)) return;
  throw new AppError(
    "queue_full",
    "The places of guests in the line are taken at the moment. Try again in a few minutes, or sign in.",
  );
}

/** The oldest low job of a full line fails for an urgent one; without a low one the line grows by one. */
async function displaceOne(tx: Tx, queue: string): Promise<readonly Job[]> {
  return transitionAll(tx, {
    from: ["pending"],
    to: "failed",
    // Skips a row that another urgent submit displaces at this moment, so that two never count one.
    where: sql`id = (select low.id from ${schema.jobs} low
      where low.queue = ${queue} and low.status = 'pending' and low.tier = ${tiers.low}
      order by low.id limit 1 for update skip locked)`,
    set: { errorCode: "displaced", errorMessage: errorRules.displaced.message },
    event: "displaced",
  });
}
