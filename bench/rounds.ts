/** Quantile of unsorted values, by linear interpolation; `share` 0..1. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const place = (sorted.length - 1) * share;
  const low = sorted[Math.floor(place)] ?? Number.NaN;
  const high = sorted[Math.ceil(place)] ?? Number.NaN;
  return low + (high - low) * (place - Math.floor(place));
}

export interface Ratio {
  readonly median: number;
  readonly lowerQuartile: number;
  readonly upperQuartile: number;
}

/** Ratios of one round each; the machine's noise hits both sides of a round alike. */
export function summarise(ratios: readonly number[]): Ratio {
  return {
    median: quantile(ratios, 0.5),
    lowerQuartile: quantile(ratios, 0.25),
    upperQuartile: quantile(ratios, 0.75),
  };
}

/** Runs two sides in turn; the first round warms up and is dropped. */
export async function interleave<T>(
  rounds: number,
  sides: { readonly ours: () => Promise<T>; readonly reference: () => Promise<T> },
): Promise<{ ours: T; reference: T }[]> {
  const results: { ours: T; reference: T }[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    // The order changes each round, so that neither side always meets the other's leftovers.
    const pair =
      round % 2 === 0
        ? { ours: await sides.ours(), reference: await sides.reference() }
        : await sides.reference().then(async (reference) => ({ ours: await sides.ours(), reference }));
    if (round > 0) results.push(pair);
  }
  return results;
}

export function show(value: number, digits = 2): string {
  return value.toFixed(digits);
}

export function showRatio({ median, lowerQuartile, upperQuartile }: Ratio): string {
  return `${show(median)} (quartiles ${show(lowerQuartile)} to ${show(upperQuartile)})`;
}
