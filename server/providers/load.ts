import { sql, type SQL } from "drizzle-orm";
import { schema } from "../db/index.ts";
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
const notItsFault: readonly ProviderErrorClass[] = [
  "input",
  "moderation",
  "gate",
  "unstored",
  "model",
  "unsent",
];

/** A load as a row of `loadsOf`. */
export interface KeyLoadRow extends KeyLoad {
  readonly provider: ProviderName;
  readonly keyId: string;
}

/** More than runs of one key at once, all of which may end after the failure that made it cool down. */
const lastEnds = 200;

/** SQL interval that the provider asked for at the failure of an attempt. */
const waitOf = (row: SQL): SQL => sql`${row}.retry_after_ms * interval '1 millisecond'`;

/** SQL query for a `KeyLoadRow` of each key of `wanted`, rows of `provider` and `key_id`; one without attempts is idle. */
export function loadsOf(wanted: SQL, { cloud }: Pick<Config, "cloud">): SQL {
  const { providerAttempts } = schema;
  const minuteStart = sql`statement_timestamp() - interval '1 minute'`;
  const streakStart = sql`statement_timestamp() - ${cloud.streakS} * interval '1 second'`;
  return sql`
    select wanted.provider, wanted.key_id as "keyId", load.* from (${wanted}) wanted cross join lateral (
      select count(*) filter (where state in ('submitting', 'unknown', 'accepted'))::int as active,
        count(*) filter (where created_at > ${minuteStart})::int as "inLastMinute",
        (extract(epoch from statement_timestamp() - min(created_at)
          filter (where created_at > ${minuteStart})) * 1000)::float8 as "oldestMs",
        count(*) filter (where is_in_streak)::int as streak,
        (extract(epoch from statement_timestamp() - max(failed_at) filter (where is_in_streak)) * 1000)::float8 as "lastFailureMs",
        (array_agg(retry_after_ms order by failed_at desc) filter (where is_in_streak))[1] as "retryAfterMs",
        (array_agg(case when state = 'failed' then error_class else 'lost' end order by failed_at desc)
          filter (where is_in_streak))[1] as "lastErrorClass"
      from (
        select own.*, (failed_at > ${streakStart} or failed_at + ${waitOf(sql`own`)} > statement_timestamp())
          and failed_at >= coalesce(max(ended_at) filter (where state = 'succeeded') over (), '-infinity') as is_in_streak
        from (
          -- A caller that noted a lost answer (a text stands there) set the deadline at that moment.
          select a.*, case when a.state = 'failed' and a.error_class not in ${[...notItsFault]} then a.ended_at
            when a.state = 'unknown' and a.error_message is not null
              then a.deadline_at - ${cloud.reconcileS} * interval '1 second' end as failed_at
          from (
            select * from ${providerAttempts} r
              where r.provider = wanted.provider and r.key_id = wanted.key_id and (r.state in ('submitting', 'unknown', 'accepted')
                or r.created_at > ${minuteStart} or r.ended_at > ${streakStart})
            -- A wait that the provider asked for may be longer. Such a key gets no calls, so its failure is among the last ends.
            union all select last.* from (
                select * from ${providerAttempts} r where r.provider = wanted.provider and r.key_id = wanted.key_id
                  and r.ended_at is not null order by r.ended_at desc limit ${lastEnds}
              ) last
              where last.ended_at <= ${streakStart} and last.ended_at + ${waitOf(sql`last`)} > statement_timestamp()
                and not exists (select from ${providerAttempts} s where s.provider = wanted.provider and s.key_id = wanted.key_id
                  and s.ended_at > last.ended_at and s.state = 'succeeded')
          ) a
        ) own
      ) own
    ) load`;
}

/** SQL query for the provider and id of each of these keys. */
export function rowsOfKeys(
  keys: readonly { readonly provider: ProviderName; readonly keyId: string }[],
): SQL {
  return sql`select provider, "keyId" as key_id
    from jsonb_to_recordset(${JSON.stringify(keys.map(({ provider, keyId }) => ({ provider, keyId })))}::jsonb)
      as key(provider text, "keyId" text)`;
}

/** Loads by key. */
export type Loads = ReadonlyMap<string, KeyLoad>;

export function toLoads(rows: readonly KeyLoadRow[]): Loads {
  return new Map(rows.map((row) => [row.keyId, row]));
}

/** Whether a key can take a request now, and if not, why and after which time it may. */
export type KeyState =
  | { readonly isFree: true }
  | { readonly isFree: false; readonly why: "busy" | "rate" | "cooldown"; readonly waitMs: number };

/** Asked again after this time when only the end of a run can make room. */
const busyPauseMs = 2_000;
const minuteMs = 60_000;

/** Decides from its load whether a key may be used: cooldown first, then runs at once, then the rate. */
export function judgeKey(load: KeyLoad, limits: KeyLimits, { cooldownS }: Config["cloud"]): KeyState {
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
