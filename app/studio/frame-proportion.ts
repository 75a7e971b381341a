interface Sized {
  readonly widthPx: number;
  readonly heightPx: number;
}

const whenEmpty = 0.8;
const tallest = 0.66;

/** Width by height of the three frames: that of the tallest picture on the table, between 2:3 and square. */
export function frameProportion(pictures: readonly (Sized | undefined)[]): number {
  const known = pictures.filter((picture) => picture !== undefined);
  if (known.length === 0) return whenEmpty;
  const least = Math.min(...known.map(({ widthPx, heightPx }) => widthPx / heightPx));
  return Math.min(1, Math.max(tallest, least));
}
