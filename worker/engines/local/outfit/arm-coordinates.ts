import { clamp } from "../raster/clamp.ts";
import type { Point } from "../raster/grid.ts";

/** Position along an arm in px from the shoulder, and the offset from its middle line, outwards positive. */
export interface ArmPosition {
  readonly along: number;
  readonly offset: number;
}

export interface ArmCoordinates {
  readonly length: number;
  /** From shoulder to elbow. */
  readonly upperLength: number;
  readonly at: (x: number, y: number) => ArmPosition;
}

interface Bone {
  readonly start: Point;
  readonly along: Point;
  readonly length: number;
  readonly before: number;
  readonly low: number;
  readonly high: number;
}

/** Coordinates along shoulder, elbow and wrist; `outward` is 1 on the picture's right, -1 on its left. */
export function armCoordinates(joints: readonly [Point, Point, Point], outward: 1 | -1): ArmCoordinates {
  const [shoulder, elbow, wrist] = joints;
  const upper = boneBetween(shoulder, elbow, 0);
  const fore = boneBetween(elbow, wrist, upper.length);
  // Beyond shoulder and wrist the first and the last bone go on.
  const bones = [
    { ...upper, low: -Infinity },
    { ...fore, high: Infinity },
  ];
  return {
    length: upper.length + fore.length,
    upperLength: upper.length,
    at(x, y) {
      let best = { along: 0, offset: 0, distance: Infinity };
      for (const bone of bones) {
        const position = positionOn(bone, { x, y }, outward);
        if (position.distance < best.distance) best = position;
      }
      return best;
    },
  };
}

function boneBetween(start: Point, end: Point, before: number): Bone {
  const length = Math.hypot(end.x - start.x, end.y - start.y) || 1;
  const along = { x: (end.x - start.x) / length, y: (end.y - start.y) / length };
  return { start, along, length, before, low: 0, high: length };
}

function positionOn(bone: Bone, { x, y }: Point, outward: 1 | -1) {
  const { start, along } = bone;
  const t = clamp((x - start.x) * along.x + (y - start.y) * along.y, bone.low, bone.high);
  const ex = x - start.x - t * along.x;
  const ey = y - start.y - t * along.y;
  const distance = Math.hypot(ex, ey);
  return {
    along: bone.before + t,
    offset: Math.sign((ex * along.y - ey * along.x) * outward) * distance,
    distance,
  };
}
