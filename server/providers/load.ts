import { sql } from "drizzle-orm";
import { type Db, schema, type Tx } from "../db/index.ts";
import type { Config } from "../platform/index.ts";
import type { ProviderErrorClass, ProviderName } from "./port.ts";

/** Limits of one key. */
export interface KeyLimits {
  /** Runs at once. */
  readonly maxConcurrent: number;
  /** Requests in any minute. */
  readonly rpm: number;
}

/** Published limits of one key, and cautious ones where nothing is published. */
const published: Record<ProviderName, KeyLimits> = {
  replicate: { maxConcurrent: 50, rpm: 600 },
  fal: { maxConcurrent: 2, rpm: 600 },
  google: { maxConcurrent: 4, rpm: 10 },
  higgsfield: { maxConcurrent: 4, rpm: 60 },
  kie: { maxConcurrent: 100, rpm: 120 },
  fashn: { maxConcurrent: 6, rpm: 50 },
  openai: { maxConcurrent: 4, rpm: 5 },
};

/** The limits of each key of a provider: the operator's where given. */
export function limitsOf({ cloud }: Pick<Config, "cloud">, provider: ProviderName): KeyLimits {
  const own = cloud.providers[provider];
  const { maxConcurrent, rpm } = published[provider];
  return { maxConcurrent: own?.maxConcurrent ?? maxConcurrent, rpm: own?.rpm ?? rpm };
}

/** What the attempts of one key say about it. Times in ms before now, by the database's clock. */
export interface KeyLoad {
  /** Attempts that the provider has, or may have. */
  readonly active: number;
  readonly inLastMinute: number;
  /** Age of the oldest request of the last minute; null without any. */
  readonly oldestMs: number | null;
  /** Failures in a row since the last success. */
  readonly streak: number;
  /** Age of the last of them. */
  readonly lastFailureMs: number | null;
  readonly retryAfterMs: number | null;
  readonly lastErrorClass: string | null;
}

/** Failures that say nothing about the provider. */
const notItsFault: readonly ProviderErrorClass[] = ["input", "moderation", "unsent"];

/** The load of a provider's keys; a key without attempts is idle. */
export async function readLoads(
  db: Db | Tx,
  { provider, keyIds }: { readonly provider: ProviderName; readonly keyIds: readonly string[] },
  { cloud }: Pick<Config, "cloud">,
): Promise<ReadonlyMap<string, KeyLoad>> {
  if (keyIds.length === 0) return new Map();
  const { providerAttempts } = schema;
  const rows = await db.execute<KeyLoad & { readonly keyId: string } & Record<string, unknown>>(sql`
    with own as (
      select * from ${providerAttempts}
      where provider = ${provider} and key_id in ${[...keyIds]}
        and (state in ('submitting', 'unknown', 'accepted') or created_at > clock_timestamp() - interval '1 minute'
          or ended_at > clock_timestamp() - ${cloud.streakS} * interval '1 second')
    ), failed as (
      select key_id, ended_at as at, retry_after_ms, error_class from own
      where state = 'failed' and error_class not in ${[...notItsFault]}
      union all
      -- The caller noted that the answer was lost (a text stands there) and set the deadline at that moment.
      select key_id, deadline_at - ${cloud.reconcileS} * interval '1 second', null, 'lost' from own
      where state = 'unknown' and error_message is not null
    ), failures as (
      select f.key_id, count(*)::int as streak, max(f.at) as last,
        (array_agg(f.retry_after_ms order by f.at desc))[1] as retry_after_ms,
        (array_agg(f.error_class order by f.at desc))[1] as error_class
      from failed f
      where f.at > clock_timestamp() - ${cloud.streakS} * interval '1 second'
        and not exists (select 1 from own s where s.key_id = f.key_id and s.state = 'succeeded' and s.ended_at > f.at)
      group by f.key_id
    )
    select wanted.key_id as "keyId",
      count(own.id) filter (where own.state in ('submitting', 'unknown', 'accepted'))::int as active,
      count(own.id) filter (where own.created_at > clock_timestamp() - interval '1 minute')::int as "inLastMinute",
      (extract(epoch from clock_timestamp() - min(own.created_at)
        filter (where own.created_at > clock_timestamp() - interval '1 minute')) * 1000)::float8 as "oldestMs",
      coalesce(max(failures.streak), 0) as streak,
      (extract(epoch from clock_timestamp() - max(failures.last)) * 1000)::float8 as "lastFailureMs",
      max(failures.retry_after_ms) as "retryAfterMs", max(failures.error_class) as "lastErrorClass"
    from unnest(${sql`array[${sql.join(
      keyIds.map((id) => sql`${id}`),
      sql`, `,
    )}]::text[]`}) as wanted(key_id)
    left join own on own.key_id = wanted.key_id left join failures on failures.key_id = wanted.key_id
    group by wanted.key_id`);
  return new Map(rows.map(({ keyId, ...load }) => [keyId, load]));
}

/** Whether a key can take a request now, and if not, why and after which time it may. */
export type KeyState =
  | { readonly isFree: true }
  | { readonly isFree: false; readonly why: "busy" | "rate" | "cooldown"; readonly waitMs: number };

/** Asked again after this time when only the end of a run can make room. */
const busyPauseMs = 2_000;
const minuteMs = 60_000;

/** Decides from its load whether a key may be used: cooldown first, then runs at once, then the rate. */
export function judge(load: KeyLoad, limits: KeyLimits, { cooldownS }: Config["cloud"]): KeyState {
  const cooldownMs = cooldownLeftMs(load, cooldownS);
  if (cooldownMs > 0) return { isFree: false, why: "cooldown", waitMs: cooldownMs };
  if (load.active >= limits.maxConcurrent) return { isFree: false, why: "busy", waitMs: busyPauseMs };
  if (load.inLastMinute >= limits.rpm)
    return { isFree: false, why: "rate", waitMs: Math.max(1, minuteMs - (load.oldestMs ?? 0)) };
  return { isFree: true };
}

/** What is left of the pause after the last failure; the provider's own wish wins over the steps. */
export function cooldownLeftMs(load: KeyLoad, stepsS: Config["cloud"]["cooldownS"]): number {
  const { streak, lastFailureMs, retryAfterMs } = load;
  if (streak === 0 || lastFailureMs === null) return 0;
  const stepMs = (stepsS[Math.min(streak, stepsS.length) - 1] ?? 0) * 1_000;
  return Math.max(0, (retryAfterMs ?? stepMs) - lastFailureMs);
}
