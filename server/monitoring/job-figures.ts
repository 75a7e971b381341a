import { sql, type SQL } from "drizzle-orm";
import { schema } from "../db/index.ts";
import { bucketOf } from "./buckets.ts";

/** A job that starts this much before or after the promised range still counts as within: dispatch and claim take a moment. */
const slackMs = 2_000;

/** As a float: logarithms of exact numbers cost ten times as much. */
const msBetween = (from: SQL, to: SQL) => sql`(extract(epoch from ${to} - ${from})::float8 * 1000)`;

/**
 * What ended jobs add to the figures, as a query of `at, queue, measure, bucket, count`: the outcome with its cause; how
 * long those that started had waited; how long the completed ones ran; whether the wait was as promised and how far from
 * the middle of the promise.
 */
export function figuresOf(where: SQL, unit: "minute" | "hour"): SQL {
  // OFFSET 0 keeps the planner from writing these terms out at each of their uses: a row then costs twice as much.
  // Nobody was promised anything while nothing could run it: there `low` is null.
  return sql`
    select date_trunc(${unit}, j.ended_at, 'UTC') as at, j.queue, m.measure, m.bucket, count(*)::int as count
    from ${schema.jobs} j cross join lateral (
      select ${msBetween(sql`j.created_at`, sql`j.started_at`)} as wait, (j.estimate -> 'waitMs' ->> 1)::float8 as high,
        case when j.started_at is not null and coalesce((j.estimate ->> 'isLive')::boolean, true)
          then (j.estimate -> 'waitMs' ->> 0)::float8 end as low
      offset 0
    ) k cross join lateral (values
      (case j.status when 'failed' then 'failed/' || coalesce(j.error_code, 'internal') else j.status end, 0::smallint),
      (case when j.started_at is not null then 'wait' end, ${bucketOf(sql`k.wait`)}),
      (case when j.status = 'completed' then 'run' end, ${bucketOf(msBetween(sql`j.started_at`, sql`j.ended_at`))}),
      (case when k.low is not null then
        case when k.wait between k.low - ${slackMs} and k.high + ${slackMs} then 'within' else 'outside' end end, 0::smallint),
      (case when k.low is not null then 'error' end, ${bucketOf(sql`abs(k.wait - (k.low + k.high) / 2)`)})
    ) m(measure, bucket)
    where ${where} and m.measure is not null
    group by 1, 2, 3, 4`;
}
