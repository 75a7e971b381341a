import { sql, type SQL } from "drizzle-orm";

/** Buckets per doubling: a bucket is 19 % wide, so that what is read from it is right within 9 %. */
const perDoubling = 4;

/** The bucket of a time in ms, as SQL; everything below one millisecond is the first. */
export function bucketOf(ms: SQL): SQL {
  // The difference of two times is numeric, whose logarithm takes ten times as long.
  return sql`round(ln(greatest((${ms})::float8, 1)) / ln(2) * ${perDoubling})::smallint`;
}

function bucketMs(bucket: number): number {
  return 2 ** (bucket / perDoubling);
}

/** How often each bucket was hit. */
export type Histogram = ReadonlyMap<number, number>;

/** The time in ms that the given part (0..1) of all stays below; null without any. */
export function quantileMs(histogram: Histogram, part: number): number | null {
  const buckets = [...histogram].toSorted(([a], [b]) => a - b);
  const total = buckets.reduce((sum, [, count]) => sum + count, 0);
  let passed = 0;
  for (const [bucket, count] of buckets) {
    passed += count;
    if (passed >= total * part) return Math.round(bucketMs(bucket));
  }
  return null;
}
