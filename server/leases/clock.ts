import { type AnyColumn, lte, type SQL, sql } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import { type Db, duration, schema, unseenMs } from "../db/index.ts";
import type { Services } from "../services.ts";
import type { Duty } from "./duties.ts";

/*
 * The clock of the database may be set. Ahead: nothing can tell that from a time in which no worker ran, so the stretch that nobody
 * saw is stored, and what cannot be undone counts none of it (`missedSince`). Back: what was written before rests until that time
 * comes again, so it is moved by as much.
 */

/** Further back than this it was set, and does not only run unevenly. */
const setBackMs = 60_000;

const { clockStretches, deliveries, descriptionTries, jobs, nodes, providerAttempts } = schema;
const { resultHolds, serverLeases, telegramBots, telegramJobs, telegramRequests, users } = schema;

/** Times that work waits for. A turn knows by itself. */
const awaited: readonly [PgTable, ...AnyColumn[]][] = [
  [jobs, jobs.notBefore, jobs.rungAt],
  [nodes, nodes.endedAt, nodes.seenAt],
  [serverLeases, serverLeases.freeAt, serverLeases.takenAt],
  [resultHolds, resultHolds.heldUntil],
  [deliveries, deliveries.nextAttemptAt, deliveries.deliveringAt],
  [providerAttempts, providerAttempts.nextPollAt, providerAttempts.finishUntil, providerAttempts.endedAt],
  [telegramBots, telegramBots.leaseUntil],
  [telegramJobs, telegramJobs.notBefore],
  [telegramRequests, telegramRequests.asksAt],
  [users, users.exportUntil],
  [descriptionTries, descriptionTries.dueAt],
];

/** Looks whether the clock went on since the last look, went ahead of what was seen, or was set back. */
export async function watchClock({ db, log }: Pick<Services, "db" | "log">): Promise<void> {
  const [last] = await db.execute<{ id: string; aheadMs: number }>(sql`
    select id, (extract(epoch from seen_at - clock_timestamp()) * 1000)::float8 as "aheadMs"
    from ${clockStretches} order by seen_at desc limit 1`);
  if (!last || last.aheadMs < -unseenMs) return begin(db, last ? Math.round(-last.aheadMs) : 0);
  const { id, aheadMs } = last;
  if (aheadMs > setBackMs) {
    log.warn(
      { aheadMs },
      "the clock of the database was set back, what waits for a time is moved by as much",
    );
    await moveBack(db, duration(aheadMs));
  }
  await db.execute(sql`update ${clockStretches} set seen_at = clock_timestamp() where id = ${id}`);
}

/** A stretch that began after a longer pause stands for those before it, too. */
async function begin(db: Db, missedMs: number): Promise<void> {
  const now = sql`clock_timestamp()`;
  await db.transaction(async (tx) => {
    await tx.delete(clockStretches).where(lte(clockStretches.missedMs, missedMs));
    await tx.insert(clockStretches).values({ beganAt: now, seenAt: now, missedMs });
  });
}

/** The stretches come last: broken off, all is looked at again, and a pause may then end early. */
async function moveBack(db: Db, back: SQL): Promise<void> {
  const { createdAt, acceptedAt } = providerAttempts;
  const moved = (at: AnyColumn) =>
    sql`case when ${at} > clock_timestamp() then ${at} - ${back} else ${at} end`;
  // A deadline lies ahead by nature; that of a run that began later was written before, and moves with it: twice would give it up.
  await db.execute(sql`update ${providerAttempts} set deadline_at = deadline_at - ${back},
    created_at = ${moved(createdAt)}, accepted_at = ${moved(acceptedAt)}
    where greatest(created_at, accepted_at) > clock_timestamp()`);
  for (const [table, ...columns] of awaited)
    for (const { name } of columns) {
      const column = sql.identifier(name);
      await db.execute(sql`update ${table} set ${column} = ${column} - ${back}
        where ${column} > clock_timestamp() and ${column} < 'infinity'`);
    }
  // The pause before one that began later was the clock's, which is right again by as much.
  await db.execute(sql`update ${clockStretches} set seen_at = least(seen_at, clock_timestamp()),
    began_at = least(began_at, clock_timestamp()), missed_ms = case when began_at <= clock_timestamp() then missed_ms
      else greatest(0, missed_ms - extract(epoch from ${back}) * 1000) end where seen_at > clock_timestamp()`);
}

/** Has its own loop: what takes long does not keep it from looking. */
export const clockDuty: Duty = { name: "clock of the database", everyMs: 30_000, run: watchClock };
