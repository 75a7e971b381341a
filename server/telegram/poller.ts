import { type AnyColumn, sql } from "drizzle-orm";
import { deleteInBatches, fromNow, schema } from "../db/index.ts";
import { isFree, isHeldBy, newToken } from "../leases/index.ts";
import type { Services } from "../services.ts";

const { telegramBots, telegramCodes, telegramRequests, telegramUpdates } = schema;

const lease = { token: telegramBots.holder };

/** One process's wish to read the updates of a bot. */
export interface Poller {
  readonly botId: string;
  readonly token: string;
  readonly leaseMs: number;
}

export function createPoller(botId: string, leaseMs: number): Poller {
  return { botId, token: newToken(), leaseMs };
}

/**
 * Telegram chooses new numbers at random after a week without updates, so an old offset could skip new ones. Without an
 * offset it sends whatever is not confirmed, and what was handled is known by its number.
 */
const offsetHours = 24;

export interface HeldPolling {
  /** Where to go on; null: with whatever Telegram has. */
  readonly offset: number | null;
}

/** Takes or renews the lease by which one process of the installation reads updates; null while another one has it. */
export async function holdPolling(
  { db }: Pick<Services, "db">,
  { botId, token, leaseMs }: Poller,
): Promise<HeldPolling | null> {
  const [row] = await db.execute<{ offset: string | null }>(sql`
    insert into ${telegramBots} as b (bot_id, holder, lease_until) values (${botId}, ${token}::uuid, ${fromNow(leaseMs)})
    on conflict (bot_id) do update set holder = excluded.holder, lease_until = excluded.lease_until
      where ${isHeldBy({ token: sql`b.holder` }, token)} or ${isFree({ until: sql`b.lease_until` })}
    returning case when offset_at > now() - ${offsetHours} * interval '1 hour' then next_offset end as "offset"`);
  return row ? { offset: row.offset === null ? null : Number(row.offset) } : null;
}

/** Lets another process take over at once. */
export async function releasePolling({ db }: Pick<Services, "db">, { botId, token }: Poller): Promise<void> {
  await db.execute(sql`
    update ${telegramBots} set lease_until = null where bot_id = ${botId} and ${isHeldBy(lease, token)}`);
}

/** Stores up to where updates are handled, unless another process has taken over. */
export async function storeOffset(
  { db }: Pick<Services, "db">,
  { botId, token }: Poller,
  offset: number,
): Promise<void> {
  await db.execute(sql`
    update ${telegramBots} set next_offset = ${offset}, offset_at = now()
    where bot_id = ${botId} and ${isHeldBy(lease, token)}`);
}

/** Begins an update; returns the number of this try, or null when it was handled before. */
export async function beginUpdate(
  { db }: Pick<Services, "db">,
  { botId, updateId }: { readonly botId: string; readonly updateId: number },
): Promise<number | null> {
  const [row] = await db.execute<{ tries: number }>(sql`
    insert into ${telegramUpdates} as u (bot_id, update_id) values (${botId}, ${updateId})
    on conflict (bot_id, update_id) do update set tries = u.tries + 1 where u.done_at is null
    returning tries`);
  return row?.tries ?? null;
}

export async function endUpdate(
  { db }: Pick<Services, "db">,
  { botId, updateId }: { readonly botId: string; readonly updateId: number },
): Promise<void> {
  await db.execute(sql`
    update ${telegramUpdates} set done_at = now() where bot_id = ${botId} and update_id = ${updateId}`);
}

/** Telegram keeps an update for a day. */
const keptHours = 48;

/** Deletes what can no longer come back: old updates, codes and requests. */
export async function pruneTelegram({ db }: Pick<Services, "db">): Promise<void> {
  const isOld = (at: AnyColumn) => sql`${at} < now() - ${keptHours} * interval '1 hour'`;
  await deleteInBatches(db, telegramUpdates, isOld(telegramUpdates.createdAt));
  await deleteInBatches(db, telegramRequests, isOld(telegramRequests.createdAt));
  await deleteInBatches(db, telegramCodes, sql`${telegramCodes.expiresAt} < now()`);
}
