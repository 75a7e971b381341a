import { emptyPlane, type Size } from "../raster/grid.ts";
import { sampleLinear } from "../raster/sample-linear.ts";
import type { PointMap } from "./thin-plate-spline.ts";

const stepPx = 6;

/** The same mapping, evaluated on a coarse grid and interpolated: much cheaper per pixel. */
export function gridMap(map: PointMap, size: Size): PointMap {
  const coarse = { width: Math.ceil(size.width / stepPx) + 2, height: Math.ceil(size.height / stepPx) + 2 };
  const xs = emptyPlane(coarse);
  const ys = emptyPlane(coarse);
  for (let i = 0; i < xs.data.length; i++) {
    const to = map((i % coarse.width) * stepPx, Math.floor(i / coarse.width) * stepPx);
    xs.data[i] = to.x;
    ys.data[i] = to.y;
  }
  return (x, y) => ({
    x: sampleLinear(xs, x / stepPx, y / stepPx),
    y: sampleLinear(ys, x / stepPx, y / stepPx),
  });
}
