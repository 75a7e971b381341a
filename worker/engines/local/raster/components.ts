import type { CV } from "@techstark/opencv-js";
import { intAt } from "./cells.ts";
import type { Mask } from "./grid.ts";

export interface Components {
  /** Per pixel the number of its piece, 0 for the ground. */
  readonly labels: Int32Array;
  readonly count: number;
  /** Pixels per label. */
  readonly areas: Float64Array;
}

/** The 8-connected pieces of a mask. */
export function components(cv: CV, mask: Mask): Components {
  const mat = cv.matFromArray(mask.height, mask.width, cv.CV_8UC1, mask.data);
  const result = new cv.Mat();
  const count = cv.connectedComponents(mat, result);
  const labels = Int32Array.from(result.data32S as Int32Array);
  mat.delete();
  result.delete();
  const areas = new Float64Array(count);
  for (let i = 0; i < labels.length; i++) areas[intAt(labels, i)] = Number(areas[intAt(labels, i)]) + 1;
  return { labels, count, areas };
}
