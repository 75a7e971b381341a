import { sql, type SQL } from "drizzle-orm";
import { type Db, schema } from "../db/index.ts";
import type { ErrorCode } from "../platform/index.ts";

/** Buckets per doubling: a bucket is 19 % wide, so a value read from it is exact within 9 %. */
const perDoubling = 4;

/** The bucket of a time in ms, as SQL; everything below one millisecond is the first. */
function bucketOf(ms: SQL): SQL {
  // The difference of two times is numeric, whose logarithm takes ten times as long.
  return sql`round(ln(greatest((${ms})::float8, 1)) / ln(2) * ${perDoubling})::smallint`;
}

function bucketMs(bucket: number): number {
  return 2 ** (bucket / perDoubling);
}

/** How often each bucket was hit. */
type Histogram = ReadonlyMap<number, number>;

/** The time in ms that the given part (0..1) of all stays below; null without any. */
function quantileMs(histogram: Histogram, part: number): number | null {
  const buckets = [...histogram].toSorted(([a], [b]) => a - b);
  const total = buckets.reduce((sum, [, count]) => sum + count, 0);
  let passed = 0;
  for (const [bucket, count] of buckets) {
    passed += count;
    if (passed >= total * part) return Math.round(bucketMs(bucket));
  }
  return null;
}

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
  // `low` is null for jobs that no node could run at submit: they had no estimate.
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

/** Windows that figures can be read for: how many steps of which length, the current one included. */
const windows = {
  "1h": { unit: "minute", steps: 60 },
  "24h": { unit: "hour", steps: 24 },
  "7d": { unit: "hour", steps: 168 },
} as const;

export type FigureWindow = keyof typeof windows;
export const windowNames = ["1h", "24h", "7d"] as const satisfies readonly FigureWindow[];

const stepMs = { minute: 60_000, hour: 3_600_000 } as const;

/** Start of the first step, as SQL; steps are full minutes or hours of UTC. */
function startOf(window: FigureWindow): SQL {
  const { unit, steps } = windows[window];
  return sql`date_trunc(${unit}, now(), 'UTC') - ${steps - 1} * interval '1 ${sql.raw(unit)}'`;
}

function stepLengthMs(window: FigureWindow): number {
  return stepMs[windows[window].unit];
}

export interface Times {
  /** ms; null without any run. Right within 9 %. */
  readonly p50: number | null;
  readonly p95: number | null;
}

/** Ended jobs of a window, of one queue or of all. */
export interface EndedFigures {
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly waitMs: Times;
  readonly runMs: Times;
}

/** Accuracy of the estimated waiting times. */
interface EstimateFigures {
  /** Started jobs that had an estimate. */
  readonly estimated: number;
  /** Part of them that started within the promised range, two seconds of grace included; null without any. */
  readonly within: number | null;
  /** Median distance of the wait from the middle of the range. */
  readonly medianErrorMs: number | null;
}

export interface Series {
  /** Start of the first step, ISO 8601. */
  readonly from: string;
  readonly stepMs: number;
  readonly completed: readonly number[];
  readonly failed: readonly number[];
}

export interface WindowFigures {
  readonly all: EndedFigures;
  readonly byQueue: ReadonlyMap<string, EndedFigures & { readonly series: Series }>;
  readonly series: Series;
  readonly failures: readonly { readonly code: ErrorCode; readonly count: number }[];
  readonly estimate: EstimateFigures;
}

interface Row extends Record<string, unknown> {
  /** Step of the series, 0 the first; null for a sum over the whole window. */
  readonly step: number | null;
  readonly queue: string;
  readonly measure: string;
  readonly bucket: number;
  readonly count: number;
  readonly from: string;
  readonly mark: string | null;
}

/** The mark before any hour is added up. */
const noMark = "epoch";

/** Figures of the jobs that ended in a window: hours that are over are added up already, the rest is read from the rows. */
export async function readFigures(db: Db, window: FigureWindow): Promise<WindowFigures> {
  for (;;) {
    const mark = await readMark(db, window);
    const rows = await readRows(db, { window, mark });
    // Hours that were added up between the two statements would count twice.
    if (mark === null || mark === (rows[0]?.mark ?? noMark)) return summarise(rows, window);
  }
}

/** Up to when hours are added up; null where the window is shorter than what is left to be read by the minute. */
async function readMark(db: Db, window: FigureWindow): Promise<string | null> {
  if (windows[window].unit === "minute") return null;
  const result = await db.execute<{ until: string }>(
    sql`select until::text from ${schema.figureMarks} where name = 'hours'`,
  );
  return result[0]?.until ?? noMark;
}

/** The mark comes as a value, not as a subquery: the planner must see how few rows are left. */
async function readRows(
  db: Db,
  { window, mark }: { window: FigureWindow; mark: string | null },
): Promise<readonly Row[]> {
  const { jobFigures, figureMarks } = schema;
  const start = startOf(window);
  const { unit } = windows[window];
  const open = mark === null ? start : sql`greatest(${start}, ${mark}::timestamptz)`;
  const result = await db.execute<Row>(sql`
    with figures as materialized (
      select at, queue, measure, bucket, count from ${jobFigures} where at >= ${start}
      union all
      ${figuresOf(sql`j.ended_at >= ${open}`, unit)}
    ), sums as (
      select null::int as step, queue, measure, bucket, sum(count)::int as count from figures group by queue, measure, bucket
      union all
      select floor(extract(epoch from at - (${start}))::float8 / ${stepLengthMs(window) / 1_000}::float8)::int, queue, split_part(measure, '/', 1), 0, sum(count)::int
      from figures where measure = 'completed' or measure like 'failed/%' group by 1, 2, 3
    )
    select sums.*, to_char((${start}) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as from,
      (select until::text from ${figureMarks} where name = 'hours') as mark
    from (select 1) one left join sums on true`);
  return result;
}

function summarise(rows: readonly Row[], window: FigureWindow): WindowFigures {
  const from = rows[0]?.from ?? "";
  const known = rows.filter((row) => row.queue !== null);
  const sums = known.filter((row) => row.step === null);
  const steps = known.filter((row) => row.step !== null);
  const stepsByQueue = Map.groupBy(steps, ({ queue }) => queue);
  const byQueue = [...Map.groupBy(sums, ({ queue }) => queue)].map(([queue, own]) => {
    const series = seriesOf(stepsByQueue.get(queue) ?? [], { window, from });
    return [queue, { ...endedOf(own), series }] as const;
  });
  return {
    all: endedOf(sums),
    byQueue: new Map(byQueue),
    series: seriesOf(steps, { window, from }),
    failures: failuresOf(sums),
    estimate: estimateOf(sums),
  };
}

function histogramOf(rows: readonly Row[], measure: string): Histogram {
  const histogram = new Map<number, number>();
  for (const row of rows) {
    if (row.measure !== measure) continue;
    histogram.set(row.bucket, (histogram.get(row.bucket) ?? 0) + row.count);
  }
  return histogram;
}

function countOf(rows: readonly Row[], isCounted: (measure: string) => boolean): number {
  return rows.reduce((sum, row) => (isCounted(row.measure) ? sum + row.count : sum), 0);
}

const isFailure = (measure: string) => measure.startsWith("failed/");

function endedOf(rows: readonly Row[]): EndedFigures {
  const times = (measure: string): Times => {
    const histogram = histogramOf(rows, measure);
    return { p50: quantileMs(histogram, 0.5), p95: quantileMs(histogram, 0.95) };
  };
  return {
    completed: countOf(rows, (measure) => measure === "completed"),
    failed: countOf(rows, isFailure),
    cancelled: countOf(rows, (measure) => measure === "cancelled"),
    waitMs: times("wait"),
    runMs: times("run"),
  };
}

function seriesOf(rows: readonly Row[], { window, from }: { window: FigureWindow; from: string }): Series {
  const empty = () => Array.from({ length: windows[window].steps }, () => 0);
  const series = { completed: empty(), failed: empty() };
  for (const { step, measure, count } of rows) {
    const counts = measure === "failed" ? series.failed : series.completed;
    if (step !== null) counts[step] = (counts[step] ?? 0) + count;
  }
  return { from, stepMs: stepLengthMs(window), ...series };
}

function failuresOf(rows: readonly Row[]): WindowFigures["failures"] {
  const counts = new Map<ErrorCode, number>();
  for (const { measure, count } of rows) {
    if (!isFailure(measure)) continue;
    // Safe: the column holds codes of the table alone.
    const code = measure.slice("failed/".length) as ErrorCode;
    counts.set(code, (counts.get(code) ?? 0) + count);
  }
  return [...counts]
    .map(([code, count]) => ({ code, count }))
    .toSorted((a, b) => b.count - a.count || (a.code < b.code ? -1 : 1));
}

function estimateOf(rows: readonly Row[]): EstimateFigures {
  const within = countOf(rows, (measure) => measure === "within");
  const estimated = within + countOf(rows, (measure) => measure === "outside");
  const medianErrorMs = quantileMs(histogramOf(rows, "error"), 0.5);
  return { estimated, within: estimated > 0 ? within / estimated : null, medianErrorMs };
}
