import type { SleeveAxis } from "../garment/shape.ts";
import { clamp, type Point } from "../raster/grid.ts";
import type { TorsoFit } from "./fit-torso.ts";
import type { Scene } from "./change.ts";

/** Position along an arm in px from the shoulder, and the offset from its middle line, outwards positive. */
export interface ArmPosition {
  readonly along: number;
  readonly offset: number;
}

interface ArmCoordinates {
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
function armCoordinates(joints: readonly [Point, Point, Point], outward: 1 | -1): ArmCoordinates {
  const [shoulder, elbow, wrist] = joints;
  const upper = boneBetween(shoulder, elbow, 0);
  const fore = boneBetween(elbow, wrist, upper.length);
  // The first and the last bone extend beyond shoulder and wrist.
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

/** One arm of the person and how a sleeve lies on it, in px. */
export interface ArmFit {
  readonly sign: 1 | -1;
  readonly coordinates: ArmCoordinates;
  readonly isElbowSeen: boolean;
  readonly isWristSeen: boolean;
  /** Where along the arm the sleeve ends; at the seam when there is none. */
  readonly sleeveEnd: number;
  /** Half the thickness of the arm. */
  readonly halfAt: (along: number) => number;
  readonly seamAt: (x: number, y: number) => SeamPosition;
  /** The point of the garment photo that lies at a position of the arm. */
  readonly sourceAt: (position: ArmPosition) => Point;
}

/** Distance from the seam in px, outwards positive, and the share of the way from shoulder (0) to armpit (1). */
export interface SeamPosition {
  readonly outward: number;
  readonly share: number;
}

export function fitArm(scene: Scene, torso: TorsoFit, side: 0 | 1): ArmFit {
  const sign = side === 1 ? 1 : -1;
  const unit = scene.frame.shoulderWidthPx;
  const seen = seenJoints(scene, side);
  const coordinates = armCoordinates(seen.joints, sign);
  const seam = { from: torso.shoulders[side], to: torso.armpits[side] };
  const seamLine = { x: seam.to.x - seam.from.x, y: seam.to.y - seam.from.y };
  const seamLength = Math.hypot(seamLine.x, seamLine.y);
  const start = coordinates.at((seam.from.x + seam.to.x) / 2, (seam.from.y + seam.to.y) / 2).along;
  const axis = scene.garment.shape.sleeves?.[side];
  const length = axis
    ? clamp(axis.length * torso.unit * unit, 0.22 * unit, coordinates.length * 1.02 - start)
    : 0;
  const halfAt = (along: number) => armHalf(coordinates, along) * unit;
  return {
    sign,
    coordinates,
    isElbowSeen: seen.isElbowSeen,
    isWristSeen: seen.isWristSeen,
    sleeveEnd: start + length,
    halfAt,
    seamAt: (x, y) => ({
      outward: (((x - seam.from.x) * seamLine.y - (y - seam.from.y) * seamLine.x) / seamLength) * sign,
      share: ((x - seam.from.x) * seamLine.x + (y - seam.from.y) * seamLine.y) / seamLength ** 2,
    }),
    sourceAt: axis
      ? (position) => sleeveSource(axis, position, { start, length, seamHalf: seamLength / 2, halfAt })
      : () => seam.from,
  };
}

/** Joints that the photo does not show are guessed: an arm hangs down, a forearm continues straight. */
function seenJoints({ frame }: Scene, side: 0 | 1) {
  const sign = side === 1 ? 1 : -1;
  const [shoulder, elbow, wrist] = [frame.shoulders[side], frame.elbows[side], frame.wrists[side]];
  const isElbowSeen = elbow.score >= 0.3;
  const isWristSeen = isElbowSeen && wrist.score >= 0.25;
  const reach = 0.8 * frame.shoulderWidthPx;
  const hanging = {
    x: shoulder.x + (frame.down.x + sign * frame.right.x * 0.12) * reach,
    y: shoulder.y + (frame.down.y + sign * frame.right.y * 0.12) * reach,
  };
  const middle = isElbowSeen ? elbow : hanging;
  const straight = {
    x: middle.x + (middle.x - shoulder.x) * 0.9,
    y: middle.y + (middle.y - shoulder.y) * 0.9,
  };
  const joints: readonly [Point, Point, Point] = [shoulder, middle, isWristSeen ? wrist : straight];
  return { joints, isElbowSeen, isWristSeen };
}

/** In shoulder widths: thinner towards the elbow, and again towards the wrist. */
function armHalf({ upperLength, length }: ArmCoordinates, along: number): number {
  if (along < upperLength) return 0.185 - 0.035 * clamp(along / upperLength, 0, 1);
  return 0.15 - 0.035 * clamp((along - upperLength) / (length - upperLength), 0, 1);
}

interface SleevePlace {
  readonly start: number;
  readonly length: number;
  readonly seamHalf: number;
  halfAt(along: number): number;
}

function sleeveSource(axis: SleeveAxis, { along, offset }: ArmPosition, place: SleevePlace): Point {
  const share = (along - place.start) / place.length;
  const c = clamp(share, 0, 1);
  const targetHalf = place.seamHalf * (1 - c) + place.halfAt(along) * 1.08 * c;
  const sourceHalf = axis.seamHalf * (1 - c) + ((axis.upper - axis.lower) / 2) * c;
  const across = (offset / targetHalf) * sourceHalf + ((axis.upper + axis.lower) / 2) * c;
  const down = share * axis.length;
  return {
    x: axis.origin.x + axis.along.x * down + axis.up.x * across,
    y: axis.origin.y + axis.along.y * down + axis.up.y * across,
  };
}
