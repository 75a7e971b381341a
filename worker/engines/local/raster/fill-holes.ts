import type { CV } from "@techstark/opencv-js";
import { byteAt, doubleAt, intAt } from "./cells.ts";
import { components } from "./components.ts";
import type { Grey, Mask } from "./grid.ts";
import { invert } from "./invert.ts";

export interface HoleRule {
  /** Decides by the area of a hole in pixels and the mean of `weight` in it. */
  accept(areaPx: number, meanWeight: number): boolean;
  readonly weight?: Grey;
}

/** Fills the holes that the rule accepts; what touches the picture's edge is no hole. */
export function fillHoles(cv: CV, mask: Mask, rule: HoleRule): Mask {
  const { labels, count, areas } = components(cv, invert(mask));
  const sums = new Float64Array(count);
  const { weight } = rule;
  if (weight) {
    for (let i = 0; i < labels.length; i++) {
      sums[intAt(labels, i)] = doubleAt(sums, intAt(labels, i)) + byteAt(weight.data, i);
    }
  }
  const isOpen = labelsAtEdge(labels, mask, count);
  const isFilled = Array.from(areas, (area, label) => {
    return label > 0 && !isOpen[label] && rule.accept(area, doubleAt(sums, label) / area);
  });
  const data = mask.data.map((value, i) => (isFilled[intAt(labels, i)] ? 1 : value));
  return { ...mask, data };
}

function labelsAtEdge(labels: Int32Array, { width, height }: Mask, count: number): Uint8Array {
  const isAtEdge = new Uint8Array(count);
  for (let i = 0; i < labels.length; i++) {
    const x = i % width;
    const isEdge = x === 0 || x === width - 1 || i < width || i >= width * (height - 1);
    if (isEdge) isAtEdge[intAt(labels, i)] = 1;
  }
  return isAtEdge;
}
