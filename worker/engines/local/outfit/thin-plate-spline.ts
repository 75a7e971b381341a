import type { Point } from "../raster/grid.ts";

/** From a point of the person's photo to a point of the garment's photo. */
export type PointMap = (x: number, y: number) => Point;

export interface Anchor {
  readonly from: Point;
  readonly to: Point;
}

/** Thin-plate spline through the anchors; `smoothing` 0 goes through each, more bends less. */
export function thinPlateSpline(anchors: readonly Anchor[], smoothing: number): PointMap {
  const weights = solve(systemOf(anchors, smoothing));
  const n = anchors.length;
  const [base, slopeX, slopeY] = [weights[n], weights[n + 1], weights[n + 2]];
  if (!base || !slopeX || !slopeY) throw new RangeError("a spline needs anchors");
  return (x, y) => {
    let toX = base.x + slopeX.x * x + slopeY.x * y;
    let toY = base.y + slopeX.y * x + slopeY.y * y;
    anchors.forEach(({ from }, i) => {
      const bend = kernel((x - from.x) ** 2 + (y - from.y) ** 2);
      toX += (weights[i]?.x ?? 0) * bend;
      toY += (weights[i]?.y ?? 0) * bend;
    });
    return { x: toX, y: toY };
  };
}

function kernel(squaredDistance: number): number {
  return squaredDistance <= 1e-9 ? 0 : squaredDistance * Math.log(squaredDistance);
}

/** Rows of the linear system, each with its two right-hand sides at the end. */
function systemOf(anchors: readonly Anchor[], smoothing: number): number[][] {
  const rows = anchors.map(({ from, to }, i) => {
    const bends = anchors.map((other, j) => {
      const bend = kernel((from.x - other.from.x) ** 2 + (from.y - other.from.y) ** 2);
      return i === j ? bend + smoothing : bend;
    });
    return [...bends, 1, from.x, from.y, to.x, to.y];
  });
  const sides = [anchors.map(() => 1), anchors.map(({ from }) => from.x), anchors.map(({ from }) => from.y)];
  return [...rows, ...sides.map((side) => [...side, 0, 0, 0, 0, 0])];
}

/** Gauss-Jordan with partial pivoting. */
function solve(rows: number[][]): Point[] {
  const size = rows.length;
  for (let column = 0; column < size; column++) {
    const candidates = rows.slice(column).map((row) => Math.abs(row[column] ?? 0));
    const pivot = column + candidates.indexOf(Math.max(...candidates));
    [rows[column], rows[pivot]] = [rows[pivot] ?? [], rows[column] ?? []];
    const pivotRow = rows[column] ?? [];
    rows.forEach((row, i) => {
      if (i !== column) subtract(row, pivotRow, column);
    });
  }
  return rows.map((row, i) => ({
    x: (row[size] ?? 0) / (row[i] ?? 1),
    y: (row[size + 1] ?? 0) / (row[i] ?? 1),
  }));
}

function subtract(row: number[], pivotRow: readonly number[], column: number): void {
  const factor = (row[column] ?? 0) / (pivotRow[column] ?? 1);
  if (factor === 0) return;
  for (let k = column; k < row.length; k++) row[k] = (row[k] ?? 0) - factor * (pivotRow[k] ?? 0);
}
