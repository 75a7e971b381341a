import { emptyMask, type Mask, type Point, type Size } from "../raster/grid.ts";
import { drawCapsule, drawPolygon } from "../raster/shapes.ts";
import type { KeyPoint, Pose } from "./pose.ts";

/** What a person has on the left and on the right of the picture. */
export type Sides<T> = readonly [left: T, right: T];

/** Coordinates of the upper body: unit is the shoulder width, `across` runs to the picture's right, `down` along the spine. */
export interface BodyFrame {
  readonly nose: KeyPoint;
  readonly eyes: Sides<KeyPoint>;
  readonly shoulders: Sides<KeyPoint>;
  readonly elbows: Sides<KeyPoint>;
  readonly wrists: Sides<KeyPoint>;
  readonly hips: Sides<KeyPoint>;
  readonly knees: Sides<KeyPoint>;
  readonly ankles: Sides<KeyPoint>;
  readonly shoulderWidthPx: number;
  readonly neck: Point;
  /** Unit vectors. */
  readonly right: Point;
  readonly down: Point;
  /** Distance from shoulders to hips in shoulder widths. */
  readonly torsoLength: number;
  readonly eyeDistancePx: number;
  readonly isBackView: boolean;
  readonly at: (across: number, down: number) => Point;
}

/** Where hips are when the picture does not show them. */
const usualTorsoLength = 1.45;
const minEyeDistance = 0.12;

export function bodyFrame(pose: Pose): BodyFrame {
  // Seen from the front, the person's left shoulder is on the picture's right.
  const isBackView = pose.leftShoulder.x < pose.rightShoulder.x;
  const sides = (left: KeyPoint, right: KeyPoint): Sides<KeyPoint> =>
    isBackView ? [left, right] : [right, left];
  const shoulders = sides(pose.leftShoulder, pose.rightShoulder);
  const hips = sides(pose.leftHip, pose.rightHip);
  const shoulderWidthPx = distance(shoulders[0], shoulders[1]);
  const neck = middle(shoulders[0], shoulders[1]);
  const right = {
    x: (shoulders[1].x - shoulders[0].x) / shoulderWidthPx,
    y: (shoulders[1].y - shoulders[0].y) / shoulderWidthPx,
  };
  const hipMiddle = hipsOrGuess(hips, { neck, right, shoulderWidthPx });
  const spinePx = distance(neck, hipMiddle);
  const down = { x: (hipMiddle.x - neck.x) / spinePx, y: (hipMiddle.y - neck.y) / spinePx };
  return {
    nose: pose.nose,
    eyes: [pose.leftEye, pose.rightEye],
    shoulders,
    hips,
    elbows: sides(pose.leftElbow, pose.rightElbow),
    wrists: sides(pose.leftWrist, pose.rightWrist),
    knees: sides(pose.leftKnee, pose.rightKnee),
    ankles: sides(pose.leftAnkle, pose.rightAnkle),
    shoulderWidthPx,
    neck,
    right,
    down,
    isBackView,
    torsoLength: spinePx / shoulderWidthPx,
    eyeDistancePx: Math.max(distance(pose.leftEye, pose.rightEye), minEyeDistance * shoulderWidthPx),
    at: (a, b) => ({
      x: neck.x + (right.x * a + down.x * b) * shoulderWidthPx,
      y: neck.y + (right.y * a + down.y * b) * shoulderWidthPx,
    }),
  };
}

/** Corners of the torso from the shoulders to the hips. */
export function torsoPolygon({ at, torsoLength }: BodyFrame): readonly Point[] {
  return [at(-0.45, 0.02), at(0.45, 0.02), at(0.38, torsoLength), at(-0.38, torsoLength)];
}

function distance(a: Point, b: Point): number {
  return Math.hypot(a.x - b.x, a.y - b.y);
}

function middle(a: Point, b: Point): Point {
  return { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
}

function hipsOrGuess(
  hips: Sides<KeyPoint>,
  { neck, right, shoulderWidthPx }: { neck: Point; right: Point; shoulderWidthPx: number },
): Point {
  const found = middle(hips[0], hips[1]);
  const length = distance(found, neck) / shoulderWidthPx;
  if (Math.min(hips[0].score, hips[1].score) >= 0.12 && length >= 0.8 && length < 2.6) return found;
  const guess = usualTorsoLength * shoulderWidthPx;
  return { x: neck.x - right.y * guess, y: neck.y + right.x * guess };
}

const bothSides = [0, 1] as const;

/** Thin capsules along bones that are certainly the person. */
export function drawSkeleton(frame: BodyFrame, size: Size): Mask {
  const mask = emptyMask(size);
  const { at, torsoLength, shoulderWidthPx: unit } = frame;
  drawPolygon(mask, [at(-0.4, 0.05), at(0.4, 0.05), at(0.3, torsoLength * 0.9), at(-0.3, torsoLength * 0.9)]);
  drawCapsule(mask, { from: frame.nose, to: at(0, 0), radius: 0.1 * unit });
  for (const side of bothSides) {
    const [elbow, wrist, hip, knee] = limbs(frame, side);
    if (elbow.score > 0.35) {
      drawCapsule(mask, { from: frame.shoulders[side], to: elbow, radius: 0.06 * unit });
      if (wrist.score > 0.35) drawCapsule(mask, { from: elbow, to: wrist, radius: 0.04 * unit });
    }
    if (hip.score > 0.3 && knee.score > 0.3) drawCapsule(mask, { from: hip, to: knee, radius: 0.07 * unit });
  }
  return mask;
}

/** All that the person can reach; what is outside is certainly not this person. */
export function drawReach(frame: BodyFrame, size: Size): Mask {
  const mask = emptyMask(size);
  const { at, torsoLength, shoulderWidthPx: unit } = frame;
  const bottom = torsoLength + 0.5;
  drawPolygon(mask, [at(-0.85, -0.35), at(0.85, -0.35), at(0.95, bottom), at(-0.95, bottom)]);
  drawCapsule(mask, { from: frame.nose, to: at(0, 0), radius: 0.6 * unit });
  for (const side of bothSides) {
    const [elbow, wrist, hip, knee] = limbs(frame, side);
    if (elbow.score > 0.15) {
      drawCapsule(mask, { from: frame.shoulders[side], to: elbow, radius: 0.42 * unit });
      if (wrist.score > 0.15) drawCapsule(mask, { from: elbow, to: wrist, radius: 0.36 * unit });
    }
    const isKneeSeen = knee.score > 0.2;
    const thighEnd = isKneeSeen ? knee : at(side ? 0.3 : -0.3, torsoLength + 1.2);
    drawCapsule(mask, { from: hip, to: thighEnd, radius: 0.6 * unit });
    if (isKneeSeen && frame.ankles[side].score > 0.2) {
      drawCapsule(mask, { from: knee, to: frame.ankles[side], radius: 0.4 * unit });
    }
  }
  return mask;
}

function limbs(frame: BodyFrame, side: 0 | 1) {
  return [frame.elbows[side], frame.wrists[side], frame.hips[side], frame.knees[side]] as const;
}
