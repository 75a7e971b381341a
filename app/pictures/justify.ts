export interface Sized {
  readonly widthPx: number;
  readonly heightPx: number;
}

export interface Row<Item> {
  readonly items: readonly Item[];
  readonly heightPx: number;
  /** Width of each item in CSS px, in the order of `items`. */
  readonly widthsPx: readonly number[];
}

export interface JustifyOptions {
  readonly widthPx: number;
  readonly targetHeightPx: number;
  readonly gapPx: number;
}

/** Width ÷ height of a tile; wider and narrower pictures are cropped to these limits. */
const minProportion = 0.5;
const maxProportion = 2.6;

/** Width ÷ height of the tile of a picture. */
export function proportionOf({ widthPx, heightPx }: Sized): number {
  return Math.min(maxProportion, Math.max(minProportion, widthPx / heightPx));
}

/** How high rows of tiles may be in a list of this width. */
export const tileHeightPx = (widthPx: number): number => (widthPx < 640 ? 148 : 236);

/** Of the pictures together, as tiles; 1 without any. */
export function usualProportion(items: readonly Sized[]): number {
  return items.length === 0 ? 1 : items.reduce((sum, item) => sum + proportionOf(item), 0) / items.length;
}

/** How many tiles each row has, and its height. Its text is a part of the gallery's page, so that it names nothing of this file. */
export function breakRows(
  proportions: readonly number[],
  { widthPx, targetHeightPx, gapPx }: JustifyOptions,
): { readonly count: number; readonly heightPx: number }[] {
  const rows = [];
  let [count, sum] = [0, 0];
  for (const proportion of proportions) {
    count += 1;
    sum += proportion;
    const heightPx = (widthPx - gapPx * (count - 1)) / sum;
    if (heightPx > targetHeightPx) continue;
    rows.push({ count, heightPx });
    [count, sum] = [0, 0];
  }
  if (count > 0) rows.push({ count, heightPx: rows.at(-1)?.heightPx ?? targetHeightPx });
  return rows;
}

/**
 * Rows of pictures that fill the width exactly. Only the last row may stay short: it is as high
 * as the row before it, or as the target.
 */
export function justify<Item extends Sized>(items: readonly Item[], options: JustifyOptions): Row<Item>[] {
  const proportions = items.map(proportionOf);
  let at = 0;
  return breakRows(proportions, options).map(({ count, heightPx }) => {
    const from = at;
    at += count;
    return {
      items: items.slice(from, at),
      heightPx,
      widthsPx: proportions.slice(from, at).map((proportion) => proportion * heightPx),
    };
  });
}
