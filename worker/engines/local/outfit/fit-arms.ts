import type { SleeveAxis } from "../garment/garment-shape.ts";
import { clamp } from "../raster/clamp.ts";
import type { Point } from "../raster/grid.ts";
import { armCoordinates, type ArmCoordinates, type ArmPosition } from "./arm-coordinates.ts";
import type { Scene } from "./scene.ts";
import type { TorsoFit } from "./fit-torso.ts";

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

/** Joints that the photo does not show are guessed: an arm hangs down, a forearm goes on straight. */
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
