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

function proportion({ widthPx, heightPx }: Sized): number {
  return Math.min(maxProportion, Math.max(minProportion, widthPx / heightPx));
}

/** Of the pictures together, as tiles; 1 without any. */
export function usualProportion(items: readonly Sized[]): number {
  return items.length === 0 ? 1 : items.reduce((sum, item) => sum + proportion(item), 0) / items.length;
}

function toRow<Item extends Sized>(items: readonly Item[], heightPx: number): Row<Item> {
  return { items, heightPx, widthsPx: items.map((item) => proportion(item) * heightPx) };
}

/**
 * Rows of pictures that fill the width exactly. Only the last row may stay short: it is as high
 * as the row before it, or as the target.
 */
export function justify<Item extends Sized>(
  items: readonly Item[],
  { widthPx, targetHeightPx, gapPx }: JustifyOptions,
): Row<Item>[] {
  const rows: Row<Item>[] = [];
  let row: Item[] = [];
  let proportions = 0;
  for (const item of items) {
    row.push(item);
    proportions += proportion(item);
    const heightPx = (widthPx - gapPx * (row.length - 1)) / proportions;
    if (heightPx > targetHeightPx) continue;
    rows.push(toRow(row, heightPx));
    row = [];
    proportions = 0;
  }
  if (row.length > 0) rows.push(toRow(row, rows.at(-1)?.heightPx ?? targetHeightPx));
  return rows;
}
