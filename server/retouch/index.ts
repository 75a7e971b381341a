/**
 * Retouching: what the editor does to a picture without a model. The formulas alone, over RGBA in memory, so that the browser
 * shows what the worker will compute: nothing here reads a file, a row or the environment, and nothing of the product is
 * imported.
 *
 * - adjust: light, contrast, saturation, temperature, sharpness.
 * - crop: a part of a picture that was turned, mirrored and straightened.
 * - restore: a picture with an earlier one painted back where a mask says.
 *
 * Each is computed in bands of whole rows, so that a browser can answer between two and a worker can tell its progress.
 */
export {
  adjustBand,
  type Adjustments,
  adjustmentLimit,
  adjustments,
  isNeutral,
  neutral,
  planAdjust,
} from "./adjust.ts";
export {
  cropBand,
  type Crop,
  isFilled,
  largestRect,
  mostAngle,
  type Pose,
  type Rect,
  rectOf,
  straightenedSize,
} from "./crop.ts";
export { type Band, bandsOf, type Rgba, type Size } from "./picture.ts";
export { restoreBand } from "./restore.ts";
