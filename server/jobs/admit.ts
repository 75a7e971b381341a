import { sql } from "drizzle-orm";
import { schema, type Tx } from "../db/index.ts";
import { AppError, type Config } from "../platform/index.ts";
import { openStatuses } from "./status.ts";

export interface Admission {
  readonly ownerId: string;
  readonly isGuest: boolean;
  readonly queue: string;
}

/** Holds the limits of one owner and of one queue. The owner's lock makes simultaneous submits count each other. */
export async function admit(tx: Tx, config: Config, { ownerId, isGuest, queue }: Admission): Promise<void> {
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
  if (waiting >= config.limits.maxWaiting) throw new AppError("queue_full");
  if (isGuest) await admitGuest(tx, config, queue);
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
