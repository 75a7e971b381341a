import { sql } from "drizzle-orm";
import type { Services } from "../services/index.ts";

/** Requests of one key that this process may still let through without asking the database. */
interface Permits {
  readonly granted: number;
  left: number;
  /** Of `performance.now()`. */
  endsAtMs: number;
}

/** A full key writes its row this often per minute and process, whatever its limit. */
const blocksPerMinute = 20;
/** After a refusal the database is asked again no sooner than this. */
const refusalMs = 1_000;
const rememberedKeys = 10_000;

const permitsByServices = new WeakMap<Services, Map<string, Promise<Permits>>>();

/**
 * Takes a block of permits of the current minute from the key's row. All processes take from the same row, so the
 * limit holds for all of them together; the row lock settles two that ask at once.
 */
async function takeBlock({ db, config }: Services, keyId: string): Promise<Permits> {
  const max = config.limits.apiKeyPerMinute;
  const block = Math.max(1, Math.floor(max / blocksPerMinute));
  const minute = sql`date_trunc('minute', statement_timestamp())`;
  const { rows } = await db.execute<{ granted: number; leftMs: number }>(sql`
    with held as (
      select id, case when last_request >= ${minute} then coalesce(request_count, 0) else 0 end as used
      from api_keys where id = ${keyId} for update
    )
    update api_keys set request_count = least(${max}::int, held.used + ${block}::int), last_request = statement_timestamp()
    from held where api_keys.id = held.id and held.used < ${max}::int
    returning api_keys.request_count - held.used as granted,
      (extract(epoch from ${minute} + interval '1 minute' - statement_timestamp()) * 1000)::int as "leftMs"`);
  const taken = rows[0];
  return taken
    ? { granted: taken.granted, left: taken.granted, endsAtMs: performance.now() + taken.leftMs }
    : { granted: 0, left: 0, endsAtMs: performance.now() + refusalMs };
}

function permitsOf(services: Services): Map<string, Promise<Permits>> {
  const known = permitsByServices.get(services) ?? new Map<string, Promise<Permits>>();
  permitsByServices.set(services, known);
  if (known.size > rememberedKeys) known.clear();
  return known;
}

/** Counts one request of an API key; false when its limit of this minute is reached. */
export async function takePermit(services: Services, keyId: string): Promise<boolean> {
  const known = permitsOf(services);
  for (;;) {
    const asked = known.get(keyId);
    const permits = await asked;
    if (permits && performance.now() < permits.endsAtMs) {
      permits.left -= 1;
      if (permits.left >= 0) return true;
      if (permits.granted === 0) return false;
    }
    // Of many that find the block used up, the first asks for the next one and the others wait for it.
    if (known.get(keyId) !== asked) continue;
    const next = takeBlock(services, keyId);
    known.set(keyId, next);
    next.catch(() => known.delete(keyId));
  }
}
